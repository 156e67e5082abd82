"""Replicas of one process: their random numbers, and the order in which gradients are added."""

import contextlib
import io
import os
import tempfile
import unittest
from unittest import mock

import torch
from det import pytorch as dp
from det.pytorch.strategies import in_process, replica_rng
from replica_scenarios import SLOTS
from torch import nn
from torch.utils.checkpoint import checkpoint
from trials import NetTrial, run


class DeepTrial(NetTrial):
    """A Trial with so many layers that threads overtake each other."""

    def __init__(self, context):
        self.context = context
        layers = [nn.Linear(4, 32)]
        for _ in range(4):
            layers += [nn.Linear(32, 32), nn.GELU(), nn.Dropout(0.3), nn.LayerNorm(32)]
        self.net = context.wrap_model(nn.Sequential(*layers, nn.Linear(32, 1)))
        self.sgd = context.wrap_optimizer(torch.optim.Adam(self.net.parameters(), 1e-3))


class SteadyTrial(DeepTrial):
    """A Trial without random numbers: the sums of gradients alone determine its last bits."""

    def __init__(self, context):
        super().__init__(context)
        for module in self.net.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0


class Clamped(nn.Module):
    """A Trial that clamps its weights, as some discriminators of GANs do."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 1)

    def forward(self, x):
        with torch.no_grad():
            self.line.weight.clamp_(-0.25, 0.25)
        return self.line(x)


class ClampedTrial(NetTrial):
    def __init__(self, context):
        self.context = context
        self.net = context.wrap_model(Clamped())
        self.sgd = context.wrap_optimizer(torch.optim.SGD(self.net.parameters(), 0.5))


class LazyTrial(ClampedTrial):
    def __init__(self, context):
        self.context = context
        self.net = context.wrap_model(nn.LazyLinear(1))
        self.sgd = context.wrap_optimizer(torch.optim.SGD(self.net.parameters(), 0.5))


class RunsTest(unittest.TestCase):
    def train(self, trial, slots, **options):
        results = {"strategy": "in_process"}
        options = {
            "batch_size": 12,
            "max_length": dp.Batch(24),
            "optimizations": results,
            **options,
        }
        with mock.patch.dict(os.environ, {SLOTS: f"[{slots}]"}):
            return run(trial, validation_period=dp.Batch(5), **options)

    def test_allows_in_place_changes_of_parameters(self):
        weights = self.train(ClampedTrial, 2).weights
        with_one = self.train(ClampedTrial, 1).weights
        for name, tensor in with_one.items():
            self.assertTrue(torch.allclose(tensor, weights[name], atol=1e-5), name)

    def test_rejects_lazy_module_without_parameters(self):
        with self.assertRaisesRegex(RuntimeError, "lazy module .*: run one before wrap_model"):
            self.train(LazyTrial, 2)

    def test_repeats_and_resumes_to_the_last_bit(self):
        for trial, slots in ((DeepTrial, 2), (DeepTrial, 4), (SteadyTrial, 4)):
            with self.subTest(trial, slots=slots), tempfile.TemporaryDirectory() as storage:
                uninterrupted = self.train(trial, slots).weights
                again = self.train(trial, slots).weights
                # Stops inside an epoch whose last batch is smaller.
                first = self.train(trial, slots, storage=storage, preempt_at=11)
                self.assertEqual(11, first.steps)
                more = {"storage": storage, "latest_checkpoint": first.last_uuid}
                resumed = self.train(trial, slots, **more).weights
                for name, weights in uninterrupted.items():
                    self.assertTrue(torch.equal(weights, again[name]), name)
                    self.assertTrue(torch.equal(weights, resumed[name]), name)


class Calls(nn.Module):
    """A module that returns the result of a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def replicas(net, slots=4):
    return in_process.replicate(net, torch.device("cpu"), slots)


DRAWS = {
    "dropout": lambda x: nn.functional.dropout(x, 0.5),
    "channels": lambda x: nn.functional.dropout1d(x.t()[None], 0.5)[0].t(),
    "alpha": lambda x: nn.functional.alpha_dropout(x, 0.5, training=True),
    "rrelu": lambda x: nn.functional.rrelu(-x, training=True),
    "rand": lambda x: x * torch.rand(x.shape),
    "like": lambda x: x + torch.randn_like(x),
    "uninterrupted": lambda x: x + torch.randint(0, 1000, x.shape),
    "order": lambda x: x[:, torch.randperm(x.shape[1])],
    "in place": lambda x: torch.empty_like(x).normal_(),
    "choice": lambda x: torch.multinomial(x.softmax(1), 20),
    "distribution": lambda x: torch.distributions.Gamma(x.abs() + 1, 1.0).rsample(),
    "noise": lambda x: nn.init.kaiming_uniform_(torch.empty_like(x)),
    "seeded": lambda x: _seeded(x),
}


def _seeded(x):
    with torch.random.fork_rng():
        torch.manual_seed(7)
        torch.rand(3)
    return x + torch.rand(x.shape)


