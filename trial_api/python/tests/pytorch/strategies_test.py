"""The guarantees of each strategy on two ranks, as README.md of det.pytorch states them."""

import pathlib
import tempfile
import types
import unittest

import strategy_scenarios
import torch
from det import pytorch as dp
from det.pytorch.distributed import optimizations
from det.pytorch.state import optimizer_partition, snapshot
from det.pytorch.strategies import zero
from ranks_test import run_on_two_ranks
from trials import NetTrial, run


class StrategiesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        names = ["strategies", "save_on_two_ranks", "heads", "train_exactly"]
        results = run_on_two_ranks(names, cls.folder.name)
        cls.left, cls.right = results["strategies"]
        cls.heads = results["heads"]
        cls.train_exactly = results["train_exactly"]
        cls.saved = results["save_on_two_ranks"]

    def assert_close(self, weights, other):
        self.assertEqual(set(weights), set(other))
        for name, numbers in weights.items():
            torch.testing.assert_close(
                torch.tensor(numbers), torch.tensor(other[name]), rtol=1e-4, atol=1e-6
            )

    def test_ranks_end_with_equal_models(self):
        for name, results in self.left.items():
            self.assertEqual(results["weights"], self.right[name]["weights"], name)

    def test_exact_strategies_equal_allreduce(self):
        for name, same in (
            ("every_step", "allreduce"),
            ("parameter_server", "allreduce"),
            ("parameter_server_clipped", "clipped"),
            ("sharded", "adam"),
        ):
            with self.subTest(name):
                self.assert_close(self.left[name]["weights"], self.left[same]["weights"])

    def test_exact_strategies_clip_and_aggregate_as_one_rank(self):
        one_rank = strategy_scenarios.train_exactly(cases={"one": {}})["one"]
        self.assert_close(one_rank[2], one_rank[1])
        for rank in self.train_exactly:
            self.assertEqual(set(strategy_scenarios.EXACT_STRATEGIES), set(rank))
            for name, results in rank.items():
                for frequency in ("1", "2"):
                    with self.subTest(name, frequency=frequency):
                        self.assert_close(results[frequency], one_rank[1])

    def test_inexact_strategies_learn(self):
        for name in ("local_sgd", "async", "bfloat16"):
            results = self.left[name]
            self.assertNotEqual(results["weights"], self.left["allreduce"]["weights"])
            self.assertLess(results["losses"][-1], 0.7 * results["losses"][0], name)
            self.assertLess(results["losses"][-1], 1.5 * self.left["allreduce"]["losses"][-1], name)

    def test_asynchronous_averaging_is_repeatable(self):
        self.assertEqual(
            self.left["async"], dict(self.left["async_again"], uuid=self.left["async"]["uuid"])
        )

    def test_only_the_chief_has_the_state_of_a_parameter_server(self):
        self.assertEqual(4, self.left["parameter_server"]["state"])
        self.assertEqual(0, self.right["parameter_server"]["state"])

    def test_ranks_with_gradients_of_different_weights_end_with_equal_models(self):
        left, right = self.heads
        for name, (first, last) in left.items():
            self.assertEqual(last["weights"], right[name][1]["weights"], name)
            for weight in ("left.weight", "right.weight"):
                moved = torch.tensor(last["weights"][weight]) - torch.tensor(
                    first["weights"][weight]
                )
                self.assertGreater(moved.abs().min().item(), 1e-4, f"{name}: {weight}")

    def test_one_rank_resumes_from_the_parts_of_two(self):
        uninterrupted = strategy_scenarios.adam_uninterrupted()["weights"]
        for name in sorted(set(self.saved[0]) - {"local_sgd"}):  # The result of local_sgd differs.
            with self.subTest(name):
                results = self.saved[0][name]
                one_rank = strategy_scenarios.resume_on_one_rank(
                    self.folder.name, name, results["uuid"]
                )
                self.assert_close(one_rank["weights"], uninterrupted)

    def test_each_rank_writes_its_part_of_the_optimizer_state(self):
        for name, results in self.saved[0].items():
            with self.subTest(name):
                folder = pathlib.Path(self.folder.name, f"elastic-{name}", results["uuid"])
                parts = [
                    set(snapshot.read_tree(path)["state"])
                    for path in sorted(folder.glob("optimizer_*"))
                ]
                self.assertEqual({0, 1, 2, 3}, set().union(*parts))
                self.assertEqual(4, sum(map(len, parts)))
                if name.startswith("with_callback"):
                    self.assertEqual(([4], 1), (results["callback_states"], len(parts)))
                else:
                    self.assertTrue(all(parts))
                    self.assertEqual(2, len(parts))

    def test_chief_writes_less_optimizer_state_because_it_writes_the_weights(self):
        self.assertEqual([0, 1, 0, 1], optimizer_partition.assign_balanced([5, 5, 5, 5], 2))
        self.assertEqual([1, 1, 0, 1], optimizer_partition.assign_balanced([5, 5, 5, 5], 2, 10))


class ZeroRedundancyOptimizer(torch.optim.SGD):
    """A stand-in that is recognized by its name; the real class needs other ranks."""


class StepUnwrappedTrial(NetTrial):
    def train_batch(self, batch, epoch_idx, batch_idx):
        self.context.step_optimizer(torch.optim.SGD(self.net.parameters(), 0.1))


class WrapTest(unittest.TestCase):
    def test_zero_optimizer_requires_allreduce(self):
        optimizer = ZeroRedundancyOptimizer([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
        two = types.SimpleNamespace(size=2)
        options = optimizations.Optimizations(shard_optimizer=True)
        self.assertIs(optimizer, zero.shard_optimizer(optimizer, two, options))
        options = optimizations.Optimizations(strategy="parameter_server")
        with self.assertRaisesRegex(
            ValueError, "requires .* allreduce, and strategy is parameter_server"
        ):
            zero.shard_optimizer(optimizer, two, options)

    def test_rejects_step_of_the_optimizer_that_was_replaced(self):
        with self.assertRaisesRegex(ValueError, "what wrap_optimizer.. returned"):
            run(StepUnwrappedTrial, max_length=dp.Batch(1), optimizations={"shard_optimizer": True})


class ReadTest(unittest.TestCase):
    def read(self, **options):
        return optimizations.parse_optimizations({"optimizations": options})

    def test_rejects_invalid_and_incompatible_options(self):
        for options, words in (
            ({"strategy": "ring"}, "optimizations.strategy is 'ring': must be one of allreduce, "),
            ({"local_sgd_steps": 0}, "optimizations.local_sgd_steps is 0"),
            (
                {"strategy": "async", "gradient_compression": "int8"},
                "optimizations.gradient_compression requires strategy allreduce, and strategy is async",
            ),
            (
                {"strategy": "local_sgd", "shard_optimizer": True},
                "optimizations.shard_optimizer requires strategy allreduce, and strategy is local_sgd",
            ),
        ):
            with self.assertRaisesRegex(ValueError, words):
                self.read(**options)
        self.assertEqual("allreduce", self.read(strategy=None).strategy)


if __name__ == "__main__":
    unittest.main()
