"""Scenarios of the exchange of gradients between several ranks; see scenarios.py."""

import contextlib
import io
from unittest import mock

import torch
from det import core
from det import pytorch as dp
from det.pytorch.strategies import hierarchical_allreduce
from det.pytorch.trainer import fit_loop
from strategy_scenarios import ClippedTrial, WideTrial, resumed_strategies, train_exactly
from trials import NetTrial, run

MEGABYTE = 1 << 20


def train_50_batches(cls=NetTrial, distributed=None, **optimizations):
    """Returns the weights after 50 batches."""
    result = run(cls, max_length=dp.Batch(50), optimizations=optimizations, distributed=distributed)
    return {name: tensor.tolist() for name, tensor in result.weights.items()}


class Clock:
    """A clock on which the time of a batch depends on the bucket size only."""

    def __init__(self, models, costs):
        self.models, self.costs, self.seconds = models, costs, 0

    def __call__(self):
        self.seconds += self.costs[self.models[0].bucket_bytes_cap // MEGABYTE]
        return self.seconds


class BucketSizeTrial(NetTrial):
    """A Trial that records bucket sizes, and counts calls of its hooks."""

    def __init__(self, context):
        super().__init__(context)
        self.sizes, self.seen, self.seen_back, self.modes = [], 0, 0, set()
        self.net.register_forward_hook(self.count_forward_pass)
        self.net.register_full_backward_hook(self.count_backward_pass)

    def count_forward_pass(self, *_):
        self.seen += self.net.training

    def count_backward_pass(self, *_):
        self.seen_back += 1

    def train_batch(self, batch, epoch_idx, batch_idx):
        self.sizes.append(self.net.bucket_bytes_cap / MEGABYTE)
        self.modes.add(self.net.training)
        return super().train_batch(batch, epoch_idx, batch_idx)


def _tuned(costs, **optimizations):
    real = fit_loop.BucketSizeTuner

    def tuning(models, ranks):
        return real(models, ranks, Clock(models, costs))

    options = dict(optimizations, auto_tune_tensor_fusion=True)
    with mock.patch.object(fit_loop, "BucketSizeTuner", tuning):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            result = run(BucketSizeTrial, max_length=dp.Batch(50), optimizations=options)
    lines = [line for line in output.getvalue().splitlines() if "tensor_fusion" in line]
    return {
        "weights": {name: tensor.tolist() for name, tensor in result.weights.items()},
        "sizes": result.trial.sizes,
        "seen": [result.trial.seen, result.trial.seen_back],
        "modes": list(result.trial.modes),
        "message": lines,
    }


def fusion(_storage=None):
    """Tunes bucket sizes with clocks that prefer different sizes on the two ranks."""
    chief = not torch.distributed.get_rank()
    costs = {1: 4, 4: 3, 16: 1, 64: 2} if chief else {1: 1, 4: 2, 16: 3, 64: 4}
    return {
        "plain": {"weights": train_50_batches()},
        "tuned": _tuned(costs),
        "float16": {"weights": train_50_batches(gradient_compression="float16")},
        "tuned_float16": _tuned(costs, gradient_compression="float16"),
    }


def on_this_machine():
    """Returns a context on the loopback interface, regardless of the simulated nodes."""
    group = torch.distributed
    return core.DistributedContext(rank=group.get_rank(), size=group.get_world_size())


@contextlib.contextmanager
def record_group_sizes():
    """Records the sizes of the process groups that this rank's collectives use, by operation."""
    results = {}

    def wrap(name):
        real = getattr(torch.distributed, name)

        def count(tensor, *arguments, **options):
            results.setdefault(name, set()).add(torch.distributed.get_world_size(options["group"]))
            return real(tensor, *arguments, **options)

        return mock.patch.object(hierarchical_allreduce.dist, name, count)

    real = hierarchical_allreduce.NodeGroups.sum

    def sum_(nodes, numbers):
        with wrap("reduce"), wrap("all_reduce"), wrap("broadcast"):
            real(nodes, numbers)

    with mock.patch.object(hierarchical_allreduce.NodeGroups, "sum", sum_):
        yield results


def hierarchical(_storage=None):
    """Returns the weights and the collectives of each case."""
    results = {}
    for name, options in (
        ("plain", {}),
        ("sums", {"hierarchical_allreduce": True}),
        ("tuned", {"hierarchical_allreduce": True, "auto_tune_tensor_fusion": True}),
        ("float16", {"hierarchical_allreduce": True, "gradient_compression": "float16"}),
    ):
        with record_group_sizes() as exchanged:
            weights = train_50_batches(distributed=on_this_machine(), **options)
        results[name] = {
            "weights": weights,
            "exchanged": {name: sorted(sizes) for name, sizes in exchanged.items()},
        }
    return results


def hierarchical_train_exactly(_storage=None):
    options = {"hierarchical_allreduce": True}
    cases = {"plain": options, "sharded": {**options, "shard_optimizer": True}}
    return train_exactly(cases=cases, distributed=on_this_machine)


class TwoModels(NetTrial):
    """A Trial with two models and one backward pass."""

    def __init__(self, context):
        self.context = context
        deep = [layer for _ in range(4) for layer in (torch.nn.Linear(4, 4), torch.nn.Tanh())]
        self.first = context.wrap_model(torch.nn.Sequential(*deep))
        self.net = context.wrap_model(torch.nn.Sequential(torch.nn.Linear(4, 4)))
        parameters = [*self.first.parameters(), *self.net.parameters()]
        self.sgd = context.wrap_optimizer(torch.optim.SGD(parameters, 0.05))

    def loss(self, batch):
        out = self.first(batch[0]) + self.net(batch[0])
        return torch.mean((out.sum(1, keepdim=True) - batch[1]) ** 2)


def two_models(_storage=None):
    return train_50_batches(TwoModels, distributed=on_this_machine(), hierarchical_allreduce=True)


def clipped(_storage=None):
    distributed = on_this_machine()
    return train_50_batches(ClippedTrial, distributed=distributed, hierarchical_allreduce=True)


def resumed_hierarchical(storage):
    cases = {"plain": (WideTrial, {"hierarchical_allreduce": True})}
    return resumed_strategies(storage, cases, on_this_machine)


SCENARIOS = {
    function.__name__: function
    for function in (
        fusion,
        hierarchical,
        hierarchical_train_exactly,
        two_models,
        clipped,
        resumed_hierarchical,
    )
}