class DrawsTest(unittest.TestCase):
    def test_each_replica_draws_its_own_repeatable_numbers(self):
        x = torch.arange(1.0, 41.0).repeat(8, 1)
        for name, draw in DRAWS.items():
            with self.subTest(name):
                net = replicas(Calls(draw))
                torch.manual_seed(3)
                before = torch.get_rng_state()
                first, second = net(x), net(x)
                behind = torch.rand(2)
                torch.set_rng_state(before)
                self.assertTrue(torch.equal(first, net(x)))
                self.assertTrue(torch.equal(second, net(x)))
                self.assertTrue(torch.equal(behind, torch.rand(2)))
                self.assertFalse(torch.equal(first, second))
                parts = first.chunk(4)
                for other in parts[1:]:
                    self.assertFalse(torch.equal(parts[0], other))

    def test_manual_seed_within_forward_seeds_the_replica(self):
        def fixed(x):
            with torch.random.fork_rng():
                torch.manual_seed(7)
                return x + torch.rand(x.shape)

        first, second = replicas(Calls(fixed), 2)(torch.zeros(4, 3)).chunk(2)
        self.assertTrue(torch.equal(first, second))
        self.assertTrue(torch.equal(first, torch.rand(2, 3, generator=_generator(7))))

    def test_leaves_generators_of_the_model_alone(self):
        results = []

        def own(x):
            results.append(torch.rand(2, generator=_generator(5)))
            return x

        replicas(Calls(own), 2)(torch.zeros(4, 3))
        for numbers in results:
            self.assertTrue(torch.equal(numbers, torch.rand(2, generator=_generator(5))))

    def test_recomputation_in_the_backward_pass_draws_the_same(self):
        def ones(x):
            return nn.functional.dropout(torch.ones_like(x), 0.5) * x

        for reentrant in (True, False):
            for draw in (ones, lambda x: torch.rand(x.shape) * x):
                x = torch.ones(8, 50, requires_grad=True)
                again = lambda x: checkpoint(draw, x, use_reentrant=reentrant)  # noqa: E731
                out = replicas(Calls(again))(x)
                out.sum().backward()
                self.assertTrue(
                    torch.equal(out, x.grad)
                )  # These are the dropout factors of both passes.

    def test_stops_intercepting_a_model_that_draws_nothing(self):
        seen = []

        def note(x):
            seen.append(getattr(replica_rng._thread, "replica", None) is not None)
            return x

        net = replicas(Calls(note), 2)
        before = torch.get_rng_state()
        for _ in range(replica_rng._MAX_PASSES_WITHOUT_DRAW + 1):
            net(torch.zeros(4, 2))
        self.assertTrue(torch.equal(before, torch.get_rng_state()))
        self.assertEqual([True] * 2 * replica_rng._MAX_PASSES_WITHOUT_DRAW + [False] * 2, seen)

    def test_warns_once_and_intercepts_when_a_model_draws_late(self):
        net = nn.Dropout(0.0)
        model = replicas(net, 2)
        for _ in range(replica_rng._MAX_PASSES_WITHOUT_DRAW + 1):
            model(torch.ones(4, 2))
        net.p = 0.5
        with contextlib.redirect_stderr(io.StringIO()) as output:
            for _ in range(3):
                model(torch.ones(4, 2))
        self.assertEqual(1, output.getvalue().count("is not repeatable"))
        before = torch.get_rng_state()
        first = model(torch.ones(4, 50))
        torch.set_rng_state(before)
        self.assertTrue(torch.equal(first, model(torch.ones(4, 50))))

    def test_supports_replicas_within_replicas(self):
        inner = replicas(nn.Dropout(0.5), 2)
        outer = replicas(Calls(lambda x: inner(x) + nn.functional.dropout(x, 0.5)), 2)
        torch.manual_seed(3)
        first = outer(torch.ones(8, 20))
        torch.manual_seed(3)
        self.assertTrue(torch.equal(first, outer(torch.ones(8, 20))))
        self.assertFalse(torch.equal(first[:4], first[4:]))


def _generator(seed):
    return torch.Generator().manual_seed(seed)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.LSTM(6, 5, 2, batch_first=True)

    def forward(self, x):
        return self.net(x)[0]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x))


class CopiesTest(unittest.TestCase):
    def test_replicates_recurrent_and_tied_weights(self):
        for net in (Recurrent(), Tied()):
            x = torch.randn(9, 3, 6)
            parameters = list(net.parameters())
            net(x).sum().backward()
            expected = [parameter.grad.clone() for parameter in parameters]
            net.zero_grad()
            replicas(net)(x).sum().backward()
            for before, behind, gradient in zip(parameters, net.parameters(), expected):
                self.assertIs(before, behind)
                torch.testing.assert_close(behind.grad, gradient)

    def test_restores_parameters_after_an_error(self):
        def fail(x):
            raise ValueError("no")

        net = nn.Sequential(nn.LSTM(2, 2), Calls(fail))
        with self.assertRaisesRegex(ValueError, "no"):
            replicas(net, 2)(torch.zeros(4, 2))
        self.assertTrue(all(isinstance(p, nn.Parameter) for p in net.parameters()))
        self.assertTrue(all(isinstance(p, nn.Parameter) for p in net[0]._flat_weights))

    def test_sums_gradients_of_a_row_for_all_replicas(self):
        x, row = torch.randn(8, 3), torch.ones(1, 3, requires_grad=True)

        class Net(nn.Module):
            def forward(self, x, row):
                return x * row

        replicas(Net())(x, row).sum().backward()
        torch.testing.assert_close(row.grad, x.sum(0, keepdim=True))

    def test_supports_second_derivatives(self):
        net = nn.Linear(3, 1)
        x = torch.randn(8, 3)

        def penalty(model):
            out = model(x).square().sum()
            [gradient] = torch.autograd.grad(out, [net.weight], create_graph=True)
            net.zero_grad()
            gradient.square().sum().backward()
            return net.weight.grad.clone()

        torch.testing.assert_close(penalty(replicas(net)), penalty(net))


if __name__ == "__main__":
    unittest.main()
