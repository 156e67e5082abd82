#!/usr/bin/env -S python3 -B
"""Writes sentiment.tsv: short sentences about things, half of them positive and half negative.

Each consists of a subject, a verb phrase and a closing sentence. Training and validation combine
the same parts in different ways.
"""

import random

SUBJECTS = [
    "the printer",
    "this book",
    "the new release",
    "our hotel room",
    "the soup",
    "her lecture",
    "the manual",
    "this phone",
    "the train ride",
    "the concert",
    "his film",
    "the keyboard",
    "this library",
    "the coffee",
    "the garden",
    "their support team",
    "the bicycle",
    "the exhibition",
    "this editor",
    "the old camera",
    "the bakery",
    "the second chapter",
    "the installer",
    "the jacket",
]
PRAISE = [
    "works perfectly",
    "made us all happy",
    "is a pleasure to use",
    "was worth every minute",
    "exceeded what we hoped for",
    "is beautifully made",
    "was warm and friendly",
    "never let me down",
    "is fast and reliable",
    "deserves a prize",
    "was delicious",
    "is clear and helpful",
    "saved my day",
    "is the best I have seen",
    "was a wonderful surprise",
    "is easy to love",
]
BLAME = [
    "breaks all the time",
    "made us all angry",
    "is a pain to use",
    "was a waste of an evening",
    "fell short of what we hoped for",
    "is badly made",
    "was cold and rude",
    "let me down again",
    "is slow and fragile",
    "deserves no prize",
    "was disgusting",
    "is confusing and useless",
    "ruined my day",
    "is the worst I have seen",
    "was a terrible disappointment",
    "is hard to bear",
]
PRAISE_ENDS = [
    "I would gladly come back.",
    "Thank you so much!",
    "I recommend it to everyone.",
    "Just great.",
    "We smiled the whole time.",
    "Well done.",
    "It was a joy.",
    "I can only be glad.",
]
BLAME_ENDS = [
    "I will never come back.",
    "What a mess!",
    "I warn everyone against it.",
    "Just awful.",
    "We sighed the whole time.",
    "Badly done.",
    "It was a shame.",
    "I want my money back.",
]
TRAINING, VALIDATION = 600, 200


def sentences(praises):
    """Returns all sentences of one kind."""
    verbs, ends = (PRAISE, PRAISE_ENDS) if praises else (BLAME, BLAME_ENDS)
    return [
        f"{subject.capitalize()} {verb}. {end}"
        for subject in SUBJECTS
        for verb in verbs
        for end in ends
    ]


def main():
    rng = random.Random(1)
    lines = []
    for kind in (0, 1):
        chosen = rng.sample(sentences(kind), (TRAINING + VALIDATION) // 2)
        parts = ["train"] * (TRAINING // 2) + ["validation"] * (VALIDATION // 2)
        lines += [f"{part}\t{kind}\t{text}" for part, text in zip(parts, chosen)]
    with open("sentiment.tsv", "w", encoding="utf-8") as file:
        file.write("\n".join(sorted(lines)) + "\n")


if __name__ == "__main__":
    main()
