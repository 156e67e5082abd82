"""Reads question-answering data in SQuAD's format, and computes F1 and exact match of an answer."""

import collections
import json
import pathlib
import re
import string
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
QUESTION, TEXT, REPEATED = range(3)  # The segments of words.

_WORD = re.compile(r"\w+|[^\w\s]")
_ARTICLE = re.compile(r"\b(a|an|the)\b")


class Word(NamedTuple):
    """A word in lower case; its original is text[start:end]."""

    text: str
    start: int
    end: int


class Example(NamedTuple):
    """One question. The words `first` to `last` of the context are its first answer."""

    question: list[Word]
    context: str
    words: list[Word]  # The words of the context.
    answers: list[str]
    first: int
    last: int


def split_words(text: str) -> list[Word]:
    return [Word(m.group().lower(), *m.span()) for m in _WORD.finditer(text)]


Splitter = Callable[[str], list[Word]]  # Splits a text or a question.


def read_examples(path: pathlib.Path, split: Splitter = split_words) -> list[Example]:
    """Reads all questions of a file, in order.

    Raises:
        ValueError: If a question has no answer, or an answer is not at the position in the file.
    """
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    return [_example(p["context"], qa, split) for p in paragraphs for qa in p["qas"]]


def _example(context: str, qa: dict[str, Any], split: Splitter) -> Example:
    answers = [answer["text"] for answer in qa["answers"]]
    if not answers:
        raise ValueError(
            f"question {qa['id']} has no answer; SQuAD 1.1 requires one for each question"
        )
    start = qa["answers"][0]["answer_start"]
    end = start + len(answers[0])
    words = split(context)
    inside = [i for i, word in enumerate(words) if word.start < end and word.end > start]
    if context[start:end] != answers[0] or not inside:
        raise ValueError(
            f"question {qa['id']}: the context has {context[start:end]!r} at {start}, "
            f"not the answer {answers[0]!r}"
        )
    return Example(split(qa["question"]), context, words, answers, inside[0], inside[-1])


def get_segments(example: Example) -> list[int]:
    """Returns the segment of each word of the context.

    It is REPEATED if the question contains the word, otherwise TEXT. Without this feature, a
    small net memorizes the training questions before it learns to compare words.
    """
    in_question = {word.text for word in example.question}
    return [REPEATED if word.text in in_question else TEXT for word in example.words]


def get_answer_text(example: Example, begin: int, end: int) -> str:
    """Returns the part of the context from word `begin` to word `end` of the record.

    A record consists of [CLS], the question, [SEP], and the context.
    """
    before = len(example.question) + 2
    return example.context[example.words[begin - before].start : example.words[end - before].end]


class Vocabulary:
    """Maps words to their IDs.

    Raises:
        ValueError: If a special token is missing.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self._ids = {word: index for index, word in enumerate(self.words)}
        missing = [token for token in SPECIAL_TOKENS if token not in self._ids]
        if missing:
            raise ValueError(
                f"the vocabulary lacks {', '.join(missing)}; add each on a line of its own"
            )
        ids = [self._ids[token] for token in SPECIAL_TOKENS]
        self.pad, self.unknown, self.begin, self.separator = ids

    @staticmethod
    def from_examples(examples: Sequence[Example]) -> "Vocabulary":
        """Creates a sorted vocabulary, so that the same examples give the same IDs."""
        seen = {word.text for e in examples for word in e.question + e.words}
        return Vocabulary(SPECIAL_TOKENS + sorted(seen))

    def get_ids(self, words: Sequence[Word]) -> list[int]:
        return [self._ids.get(word.text, self.unknown) for word in words]


def normalize(answer: str) -> list[str]:
    """Returns the words of an answer in lower case, without punctuation and articles."""
    letters = "".join(c for c in answer.lower() if c not in string.punctuation)
    return _ARTICLE.sub(" ", letters).split()


def score(predicted: str, answers: Sequence[str]) -> tuple[float, float]:
    """Returns (F1, exact match), each in [0, 1] and the maximum over the correct answers."""
    words = normalize(predicted)
    pairs = [(_f1(words, normalize(a)), float(words == normalize(a))) for a in answers]
    return max(f1 for f1, _ in pairs), max(exact for _, exact in pairs)


def _f1(predicted: list[str], answer: list[str]) -> float:
    common = sum((collections.Counter(predicted) & collections.Counter(answer)).values())
    if not predicted or not answer:
        return float(predicted == answer)
    return 2 * common / (len(predicted) + len(answer))
