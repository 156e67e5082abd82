#!/usr/bin/env python3
"""Writes train.json and validation.json, a small question-answering set in SQuAD's format.

    ./make_data.py [FOLDER]

Contexts are short fictional notes about persons; each question asks for one fact. The same seed
produces the same bytes.
"""

import json
import os
import random
import sys
from typing import Any

NAMES = "Ada Boris Clara Deniz Elif Farid Greta Hugo Ines Jonas Kira Liam Mina Nils Olga".split()
FACTS = {
    "city": (
        "{0} lives in {1}.",
        "Where does {0} live?",
        "Bergen Lyon Oslo Porto Turin Ghent Cork",
    ),
    "work": (
        "{0} works as a {1}.",
        "What is the work of {0}?",
        "baker pilot nurse tailor judge mason",
    ),
    "pet": ("{0} keeps a {1}.", "Which animal does {0} keep?", "cat dog parrot rabbit horse goat"),
    "year": ("{0} was born in {1}.", "When was {0} born?", "1951 1964 1972 1980 1985 1993 1999"),
}


def example(number: str, draw: random.Random) -> dict[str, Any]:
    """Returns one paragraph: two facts about each of two persons in random order, and one question."""
    facts = []
    for name in draw.sample(NAMES, 2):
        for fact in draw.sample(sorted(FACTS), 2):
            sentence, question, values = FACTS[fact]
            value = draw.choice(values.split())
            facts.append((sentence.format(name, value), question.format(name), value))
    draw.shuffle(facts)
    context = " ".join(sentence for sentence, _, _ in facts)
    sentence, question, value = draw.choice(facts)
    start = context.index(sentence) + sentence.rindex(value)
    answer = {"text": value, "answer_start": start}
    return {"context": context, "qas": [{"id": number, "question": question, "answers": [answer]}]}


def write(path: str, count: int, seed: int) -> None:
    draw = random.Random(seed)
    paragraphs: list[dict[str, Any]] = [example(f"{seed}-{i}", draw) for i in range(count)]
    data = {"version": "1.1", "data": [{"title": "Persons", "paragraphs": paragraphs}]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    write(os.path.join(folder, "train.json"), 1600, 1)
    write(os.path.join(folder, "validation.json"), 256, 2)
