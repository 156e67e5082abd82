"""The strategy pipeline: two and three ranks learn what one learns."""

import os
import tempfile
import unittest

import pipeline_scenarios
import torch
from det import pytorch as dp
from det.pytorch.strategies import pipeline, pipeline_stage
from ranks_test import run_on_ranks, run_on_two_ranks
from strategy_scenarios import ClippedTrial
from torch import nn


class Case(unittest.TestCase):
    def whole(self, ranks):
        """Returns the weights of all stages, which have none in common."""
        weights = {}
        for rank in ranks:
            self.assertFalse(set(weights) & set(rank["weights"]))
            self.assertTrue(rank["weights"])
            weights.update(rank["weights"])
        return weights

    def assert_close(self, weights, other):
        self.assertEqual(set(weights), set(other))
        for name, numbers in weights.items():
            torch.testing.assert_close(
                torch.tensor(numbers), torch.tensor(other[name]), rtol=1e-4, atol=1e-6
            )

    def assert_same_reports(self, ranks, one_rank):
        for rank in ranks:
            for (*results, metrics), (*reference, expected) in zip(
                rank["reports"], one_rank["reports"]
            ):
                self.assertEqual(results, reference)
                self.assertEqual(set(metrics), set(expected))
                for name, value in expected.items():
                    self.assertAlmostEqual(metrics[name], value, delta=1e-4 * abs(value), msg=name)


class TwoStagesTest(Case):
    @classmethod
    def setUpClass(cls):
        names = ["pipelines", "noisy_pipelines", "refused_pipelines"]
        with tempfile.TemporaryDirectory() as folder:
            results = run_on_two_ranks(names, folder)
        cls.results = {
            name: [rank[name] for rank in results["pipelines"]] for name in results["pipelines"][0]
        }
        cls.noisy, cls.refused = results["noisy_pipelines"], results["refused_pipelines"]

    def test_stages_train_to_the_weights_of_one_slot(self):
        one_rank = pipeline_scenarios.train_50_batches()
        for name in ("net", "one_micro_batch"):
            self.assert_close(self.whole(self.results[name]), one_rank["weights"])
            self.assert_same_reports(self.results[name], one_rank)

    def test_clips_by_the_norm_of_all_stages(self):
        one_rank = pipeline_scenarios.train_50_batches(ClippedTrial)
        self.assert_close(self.whole(self.results["clipped"]), one_rank["weights"])

    def test_supports_a_stage_that_begins_in_place(self):
        one_rank = pipeline_scenarios.train_50_batches(pipeline_scenarios.InPlaceTrial)
        self.assert_close(self.whole(self.results["in_place"]), one_rank["weights"])

    def test_supports_aggregated_batches(self):
        one_rank = pipeline_scenarios.train_50_batches(frequency=2, batch_size=8)
        self.assert_close(self.whole(self.results["aggregated"]), one_rank["weights"])

    def test_supports_mixed_precision(self):
        losses = [
            m["loss"] for group, _, m in self.results["half"][0]["reports"] if group == "training"
        ]
        self.assertLess(losses[-1], 0.7 * losses[0])
        self.assertNotEqual(self.results["half"][0]["weights"], self.results["net"][0]["weights"])

    def test_counts_each_record_once(self):
        one_rank = pipeline_scenarios.train_50_batches(
            pipeline_scenarios.CountingTrial, max_length=dp.Batch(10)
        )
        self.assert_same_reports(self.results["counted"], one_rank)
        one_rank = pipeline_scenarios.train_50_batches(
            pipeline_scenarios.FullTrial, max_length=dp.Batch(3)
        )
        self.assert_same_reports(self.results["full"], one_rank)

    def test_resumed_run_equals_uninterrupted_run(self):
        for rank in self.noisy:
            self.assertIn(rank["first"]["steps"], (8, 9))
            self.assertTrue(rank["uninterrupted"]["weights"])
            self.assertEqual(rank["uninterrupted"]["weights"], rank["resumed"]["weights"])

    def test_rejects_models_that_cannot_be_divided(self):
        for rank in self.refused:
            for name, words in (
                ("not_sequential", "wrap_model.. got a Wide: write the model as a Sequential"),
                (
                    "too_few",
                    "on 2 slots .* and 1 of its modules have parameters that require gradients",
                ),
                ("shared", "parameter weight is shared by modules of different stages"),
                (
                    "unwrapped",
                    "parameter of another slot's stage .*parameters.. of what wrap_model",
                ),
                ("scaler", "pipeline needs a scaler that all slots share"),
            ):
                self.assertRegex(rank[name], words)


