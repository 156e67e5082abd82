"""The strategy fsdp, with a stand-in for torch's FullyShardedDataParallel: fake_fsdp.py."""

import os
import sys
import tempfile
import types
import unittest
from unittest import mock

import fsdp_scenarios
import torch
from det import pytorch as dp
from det.pytorch.strategies import base, fsdp
from ranks_test import run_on_two_ranks


class FsdpTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        results = run_on_two_ranks(["fsdp", "fsdp_without_older_names"], cls.folder)
        cls.ranks, cls.newest = results["fsdp"], results["fsdp_without_older_names"]
        cls.one_rank = fsdp_scenarios.train_50_batches()

    def assert_close(self, weights, other):
        self.assertEqual(set(weights), set(other))
        for name, numbers in weights.items():
            torch.testing.assert_close(
                torch.tensor(numbers), torch.tensor(other[name]), rtol=1e-4, atol=1e-6
            )

    def test_two_ranks_train_to_the_weights_of_one(self):
        for rank in self.ranks:
            self.assert_close(rank["uninterrupted"]["weights"], self.one_rank["weights"])
            for (steps, error), (reference, expected) in zip(
                rank["uninterrupted"]["errors"], self.one_rank["errors"]
            ):
                self.assertEqual(steps, reference)
                self.assertAlmostEqual(error, expected, delta=1e-4 * abs(expected))

    def test_all_ranks_make_every_forward_pass(self):
        one_rank = fsdp_scenarios.train_50_batches(fsdp_scenarios.FullTrial)
        for (_, error), (_, expected) in zip(self.ranks[0]["full"]["errors"], one_rank["errors"]):
            self.assertAlmostEqual(error, expected, delta=1e-4 * abs(expected))

    def test_wraps_by_size_with_original_parameters(self):
        for rank in self.ranks:
            self.assertEqual(
                rank["uninterrupted"]["calls"][0],
                ["wrap", {"min_num_params": 1000000}, "cpu", True],
            )

    def test_gathers_full_state_on_chief_and_loads_it_on_all_ranks(self):
        for rank in self.ranks:
            self.assertIn(
                ["state_dict_type", "FULL_STATE_DICT", True, True], rank["first"]["calls"]
            )
            self.assertIn(["full_optim_state_dict"], rank["first"]["calls"])
            loads = rank["resumed"]["calls"][1:3]
            reference = ["state_dict_type", "FULL_STATE_DICT", True, False]
            self.assertEqual(loads, [reference, ["shard_full_optim_state_dict"]])

    def test_supports_torch_without_deprecated_names(self):
        for rank in self.newest:
            self.assertIn(["optim_state_dict"], rank["first"]["calls"])
            self.assertIn(["optim_state_dict_to_load"], rank["resumed"]["calls"])
            self.assert_close(rank["resumed"]["weights"], self.one_rank["weights"])

    def test_loads_checkpoints_of_other_strategies(self):
        for rank in self.ranks:
            for name in ("resumed", "resumed_by_allreduce", "resumed_from_allreduce"):
                self.assert_close(rank[name]["weights"], self.one_rank["weights"])
            self.assertEqual(rank["middle"]["steps"], 50)
        uuid = self.ranks[0]["first"]["uuid"]
        one_rank = fsdp_scenarios.train_50_batches(
            storage=self.folder + "/fsdp", latest_checkpoint=uuid
        )
        self.assert_close(one_rank["weights"], self.one_rank["weights"])
        loaded = dp.load_trial_from_checkpoint_path(
            os.path.join(self.folder, "fsdp", uuid), fsdp_scenarios.GroupsTrial
        )
        self.assertEqual(set(loaded.net.state_dict()), set(self.one_rank["weights"]))

    def test_rejects_an_optimizer_of_two_models(self):
        for rank in self.ranks:
            self.assertIn("no wrapped model, or of several", rank["two_models"])

    def test_rejects_unsupported_torch_before_training(self):
        if torch.__version__.startswith("1."):
            for rank in self.ranks:
                self.assertRegex(
                    rank["unsupported_torch"], "needs GPUs, or torch 2.1 .*shard_optimizer"
                )


class LoadTest(unittest.TestCase):
    def test_reports_missing_support(self):
        with mock.patch.object(torch, "__version__", "1.13.0a0"):
            with self.assertRaisesRegex(
                ValueError, "CPU cores and torch is 1.13.0a0: choose another"
            ):
                fsdp.import_fsdp(torch.device("cpu"))
        with mock.patch.dict(sys.modules, {"torch.distributed.fsdp.wrap": None}):
            with mock.patch.object(torch, "__version__", "2.10.1"):
                with self.assertRaisesRegex(
                    ValueError, "is not available in torch 2.10.1 .*choose another"
                ):
                    fsdp.import_fsdp(torch.device("cpu"))

    def test_converts_between_indices_and_names(self):
        results = {
            "state": {"a": {"step": 1}, "c": {"step": 3}},
            "param_groups": [{"lr": 1, "params": ["c"]}, {"lr": 2, "params": ["b", "a"]}],
        }
        groups = [["c"], ["b", "a"]]
        whole = fsdp.index_optimizer_state(results, groups)
        self.assertEqual(whole["state"], {0: {"step": 3}, 2: {"step": 1}})
        self.assertEqual([group["params"] for group in whole["param_groups"]], [[0], [1, 2]])
        self.assertEqual(fsdp.name_optimizer_state(whole, groups), results)
        with self.assertRaisesRegex(
            ValueError, r"groups of \[2, 1\] parameters, and the checkpoint has"
        ):
            fsdp.name_optimizer_state(whole, [["c", "b"], ["a"]])


class ClippingTest(unittest.TestCase):
    def test_clips_with_one_parameter_for_the_gradients_of_other_ranks(self):
        weights = [torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(1))]
        weights[0].grad = torch.tensor([3.0, 0.0])
        others = types.SimpleNamespace(sum=lambda own: own + 16.0)
        strategy = base.ShardedStrategy(None, others)
        given = list(strategy.parameters_for_clipping(torch.optim.SGD(weights, 0.1)))
        self.assertEqual([id(p) for p in given[:2]], [id(p) for p in weights])
        norm = torch.nn.utils.clip_grad_norm_(given, 1.0)
        self.assertAlmostEqual(norm.item(), 5.0, places=5)
        self.assertAlmostEqual(weights[0].grad[0].item(), 0.6, places=5)


if __name__ == "__main__":
    unittest.main()
