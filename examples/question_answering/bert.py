"""Reads BERT from a folder in the format of Hugging Face.

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

MAX_WORD_LENGTH = 100  # Longer words are unknown, as for BERT's own tokenizer.
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_NAMES = (  # Names of BERT, and those of net.Net.
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


def is_in(folder: pathlib.Path) -> bool:
    return (folder / "config.json").exists()


def shape(folder: pathlib.Path) -> net.Shape:
    """Returns the shape of the net.

    Raises:
        ValueError: The folder contains another kind of net.
    """
    config = _read(folder / "config.json")
    kind = config.get("model_type", "bert")
    positions = config.get("position_embedding_type", "absolute")
    activation = config.get("hidden_act", "gelu")
    if kind != "bert" or positions != "absolute" or activation not in ("gelu", "relu"):
        raise ValueError(
            f"{folder / 'config.json'} has model_type {kind}, {positions} positions and the "
            f"activation {activation}; expected bert, absolute positions, and gelu or relu"
        )
    try:
        return net.Shape(
            words=config["vocab_size"],
            longest=config["max_position_embeddings"],
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


def weights(folder: pathlib.Path) -> dict[str, torch.Tensor]:
    """Returns the weights by the names of net.Net; without "span." if the file has only an encoder."""
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
    named = {_plain(name): tensor.float() for name, tensor in found.items()}
    named = {n: t for n, t in named.items() if not n.startswith(_OTHER_TASKS)}
    renamed: dict[str, torch.Tensor] = {}
    for name, tensor in named.items():
        query = _QUERY.fullmatch(name)
        if query:  # torch has query, key and value in one tensor.
            layer, kind = query.groups()
            parts = [named[f"{layer}.attention.self.{part}.{kind}"] for part in _ATTENTION]
            renamed[_rename(f"{layer}.self_attn.in_proj_{kind}")] = torch.cat(parts)
        elif ".attention.self." not in name:
            renamed[_rename(name)] = tensor
    segments = renamed.get("encoder.segment.weight")
    if segments is not None:  # BERT has no segment for repeated words: they start as the text's.
        repeated = segments[-1:].expand(net.SEGMENTS - len(segments), -1)
        renamed["encoder.segment.weight"] = torch.cat([segments, repeated])
    return renamed


_ATTENTION = ("query", "key", "value")


def _plain(name: str) -> str:
    """Removes the prefix of nets with a head, and renames the norms of older files."""
    name = name[len("bert.") :] if name.startswith("bert.") else name
    return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", re.sub(r"\.gamma$", ".weight", name))


def _rename(name: str) -> str:
    for theirs, ours in _NAMES:
        name = name.replace(theirs, ours, 1)
    return name


class WordPieces:
    """Splits text into pieces of words of a vocabulary, longest first."""

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
        return [piece for word in self._words(text) for piece in self._pieces(word)]

    def _words(self, text: str) -> list[squad.Word]:
        words, start = [], 0
        for end, letter in enumerate(text + " "):
            alone = _is_separate(letter)
            if not (alone or letter.isspace()):
                continue
            if start < end:
                words.append(squad.Word(self._normal(text[start:end]), start, end))
            if alone:
                words.append(squad.Word(letter, end, end + 1))
            start = end + 1
        return [word for word in words if word.text]

    def _normal(self, word: str) -> str:
        if self._lower:
            word = unicodedata.normalize("NFD", word.lower())
        marks = ("Mn",) if self._lower else ()
        return "".join(
            letter
            for letter in word
            if unicodedata.category(letter) not in (*marks, "Cc", "Cf") and letter != "\ufffd"
        )

    def _pieces(self, word: squad.Word) -> list[squad.Word]:
        """Returns the pieces of a word; the word itself, which is unknown, if it has none."""
        pieces, begin, size = [], 0, len(word.text)
        alike = size == word.end - word.start  # Letters have the same positions as in the text.
        while begin < size <= MAX_WORD_LENGTH:
            before = "##" if begin else ""
            ends = range(size, begin, -1)
            end = next((e for e in ends if before + word.text[begin:e] in self._known), begin)
            if end == begin:
                return [word]
            place = (word.start + begin, word.start + end) if alike else (word.start, word.end)
            pieces.append(squad.Word(before + word.text[begin:end], *place))
            begin = end
        return pieces or [word]


def _is_separate(letter: str) -> bool:
    """Returns whether a letter is a word of its own.

    These are ASCII signs, punctuation, and Chinese characters.
    """
    if letter.isascii():
        return letter.isprintable() and not letter.isalnum() and letter != " "
    if unicodedata.category(letter).startswith("P"):
        return True
    return unicodedata.name(letter, "").startswith("CJK ") and letter.isalpha()