class ThreeStagesTest(Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        ranks = run_on_ranks(3, ["deep_pipelines"], cls.folder)["deep_pipelines"]
        cls.results = {name: [rank[name] for rank in ranks] for name in ranks[0]}
        cls.one_rank = pipeline_scenarios.deep()

    def test_stages_train_to_the_weights_of_one_slot(self):
        self.assert_close(self.whole(self.results["deep"]), self.one_rank["weights"])
        self.assert_same_reports(self.results["deep"], self.one_rank)
        states = [rank["state"] for rank in self.results["deep"]]
        self.assertEqual(sum(states), self.one_rank["state"])
        self.assertTrue(all(states))

    def test_stages_stop_together_and_resume(self):
        steps = {rank["steps"] for rank in self.results["preempted"]}
        self.assertEqual(len(steps), 1)
        self.assertLessEqual(steps, {20, 21})
        self.assertTrue(self.results["preempted"][0]["acknowledged"])
        self.assert_close(self.whole(self.results["resumed"]), self.one_rank["weights"])

    def test_checkpoint_loads_with_every_strategy(self):
        for rank in self.results["resumed_without_stages"]:
            self.assert_close(rank["weights"], self.one_rank["weights"])
        self.assert_close(self.whole(self.results["resumed_with_stages"]), self.one_rank["weights"])
        uuid = self.results["preempted"][0]["uuid"]
        one_rank = pipeline_scenarios.deep(storage=self.folder + "/deep", latest_checkpoint=uuid)
        self.assert_close(one_rank["weights"], self.one_rank["weights"])
        folder = os.path.join(self.folder, "deep", uuid)
        loaded = dp.load_trial_from_checkpoint_path(folder, pipeline_scenarios.DeepTrial)
        self.assertEqual(set(loaded.net.state_dict()), set(self.one_rank["weights"]))


class CutTest(unittest.TestCase):
    def cut(self, sizes, stages):
        modules = [nn.Linear(size, 1, bias=False) if size else nn.Tanh() for size in sizes]
        return [list(stage) for stage in pipeline_stage.partition_modules(modules, stages)]

    def test_balances_stages(self):
        self.assertEqual(self.cut([4, 4, 4, 4], 2), [[0, 1], [2, 3]])
        self.assertEqual(self.cut([1, 1, 1, 9], 2), [[0, 1, 2], [3]])
        self.assertEqual(self.cut([9, 1, 1, 1], 3), [[0], [1], [2, 3]])
        self.assertEqual(self.cut([5, 0, 5, 0], 2), [[0], [1, 2, 3]])

    def test_each_stage_has_parameters_that_require_gradients(self):
        self.assertEqual(self.cut([0, 0, 1, 0, 100], 2), [[0, 1, 2], [3, 4]])
        with self.assertRaisesRegex(
            ValueError, "2 of its modules have parameters that require gradients"
        ):
            self.cut([4, 0, 4], 3)


class OptimizerStateTest(unittest.TestCase):
    def test_merges_and_extracts_stage_states(self):
        def state(numbers, groups):
            return {
                "state": {i: {"step": n} for i, n in enumerate(numbers) if n},
                "param_groups": [
                    {"lr": lr, "params": params, "param_names": [f"{lr}.{p}" for p in params]}
                    for lr, params in groups
                ],
            }

        left = state([1, 2, 3], [(0.1, [0, 1]), (0.2, [2])])
        right = state([4, None], [(0.1, [0]), (0.2, [1])])
        whole = pipeline.merge_stage_states([left, right])
        self.assertEqual([group["params"] for group in whole["param_groups"]], [[0, 1, 2], [3, 4]])
        self.assertEqual(
            {i: s["step"] for i, s in whole["state"].items()}, {0: 1, 1: 2, 2: 4, 3: 3}
        )
        counts = [[2, 1], [1, 1]]
        for rank, part in enumerate((left, right)):
            self.assertEqual(pipeline.extract_stage_state(whole, counts, rank), part)
        with self.assertRaisesRegex(
            ValueError, r"groups of \[3, 1\] parameters, and the checkpoint has"
        ):
            pipeline.extract_stage_state(whole, [[2, 1], [1, 0]], 0)


if __name__ == "__main__":
    unittest.main()
