"""A run that was stopped and went on, against one that was not: the same bits, by each strategy."""

import tempfile
import unittest

import strategy_scenarios
from ranks_test import on_ranks


class ResumeTest(unittest.TestCase):
    def assert_resumed(self, ranks, but_for_bits=()):
        for rank in ranks:
            self.assertEqual(set(strategy_scenarios.RESUMED), set(rank))
            for name, told in rank.items():
                with self.subTest(name):
                    self.assertGreater(told["trained"], 0)
                    if name not in but_for_bits:
                        self.assertEqual(told["whole"], told["resumed"])

    def on(self, size):
        with tempfile.TemporaryDirectory() as folder:
            return on_ranks(size, ["resumed_strategies"], folder)["resumed_strategies"]

    def test_on_one_rank(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assert_resumed([strategy_scenarios.resumed_strategies(folder)])

    def test_on_two_ranks(self):
        told = self.on(2)
        self.assert_resumed(told)
        self.assertEqual(0, told[1]["parameter_server"]["state"])

    def test_on_three_ranks_whose_sums_have_an_order(self):
        # In which order torch adds sparse gradients, nobody can say to it.
        self.assert_resumed(self.on(3), but_for_bits=["sparse"])


if __name__ == "__main__":
    unittest.main()
