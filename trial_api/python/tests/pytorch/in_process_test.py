"""The strategy in_process: one process computes on several slots."""

import collections
import os
import tempfile
import threading
import unittest
from unittest import mock

import replica_scenarios
import strategy_scenarios
import torch
from det import pytorch as dp
from det.pytorch import load_trial_from_checkpoint_path
from det.pytorch.strategies import in_process
from ranks_test import run_on_two_ranks
from torch import nn
from trials import NetTrial, run

SLOTS = replica_scenarios.SLOTS


class InProcessTestCase(unittest.TestCase):
    def assert_close(self, weights, other):
        self.assertEqual(set(weights), set(other))
        for name, numbers in weights.items():
            torch.testing.assert_close(
                torch.as_tensor(numbers), torch.as_tensor(other[name]), rtol=1e-4, atol=1e-6
            )


class OneNodeTest(InProcessTestCase):
    def test_four_slots_train_to_the_weights_of_one(self):
        one_slot = replica_scenarios.train_50_batches()
        four_slots = replica_scenarios.train_50_batches(slots=[4])
        self.assert_close(four_slots["weights"], one_slot["weights"])
        for (*results, metrics), (*reference, expected) in zip(
            four_slots["reports"], one_slot["reports"]
        ):
            self.assertEqual(results, reference)
            self.assertEqual(set(metrics), set(expected))
            for name, value in expected.items():
                self.assertAlmostEqual(metrics[name], value, delta=1e-4 * abs(value), msg=name)

    def test_supports_clipping_and_mixed_precision(self):
        clipped = replica_scenarios.train_50_batches(replica_scenarios.ClippedTrial)
        four_slots = replica_scenarios.train_50_batches(replica_scenarios.ClippedTrial, slots=[4])
        self.assert_close(four_slots["weights"], clipped["weights"])
        kinds = set()

        class DtypeRecordingTrial(NetTrial):
            def loss(self, batch):
                kinds.add(self.net(batch[0]).dtype)
                return super().loss(batch)

        replica_scenarios.train_50_batches(
            DtypeRecordingTrial, slots=[2], mixed_precision="bfloat16"
        )
        self.assertEqual(kinds, {torch.bfloat16})

    def test_four_slots_clip_and_aggregate_as_one(self):
        with mock.patch.dict(os.environ, {SLOTS: "[3]"}):
            results = strategy_scenarios.train_exactly(cases={"three": {"strategy": "in_process"}})[
                "three"
            ]
        one_slot = strategy_scenarios.train_exactly(cases={"one": {}})["one"][1]
        for frequency in (1, 2):
            self.assert_close(results[frequency], one_slot)

    def test_resumed_run_equals_uninterrupted_run_to_the_last_bit(self):
        with mock.patch.dict(os.environ, {SLOTS: "[3]"}), tempfile.TemporaryDirectory() as folder:
            results = strategy_scenarios.resumed_strategies(
                folder,
                {
                    trial.__name__: (trial, {"strategy": "in_process"})
                    for trial in (strategy_scenarios.WideTrial, replica_scenarios.RecurrentTrial)
                },
            )
        for name, result in results.items():
            with self.subTest(name):
                self.assertGreater(result["trained"], 0)
                self.assertEqual(result["uninterrupted"], result["resumed"])

    def test_recurrent_models_train_to_the_weights_of_one_slot(self):
        cls = replica_scenarios.RecurrentTrial
        one_slot, four_slots = (
            replica_scenarios.train_50_batches(cls),
            replica_scenarios.train_50_batches(cls, slots=[4]),
        )
        self.assert_close(four_slots["weights"], one_slot["weights"])

    def test_each_replica_computes_the_part_of_a_slot(self):
        seen = collections.Counter()

        class RecordingLinear(nn.Linear):
            def forward(self, x):
                seen[(self.training, len(x), threading.current_thread().name[:11])] += 1
                return super().forward(x)

        class Trial(NetTrial):
            def __init__(self, context):
                self.context = context
                self.net = context.wrap_model(RecordingLinear(4, 1))
                self.sgd = context.wrap_optimizer(self.optimizer(self.net.parameters()))
                self.sizes = context.get_per_slot_batch_size(), context.get_global_batch_size()

        results = replica_scenarios.train_50_batches(Trial, slots=[4], max_length=dp.Epoch(1))
        self.assertEqual(results["sizes"], (4, 16))
        self.assertEqual(results["steps"], 7)
        trained = {key: count for key, count in seen.items() if key[0]}
        # Six complete batches, and one of the remaining four records.
        self.assertEqual(trained, {(True, 4, "det-replica"): 24, (True, 1, "det-replica"): 4})

    def test_other_numbers_of_slots_resume(self):
        uninterrupted = replica_scenarios.train_50_batches()
        first = replica_scenarios.train_50_batches(slots=[2], preempt_at=20)
        self.assertEqual(first["steps"], 20)
        options = {"storage": first["storage"], "latest_checkpoint": first["uuid"]}
        for more in ({}, {"slots": [4]}):
            second = replica_scenarios.train_50_batches(**more, **options)
            self.assert_close(second["weights"], uninterrupted["weights"])
        folder = os.path.join(first["storage"], first["uuid"])
        with mock.patch.dict(os.environ, {SLOTS: "[2, 2]"}):  # The value in a task on two nodes.
            loaded = load_trial_from_checkpoint_path(folder, NetTrial)
        self.assertIs(type(loaded.net), nn.Sequential)

    def test_rejects_a_process_for_each_slot(self):
        for slots in ("[2, 2]", "[0]", "two"):
            with mock.patch.dict(os.environ, {SLOTS: slots}):
                with self.assertRaisesRegex(
                    ValueError, "one process for each node, .* start the program"
                ):
                    run(NetTrial, optimizations={"strategy": "in_process"})
        with mock.patch.dict(os.environ):
            os.environ.pop(SLOTS, None)  # Off the cluster, a machine without GPUs.
            self.assertEqual(run(NetTrial, optimizations={"strategy": "in_process"}).steps, 20)
        with mock.patch.dict(os.environ, {SLOTS: "[3]"}):
            with self.assertRaisesRegex(ValueError, "cannot be divided evenly among 3 slots"):
                run(NetTrial, optimizations={"strategy": "in_process"})


