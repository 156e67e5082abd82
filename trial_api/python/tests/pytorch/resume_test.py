"""A run that was stopped and resumed equals an uninterrupted one, with each strategy."""

import tempfile
import unittest

import strategy_scenarios
from ranks_test import run_on_ranks


class ResumeTest(unittest.TestCase):
    def assert_resumed(self, ranks, but_for_bits=()):
        for rank in ranks:
            self.assertEqual(set(strategy_scenarios.RESUMED), set(rank))
            for name, results in rank.items():
                with self.subTest(name):
                    self.assertGreater(results["trained"], 0)
                    if name not in but_for_bits:
                        self.assertEqual(results["uninterrupted"], results["resumed"])

    def on(self, size):
        with tempfile.TemporaryDirectory() as folder:
            return run_on_ranks(size, ["resumed_strategies"], folder)["resumed_strategies"]

    def test_one_rank_resumes_to_the_last_bit(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assert_resumed([strategy_scenarios.resumed_strategies(folder)])

    def test_two_ranks_resume_to_the_last_bit(self):
        results = self.on(2)
        self.assert_resumed(results)
        self.assertEqual(0, results[1]["parameter_server"]["state"])

    def test_three_ranks_resume_to_the_last_bit(self):
        # The order in which torch adds sparse gradients cannot be controlled.
        self.assert_resumed(self.on(3), but_for_bits=["sparse"])


if __name__ == "__main__":
    unittest.main()
