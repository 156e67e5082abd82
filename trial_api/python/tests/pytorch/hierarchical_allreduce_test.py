"""Hierarchical all-reduce of four ranks on two simulated nodes."""

import os
import tempfile
import types
import unittest
from unittest import mock

import gradient_scenarios
import torch
from det.pytorch.distributed import optimizations
from det.pytorch.strategies import hierarchical_allreduce
from ranks_test import run_on_ranks
from strategy_scenarios import ClippedTrial, train_exactly


class HierarchyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        names = ["hierarchical", "two_models", "clipped", "resumed_hierarchical"]
        names.append("hierarchical_train_exactly")
        with tempfile.TemporaryDirectory() as folder:
            cls.results = run_on_ranks(4, names, folder, nodes=2)

    def assert_close(self, weights, other, rtol=1e-4, atol=1e-6):
        self.assertEqual(set(weights), set(other))
        for name, numbers in weights.items():
            torch.testing.assert_close(
                torch.tensor(numbers), torch.tensor(other[name]), rtol=rtol, atol=atol
            )

    def test_four_ranks_on_two_nodes_train_to_the_weights_of_one(self):
        one_rank = gradient_scenarios.train_50_batches()
        for rank in self.results["hierarchical"]:
            for name in ("plain", "sums", "tuned"):
                self.assert_close(rank[name]["weights"], one_rank)
            self.assert_close(rank["float16"]["weights"], one_rank, 0.02, 0.02)
            self.assertNotEqual(rank["float16"]["weights"], rank["sums"]["weights"])

    def test_supports_clipping_aggregation_and_sharding(self):
        one_rank = train_exactly(cases={"one": {}})["one"][1]
        for rank in self.results["hierarchical_train_exactly"]:
            for results in rank.values():
                for frequency in ("1", "2"):
                    self.assert_close(results[frequency], one_rank)

    def test_supports_two_models_in_one_backward_pass(self):
        one_rank = gradient_scenarios.train_50_batches(gradient_scenarios.TwoModels)
        for rank in self.results["two_models"]:
            self.assert_close(rank, one_rank)

    def test_resumed_run_equals_uninterrupted_run_to_the_last_bit(self):
        for rank in self.results["resumed_hierarchical"]:
            self.assertEqual(rank["plain"]["uninterrupted"], rank["plain"]["resumed"])

    def test_clips_the_summed_gradients(self):
        one_rank = gradient_scenarios.train_50_batches(ClippedTrial)
        for rank in self.results["clipped"]:
            self.assert_close(rank, one_rank)

    def test_ranks_end_with_equal_models(self):
        first, *others = self.results["hierarchical"]
        for rank in others:
            for name, results in rank.items():
                self.assertEqual(results["weights"], first[name]["weights"], name)

    def test_only_first_rank_of_each_node_communicates_with_other_nodes(self):
        for number, rank in enumerate(self.results["hierarchical"]):
            within = {"reduce": [2], "broadcast": [2]}
            among = {"all_reduce": [2]} if number in (0, 2) else {}
            self.assertEqual(rank["plain"]["exchanged"], {})
            for name in ("sums", "tuned", "float16"):
                self.assertEqual(rank[name]["exchanged"], {**within, **among})


class FindTest(unittest.TestCase):
    def test_rejects_incompatible_options(self):
        for options, words in (
            ({"gradient_compression": "int8"}, "a different scale on each slot: choose float16"),
            ({"strategy": "local_sgd"}, "hierarchical_allreduce requires strategy allreduce"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                options = {**options, "hierarchical_allreduce": True}
                optimizations.parse_optimizations({"optimizations": options})

    def test_requires_group_rank(self):
        options = optimizations.Optimizations(hierarchical_allreduce=True)
        self.assertIsNone(
            hierarchical_allreduce.create_node_groups(types.SimpleNamespace(size=1), options)
        )
        with mock.patch.dict(os.environ):
            os.environ.pop("GROUP_RANK", None)
            with self.assertRaisesRegex(ValueError, "GROUP_RANK is None: start this program"):
                hierarchical_allreduce.create_node_groups(types.SimpleNamespace(size=2), options)


if __name__ == "__main__":
    unittest.main()
