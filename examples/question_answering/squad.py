"""Question answering in SQuAD's format: examples, their words, and the two scores of an answer."""

import collections
import json
import pathlib
import re
import string
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
QUESTION, TEXT, REPEATED = range(3)  # The segments of words.

_WORD = re.compile(r"\w+|[^\w\s]")
_ARTICLE = re.compile(r"\b(a|an|the)\b")


class Word(NamedTuple):
    """A word in lower case; its original is text[start:end]."""

    text: str
    start: int
    end: int


class Example(NamedTuple):
    """One question. `first` and `last` are the words of the context that are its first answer."""

    question: list[Word]
    context: str
    words: list[Word]  # The words of the context.
    answers: list[str]
    first: int
    last: int


def split(text: str) -> list[Word]:
    return [Word(m.group().lower(), *m.span()) for m in _WORD.finditer(text)]


Split = Callable[[str], list[Word]]  # Splits a text or a question.


def read(path: pathlib.Path, split: Split = split) -> list[Example]:
    """Reads all questions of a file, in order.

    Raises:
        ValueError: An answer is not at the position that the file says.
    """
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    return [_example(p["context"], qa, split) for p in paragraphs for qa in p["qas"]]


def _example(context: str, qa: dict[str, Any], split: Split) -> Example:
    answers = [answer["text"] for answer in qa["answers"]]
    if not answers:
        raise ValueError(f"question {qa['id']} has no answer; SQuAD 1.1 has one for each question")
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


def segments(example: Example) -> list[int]:
    """Returns the segment of each word of the context.

    It is TEXT, or REPEATED if the question contains the word. A small net takes long to learn that
    two words are equal, and memorizes the training questions before it does.
    """
    in_question = {word.text for word in example.question}
    return [REPEATED if word.text in in_question else TEXT for word in example.words]


def text_of(example: Example, begin: int, end: int) -> str:
    """Returns the part of the context from one word of the record to another.

    A record consists of a mark, the question, a mark, and the context.
    """
    before = len(example.question) + 2
    return example.context[example.words[begin - before].start : example.words[end - before].end]


class Vocabulary:
    """Words and their numbers.

    Raises:
        ValueError: A mark is missing.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self._number = {word: number for number, word in enumerate(self.words)}
        missing = [mark for mark in MARKS if mark not in self._number]
        if missing:
            raise ValueError(
                f"the vocabulary lacks {', '.join(missing)}; add each on a line of its own"
            )
        self.pad, self.unknown, self.begin, self.separator = (self._number[m] for m in MARKS)

    @staticmethod
    def of(examples: Sequence[Example]) -> "Vocabulary":
        """Creates the sorted vocabulary of examples: the same examples have the same numbers."""
        seen = {word.text for e in examples for word in e.question + e.words}
        return Vocabulary(MARKS + sorted(seen))

    def numbers(self, words: Sequence[Word]) -> list[int]:
        return [self._number.get(word.text, self.unknown) for word in words]


def normal(answer: str) -> list[str]:
    """Returns the words to compare: in lower case, without punctuation and articles."""
    letters = "".join(c for c in answer.lower() if c not in string.punctuation)
    return _ARTICLE.sub(" ", letters).split()


def score(predicted: str, answers: Sequence[str]) -> tuple[float, float]:
    """Returns (F1, exact match) of the best answer, each in [0, 1]."""
    given = normal(predicted)
    pairs = [(_f1(given, normal(a)), float(given == normal(a))) for a in answers]
    return max(f1 for f1, _ in pairs), max(exact for _, exact in pairs)


def _f1(predicted: list[str], answer: list[str]) -> float:
    common = sum((collections.Counter(predicted) & collections.Counter(answer)).values())
    if not predicted or not answer:
        return float(predicted == answer)
    return 2 * common / (len(predicted) + len(answer))
