#!/usr/bin/env -S python3 -B
"""Tests that the scores follow SQuAD's definition and that examples have what their files contain."""

import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import squad


def read(context, text, start):
    answers = [{"text": text, "answer_start": start}]
    paragraph = {"context": context, "qas": [{"id": "7", "question": "Who?", "answers": answers}]}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "data.json")
        path.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}), encoding="utf-8")
        return squad.read(path)[0]


class ScoreTest(unittest.TestCase):
    def test_case_punctuation_and_articles_do_not_count(self):
        self.assertEqual((1, 1), squad.score("The  Cat!", ["a cat"]))

    def test_f1_counts_common_words_and_exact_match_all(self):
        f1, exact = squad.score("in New York", ["New York City"])
        self.assertAlmostEqual(2 / 3, f1)
        self.assertEqual(0, exact)

    def test_repeated_word_is_common_once(self):
        self.assertAlmostEqual(2 / 3, squad.score("York York", ["York"])[0])

    def test_best_of_several_answers_counts(self):
        self.assertEqual((1, 1), squad.score("York", ["New York", "York"]))

    def test_scores_are_zero_without_common_words(self):
        self.assertEqual((0, 0), squad.score("cat", ["dog"]))
        self.assertEqual((0, 0), squad.score(".", ["dog"]))


class ReadTest(unittest.TestCase):
    def test_finds_the_words_of_an_answer(self):
        example = read("Ann met Mr. Low, twice.", "Mr. Low", 8)
        self.assertEqual((2, 4), (example.first, example.last))
        before = len(example.question) + 2
        found = squad.text_of(example, before + example.first, before + example.last)
        self.assertEqual("Mr. Low", found)

    def test_error_names_the_question_when_its_answer_is_missing(self):
        with self.assertRaisesRegex(ValueError, "question 7: .*'nn'.* not the answer 'Bo'"):
            read("Ann met Bo.", "Bo", 1)


class SegmentsTest(unittest.TestCase):
    def test_marks_words_of_the_text_that_the_question_repeats(self):
        # The question is "Who?".
        self.assertEqual(
            [squad.TEXT, squad.REPEATED, squad.TEXT], squad.segments(read("Ann WHO.", "Ann", 0))
        )


class VocabularyTest(unittest.TestCase):
    def test_vocabulary_is_deterministic_and_maps_unknown_words(self):
        vocabulary = squad.Vocabulary.of([read("Ann met Bo.", "Bo", 8)])
        self.assertEqual([*squad.MARKS, ".", "?", "ann", "bo", "met", "who"], vocabulary.words)
        numbers = vocabulary.numbers(squad.split("BO knows"))
        self.assertEqual([vocabulary.words.index("bo"), vocabulary.unknown], numbers)

    def test_rejects_vocabulary_without_special_words(self):
        with self.assertRaisesRegex(ValueError, r"lacks \[UNK\], \[SEP\]"):
            squad.Vocabulary(["[CLS]", "[PAD]", "ann"])


if __name__ == "__main__":
    unittest.main()
