#!/usr/bin/env -S python3 -B
"""The scores are those of SQuAD's definition; examples keep what their files say."""

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

    def test_f1_is_of_common_words_and_exact_match_of_all(self):
        f1, exact = squad.score("in New York", ["New York City"])
        self.assertAlmostEqual(2 / 3, f1)
        self.assertEqual(0, exact)

    def test_a_word_said_twice_is_common_once(self):
        self.assertAlmostEqual(2 / 3, squad.score("York York", ["York"])[0])

    def test_the_best_of_several_answers_counts(self):
        self.assertEqual((1, 1), squad.score("York", ["New York", "York"]))

    def test_nothing_in_common_is_nothing(self):
        self.assertEqual((0, 0), squad.score("cat", ["dog"]))
        self.assertEqual((0, 0), squad.score(".", ["dog"]))


class ReadTest(unittest.TestCase):
    def test_the_words_of_an_answer_are_found(self):
        example = read("Ann met Mr. Low, twice.", "Mr. Low", 8)
        self.assertEqual((2, 4), (example.first, example.last))
        before = len(example.question) + 2
        found = squad.text_of(example, before + example.first, before + example.last)
        self.assertEqual("Mr. Low", found)

    def test_an_answer_that_is_not_there_is_an_error_that_names_its_question(self):
        with self.assertRaisesRegex(ValueError, "question 7: .*'nn'.* not the answer 'Bo'"):
            read("Ann met Bo.", "Bo", 1)


class SegmentsTest(unittest.TestCase):
    def test_words_of_the_text_that_the_question_says_are_marked(self):
        # The question is "Who?".
        self.assertEqual(
            [squad.TEXT, squad.REPEATED, squad.TEXT], squad.segments(read("Ann WHO.", "Ann", 0))
        )


class VocabularyTest(unittest.TestCase):
    def test_it_is_the_same_for_the_same_examples_and_knows_its_limits(self):
        vocabulary = squad.Vocabulary.of([read("Ann met Bo.", "Bo", 8)])
        self.assertEqual([*squad.MARKS, ".", "?", "ann", "bo", "met", "who"], vocabulary.words)
        numbers = vocabulary.numbers(squad.split("BO knows"))
        self.assertEqual([vocabulary.words.index("bo"), vocabulary.unknown], numbers)

    def test_one_without_marks_is_refused(self):
        with self.assertRaisesRegex(ValueError, r"lacks \[UNK\], \[SEP\]"):
            squad.Vocabulary(["[CLS]", "[PAD]", "ann"])


if __name__ == "__main__":
    unittest.main()
