"""Reads a BERT model from a folder in the format of Hugging Face.

The files are config.json, vocab.txt, model.safetensors or pytorch_model.bin, and optionally
tokenizer_config.json.
"""

import json
import pathlib
import pickle
import re
import unicodedata
from typing import Any

import net
import squad
import torch
from det import pytorch

MAX_WORD_LENGTH = 100  # Longer words are unknown, as in BERT's own tokenizer.
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_NAMES = (  # Parts of tensor names in BERT, and the same parts in net.Net.
    ("embeddings.word_embeddings.", "encoder.word."),
    ("embeddings.position_embeddings.", "encoder.position."),
    ("embeddings.token_type_embeddings.", "encoder.segment."),
    ("embeddings.LayerNorm.", "encoder.first_norm."),
    ("encoder.layer.", "encoder.layers.layers."),
    (".attention.output.dense.", ".self_attn.out_proj."),
    (".attention.output.LayerNorm.", ".norm1."),
    (".intermediate.dense.", ".linear1."),
    (".output.dense.", ".linear2."),
    (".output.LayerNorm.", ".norm2."),
    ("qa_outputs.", "span."),
)
_QUERY = re.compile(r"(.*)\.attention\.self\.query\.(weight|bias)")
_OTHER_TASKS = ("pooler.", "cls.", "classifier.", "embeddings.position_ids")


def is_bert_folder(folder: pathlib.Path) -> bool:
    return (folder / "config.json").exists()


def read_shape(folder: pathlib.Path) -> net.Shape:
    """Reads the shape of the net from config.json.

    Raises:
        ValueError: If the folder contains another kind of net, or config.json lacks a field.
    """
    config = _read(folder / "config.json")
    model_type = config.get("model_type", "bert")
    positions = config.get("position_embedding_type", "absolute")
    activation = config.get("hidden_act", "gelu")
    if model_type != "bert" or positions != "absolute" or activation not in ("gelu", "relu"):
        raise ValueError(
            f"{folder / 'config.json'} has model_type {model_type}, {positions} positions and the "
            f"activation {activation}; expected bert, absolute positions, and gelu or relu"
        )
    try:
        return net.Shape(
            words=config["vocab_size"],
            max_words=config["max_position_embeddings"],
            width=config["hidden_size"],
            heads=config["num_attention_heads"],
            layers=config["num_hidden_layers"],
            inner=config["intermediate_size"],
            activation=activation,
            norm_first=False,
            epsilon=config.get("layer_norm_eps", 1e-12),
        )
    except KeyError as missing:
        raise ValueError(f"{folder / 'config.json'} lacks {missing}") from None


def _read(path: pathlib.Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{path} is not a JSON object: {error}") from None


def read_weights(folder: pathlib.Path) -> dict[str, torch.Tensor]:
    """Reads the weights.

    Returns:
        The tensors by their names in net.Net, without those of "span." if the file contains only an
        encoder.

    Raises:
        ValueError: If the folder contains no complete file of weights.
    """
    path = next((folder / name for name in _WEIGHTS if (folder / name).exists()), None)
    if path is None:
        raise ValueError(f"{folder} has neither {' nor '.join(_WEIGHTS)}")
    if path.suffix == ".safetensors":
        found = pytorch.read_safetensors(path)
    else:
        try:
            found = torch.load(path, map_location="cpu", weights_only=True)
        except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
            raise ValueError(f"{path} is not a complete file of torch.save(): {error}") from None
    named = {_normalize_name(name): tensor.float() for name, tensor in found.items()}
    named = {name: t for name, t in named.items() if not name.startswith(_OTHER_TASKS)}
    renamed: dict[str, torch.Tensor] = {}
    for name, tensor in named.items():
        query = _QUERY.fullmatch(name)
        if query:  # torch stores query, key and value in one tensor.
            layer, kind = query.groups()
            parts = [named[f"{layer}.attention.self.{part}.{kind}"] for part in _ATTENTION]
            renamed[_rename(f"{layer}.self_attn.in_proj_{kind}")] = torch.cat(parts)
        elif ".attention.self." not in name:
            renamed[_rename(name)] = tensor
    segments = renamed.get("encoder.segment.weight")
    if segments is not None:  # BERT has no segment for repeated words: copy that of the text.
        repeated = segments[-1:].expand(net.SEGMENTS - len(segments), -1)
        renamed["encoder.segment.weight"] = torch.cat([segments, repeated])
    return renamed


_ATTENTION = ("query", "key", "value")


def _normalize_name(name: str) -> str:
    """Removes the prefix "bert.", and replaces the names of layer norms in older files."""
    name = name[len("bert.") :] if name.startswith("bert.") else name
    return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", re.sub(r"\.gamma$", ".weight", name))


def _rename(name: str) -> str:
    for bert_name, net_name in _NAMES:
        name = name.replace(bert_name, net_name, 1)
    return name


class WordPieces:
    """Splits words into the longest pieces that a vocabulary contains (WordPiece)."""

    def __init__(self, folder: pathlib.Path) -> None:
        path = folder / "vocab.txt"
        if not path.exists():
            raise ValueError(
                f"{folder} has no vocab.txt, with a word or a piece of a word per line"
            )
        # Not splitlines(): some words are line separators in Unicode.
        words = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
        self.vocabulary = squad.Vocabulary(words)
        self._known = set(words)
        config: dict[str, Any] = {}
        if (folder / "tokenizer_config.json").exists():
            config = _read(folder / "tokenizer_config.json")
        self._lower = config.get("do_lower_case", True)

    def split(self, text: str) -> list[squad.Word]:
        return [piece for word in self._split_words(text) for piece in self._split_word(word)]

    def _split_words(self, text: str) -> list[squad.Word]:
        words, start = [], 0
        for end, letter in enumerate(text + " "):
            is_separate = _is_separate(letter)
            if not (is_separate or letter.isspace()):
                continue
            if start < end:
                words.append(squad.Word(self._normalize(text[start:end]), start, end))
            if is_separate:
                words.append(squad.Word(letter, end, end + 1))
            start = end + 1
        return [word for word in words if word.text]

    def _normalize(self, word: str) -> str:
        if self._lower:
            word = unicodedata.normalize("NFD", word.lower())
        marks = ("Mn",) if self._lower else ()
        return "".join(
            letter
            for letter in word
            if unicodedata.category(letter) not in (*marks, "Cc", "Cf") and letter != "\ufffd"
        )

    def _split_word(self, word: squad.Word) -> list[squad.Word]:
        """Returns the pieces of a word; if it has none, the word itself, which is unknown."""
        pieces, begin, size = [], 0, len(word.text)
        # If normalization kept the length, letters have the same positions as in the text.
        same_length = size == word.end - word.start
        while begin < size <= MAX_WORD_LENGTH:
            prefix = "##" if begin else ""
            ends = range(size, begin, -1)
            end = next((e for e in ends if prefix + word.text[begin:e] in self._known), begin)
            if end == begin:
                return [word]
            span = (word.start + begin, word.start + end) if same_length else (word.start, word.end)
            pieces.append(squad.Word(prefix + word.text[begin:end], *span))
            begin = end
        return pieces or [word]


def _is_separate(letter: str) -> bool:
    """Returns whether a letter is a separate word: a symbol, punctuation or a Chinese character."""
    if letter.isascii():
        return letter.isprintable() and not letter.isalnum() and letter != " "
    if unicodedata.category(letter).startswith("P"):
        return True
    return unicodedata.name(letter, "").startswith("CJK ") and letter.isalpha()