class TwoNodesTest(InProcessTestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.two = run_on_two_ranks(["replicas"], folder)["replicas"]

    def test_nodes_with_different_numbers_of_slots_train_to_the_weights_of_one_slot(self):
        one_slot = replica_scenarios.train_50_batches(replica_scenarios.WholeBatches, batch_size=24)
        for rank in self.two:
            for name in ("even", "uneven"):
                self.assert_close(rank[name]["weights"], one_slot["weights"])
        for (*_group_and_steps, metrics), (*_expected_group_and_steps, expected) in zip(
            self.two[0]["uneven"]["reports"], one_slot["reports"]
        ):
            for name, value in expected.items():
                self.assertAlmostEqual(metrics[name], value, delta=1e-4 * abs(value), msg=name)

    def test_rejects_unsupported_options_on_several_nodes(self):
        for rank in self.two:
            self.assertIn("weighted and cannot be compressed", rank["compressed"])
            self.assertIn(
                "there are 2 processes, and $DET_SLOTS_OF_RANKS is None", rank["without_slots"]
            )


class ReplicasTest(unittest.TestCase):
    def test_keeps_buffers_of_the_first_replica(self):
        net = in_process.replicate(nn.BatchNorm1d(3), torch.device("cpu"), 2)
        first, second = torch.randn(4, 3), 5 + torch.randn(4, 3)
        alone = nn.BatchNorm1d(3)
        alone(first)
        net(torch.cat([first, second]))
        torch.testing.assert_close(net.running_mean, alone.running_mean)
        self.assertEqual(1, net.num_batches_tracked.item())

    def test_sends_a_single_row_to_all_replicas_and_joins_outputs(self):
        class Net(nn.Module):
            def forward(self, batch, weights=None):
                out = batch["x"] * weights
                return {"out": out, "loss": out.mean(), "rest": [out[:, 0], None]}

        net = in_process.replicate(Net(), torch.device("cpu"), 3)
        x, weights = torch.arange(8.0).reshape(4, 2), torch.tensor([[1.0, 2.0]])
        results, reference = net({"x": x}, weights=weights), Net()({"x": x}, weights=weights)
        torch.testing.assert_close(results["out"], reference["out"])
        torch.testing.assert_close(results["rest"][0], reference["rest"][0])
        self.assertIsNone(results["rest"][1])
        self.assertEqual(results["loss"].dim(), 0)
        torch.testing.assert_close(net({"x": x[:1]}, weights=weights)["out"], x[:1] * weights)

    def test_rejects_tensors_without_one_row_for_each_record(self):
        class Net(nn.Module):
            def forward(self, first, second=None):
                raise AssertionError("a replica computed")

        net = in_process.replicate(Net(), torch.device("cpu"), 2)
        x, weights = torch.zeros(4, 2), torch.zeros(10)
        for given, more, message in (
            ((x, weights), {}, r"4 rows \(argument 0\) and of 10 \(argument 1\): .*tensor\[None\]"),
            ((weights, x), {}, r"10 rows \(argument 0\) and of 4 \(argument 1\)"),
            (
                ([x, {"w": weights}],),
                {},
                r"4 rows \(argument 0\[0\]\).*10 \(argument 0\[1\]\['w'\]\)",
            ),
            ((x,), {"second": weights}, r"10 \(argument second\)"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                net(*given, **more)

    def test_rejects_tensors_within_objects(self):
        class Graph:
            def __init__(self):
                self.nodes = torch.zeros(4, 2)

        net = in_process.replicate(nn.Identity(), torch.device("cpu"), 2)
        with self.assertRaisesRegex(
            TypeError, r"argument 0\[1\] .* Graph, .* tuples, lists and dict"
        ):
            net([torch.zeros(4), Graph()])
        results = net(
            [torch.zeros(4), None, "text", 3]
        )  # Values without tensors go to all replicas.
        self.assertEqual([None, "text", 3], results[1:])

    def test_weights_a_loss_with_its_records(self):
        parts = in_process.split_batch(((torch.arange(5.0),), {}), 2)
        weights = in_process.count_records(parts)
        self.assertEqual([2, 3], weights)
        means = [part[0][0].mean() for part in parts]
        self.assertAlmostEqual(2.0, in_process.join_outputs(means, weights).item(), places=6)

    def test_rejects_outputs_that_cannot_be_joined(self):
        class ReturnsInteger(nn.Module):
            def forward(self, x):
                return x.long().sum()

        class ReturnsDifferentNumbers(nn.Module):
            def forward(self, x):
                return x[0].item()

        for net, message in (
            (ReturnsInteger(), "single integer"),
            (ReturnsDifferentNumbers(), "returned a float that"),
        ):
            with self.assertRaisesRegex(TypeError, message):
                in_process.replicate(net, torch.device("cpu"), 2)(torch.arange(4.0))


if __name__ == "__main__":
    unittest.main()
