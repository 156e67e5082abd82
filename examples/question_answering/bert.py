"""A folder with BERT as Hugging Face writes it: config.json, vocab.txt, model.safetensors or
pytorch_model.bin, and tokenizer_config.json where there is one.
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

LONGEST_WORD = 100  # Longer ones are unknown, as to BERT's own tokenizer.
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_NAMES = (  # Of BERT, and of net.Net.
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
    """ValueError: what is there is another net."""
    config = _read(folder / "config.json")
    kind = config.get("model_type", "bert")
    positions = config.get("position_embedding_type", "absolute")
    activation = config.get("hidden_act", "gelu")
    if kind != "bert" or positions != "absolute" or activation not in ("gelu", "relu"):
        raise ValueError(
            f"{folder / 'config.json'} is of model_type {kind} with {positions} positions and the "
            f"activation {activation}: give a bert with absolute ones and gelu or relu"
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
        raise ValueError(f"{path} is no JSON object: {error}") from None


def weights(folder: pathlib.Path) -> dict[str, torch.Tensor]:
    """By the names of net.Net; without "span." where the file has an encoder alone."""
    path = next((folder / name for name in _WEIGHTS if (folder / name).exists()), None)
    if path is None:
        raise ValueError(f"{folder} has neither {' nor '.join(_WEIGHTS)}")
    if path.suffix == ".safetensors":
        found = pytorch.read_safetensors(path)
    else:
        try:
            found = torch.load(path, map_location="cpu", weights_only=True)
        except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
            raise ValueError(f"{path} is no whole file of torch.save(): {error}") from None
    named = {_plain(name): tensor.float() for name, tensor in found.items()}
    named = {n: t for n, t in named.items() if not n.startswith(_OTHER_TASKS)}
    told: dict[str, torch.Tensor] = {}
    for name, tensor in named.items():
        query = _QUERY.fullmatch(name)
        if query:  # The three in one, as torch has them.
            layer, kind = query.groups()
            parts = [named[f"{layer}.attention.self.{part}.{kind}"] for part in _ATTENTION]
            told[_ours(f"{layer}.self_attn.in_proj_{kind}")] = torch.cat(parts)
        elif ".attention.self." not in name:
            told[_ours(name)] = tensor
    segments = told.get("encoder.segment.weight")
    if segments is not None:  # BERT has one for the text; what the question repeats begins as it.
        repeated = segments[-1:].expand(net.SEGMENTS - len(segments), -1)
        told["encoder.segment.weight"] = torch.cat([segments, repeated])
    return told


_ATTENTION = ("query", "key", "value")


def _plain(name: str) -> str:
    """Without the prefix of nets with a head, and the norms' names in older files."""
    name = name[len("bert.") :] if name.startswith("bert.") else name
    return re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", re.sub(r"\.gamma$", ".weight", name))


def _ours(name: str) -> str:
    for theirs, ours in _NAMES:
        name = name.replace(theirs, ours, 1)
    return name


class WordPieces:
    """Splits text into the pieces of words that a vocabulary has, longest first."""

    def __init__(self, folder: pathlib.Path) -> None:
        path = folder / "vocab.txt"
        if not path.exists():
            raise ValueError(f"{folder} has no vocab.txt, a word or piece of one per line")
        # Not splitlines(): some words are separators of lines in Unicode.
        words = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
        self.vocabulary = squad.Vocabulary(words)
        self._known = set(words)
        told: dict[str, Any] = {}
        if (folder / "tokenizer_config.json").exists():
            told = _read(folder / "tokenizer_config.json")
        self._lower = told.get("do_lower_case", True)

    def split(self, text: str) -> list[squad.Word]:
        return [piece for word in self._words(text) for piece in self._pieces(word)]

    def _words(self, text: str) -> list[squad.Word]:
        words, start = [], 0
        for end, letter in enumerate(text + " "):
            alone = _stands_alone(letter)
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
        """The word itself, which the vocabulary does not know, where no pieces make it up."""
        pieces, begin, size = [], 0, len(word.text)
        alike = size == word.end - word.start  # Each letter lies where it lies in the text.
        while begin < size <= LONGEST_WORD:
            before = "##" if begin else ""
            ends = range(size, begin, -1)
            end = next((e for e in ends if before + word.text[begin:e] in self._known), begin)
            if end == begin:
                return [word]
            place = (word.start + begin, word.start + end) if alike else (word.start, word.end)
            pieces.append(squad.Word(before + word.text[begin:end], *place))
            begin = end
        return pieces or [word]


def _stands_alone(letter: str) -> bool:
    """Punctuation, to which BERT counts all signs of ASCII, and Chinese characters."""
    if letter.isascii():
        return letter.isprintable() and not letter.isalnum() and letter != " "
    if unicodedata.category(letter).startswith("P"):
        return True
    return unicodedata.name(letter, "").startswith("CJK ") and letter.isalpha()
