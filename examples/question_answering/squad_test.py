#!/usr/bin/env -S python3 -B
"""Tests the scores against SQuAD's definition, and reading of examples."""

import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import squad


def read_example(context, text, start):
    answers = [{"text": text, "answer_start": start}]
    paragraph = {"context": context, "qas": [{"id": "7", "question": "Who?", "answers": answers}]}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "data.json")
        path.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}), encoding="utf-8")
        return squad.read_examples(path)[0]


class ScoreTest(unittest.TestCase):
    def test_ignores_case_punctuation_and_articles(self):
        self.assertEqual((1, 1), squad.score("The  Cat!", ["a cat"]))

    def test_computes_f1_of_common_words_and_exact_match_of_all_words(self):
        f1, exact = squad.score("in New York", ["New York City"])
        self.assertAlmostEqual(2 / 3, f1)
        self.assertEqual(0, exact)

    def test_f1_counts_a_repeated_word_once(self):
        self.assertAlmostEqual(2 / 3, squad.score("York York", ["York"])[0])

    def test_returns_the_score_of_the_best_answer(self):
        self.assertEqual((1, 1), squad.score("York", ["New York", "York"]))

    def test_returns_zero_without_common_words(self):
        self.assertEqual((0, 0), squad.score("cat", ["dog"]))
        self.assertEqual((0, 0), squad.score(".", ["dog"]))


class ReadTest(unittest.TestCase):
    def test_finds_the_words_of_the_answer(self):
        example = read_example("Ann met Mr. Low, twice.", "Mr. Low", 8)
        self.assertEqual((2, 4), (example.first, example.last))
        before = len(example.question) + 2
        found = squad.get_answer_text(example, before + example.first, before + example.last)
        self.assertEqual("Mr. Low", found)

    def test_error_names_the_question_when_its_answer_is_missing(self):
        with self.assertRaisesRegex(ValueError, "question 7: .*'nn'.* not the answer 'Bo'"):
            read_example("Ann met Bo.", "Bo", 1)


class SegmentsTest(unittest.TestCase):
    def test_marks_words_of_the_text_that_the_question_contains(self):
        # The question is "Who?".
        self.assertEqual(
            [squad.TEXT, squad.REPEATED, squad.TEXT],
            squad.get_segments(read_example("Ann WHO.", "Ann", 0)),
        )


class VocabularyTest(unittest.TestCase):
    def test_vocabulary_is_deterministic_and_maps_unknown_words(self):
        vocabulary = squad.Vocabulary.from_examples([read_example("Ann met Bo.", "Bo", 8)])
        words = [".", "?", "ann", "bo", "met", "who"]
        self.assertEqual([*squad.SPECIAL_TOKENS, *words], vocabulary.words)
        word_ids = vocabulary.get_ids(squad.split_words("BO knows"))
        self.assertEqual([vocabulary.words.index("bo"), vocabulary.unknown], word_ids)

    def test_rejects_vocabulary_without_special_tokens(self):
        with self.assertRaisesRegex(ValueError, r"lacks \[UNK\], \[SEP\]"):
            squad.Vocabulary(["[CLS]", "[PAD]", "ann"])


if __name__ == "__main__":
    unittest.main()
