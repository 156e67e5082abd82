"""Scenarios for the stages of a pipeline; see scenarios.py."""

import torch
from det import pytorch as dp
from strategy_scenarios import ClippedTrial
from torch import nn
from trials import NetTrial, NoisyTrial, run

PIPELINE = {"strategy": "pipeline", "pipeline_micro_batches": 3}


def summarize_stage(result):
    """Returns the weights of a stage, and what was reported."""
    return {
        "weights": {name: tensor.tolist() for name, tensor in result.weights.items()},
        "reports": result.train.reports,
        "steps": result.steps,
        "uuid": result.last_uuid,
        "state": sum(len(o.state) for o in result.trial.context.optimizers),
        "acknowledged": result.preempt.acknowledged,
    }


def train_50_batches(cls=NetTrial, **options):
    periods = {"validation_period": dp.Batch(25), "reporting_period": dp.Batch(10)}
    return summarize_stage(run(cls, **{"max_length": dp.Batch(50), **periods, **options}))


class DeepTrial(NetTrial):
    """A Trial with parameter groups of different learning rates, Adam, and clipping by norm.

    The number of records is a multiple of three slots.
    """

    training_records = 90

    def __init__(self, context):
        self.context = context
        layers = []
        for _ in range(3):
            layers += [nn.Linear(4, 4), nn.LayerNorm(4), nn.Tanh()]
        self.net = context.wrap_model(nn.Sequential(*layers, nn.Linear(4, 1)))
        weights = [p for name, p in self.net.named_parameters() if name.endswith("weight")]
        biases = [p for name, p in self.net.named_parameters() if name.endswith("bias")]
        groups = [{"params": weights}, {"params": biases, "lr": 0.02}]
        self.sgd = context.wrap_optimizer(torch.optim.Adam(groups, 0.01))

    train_batch = ClippedTrial.train_batch


class CountingTrial(NetTrial):
    """A Trial that records batches and what reducers get."""

    def __init__(self, context):
        super().__init__(context)
        self.seen = context.wrap_reducer(sum, name="seen")

    def train_batch(self, batch, epoch_idx, batch_idx):
        self.seen.update(len(batch[0]))
        return super().train_batch(batch, epoch_idx, batch_idx)

    def evaluate_batch(self, batch, batch_idx):
        self.seen.update(len(batch[0]))
        return {}


class FullTrial(NetTrial):
    evaluate_batch = dp.PyTorchTrial.evaluate_batch

    def evaluate_full_dataset(self, data_loader):
        with_model = [self.loss(batch) * len(batch[0]) for batch in data_loader]
        return {"error": sum(with_model).item() / self.validation_records}


class DrawsTrial(NoisyTrial):
    """A Trial with dropout within a stage, and noise that is drawn outside of it."""


def pipelines(_storage=None):
    """Returns the results of each case on this rank."""
    outcomes = {"net": train_50_batches(optimizations=PIPELINE)}
    outcomes["clipped"] = train_50_batches(ClippedTrial, optimizations=PIPELINE)
    one_micro_batch = {"strategy": "pipeline", "pipeline_micro_batches": 1}
    outcomes["one_micro_batch"] = train_50_batches(optimizations=one_micro_batch)
    outcomes["aggregated"] = train_50_batches(frequency=2, batch_size=8, optimizations=PIPELINE)
    outcomes["full"] = train_50_batches(FullTrial, max_length=dp.Batch(3), optimizations=PIPELINE)
    outcomes["counted"] = train_50_batches(
        CountingTrial, max_length=dp.Batch(10), optimizations=PIPELINE
    )
    outcomes["in_place"] = train_50_batches(InPlaceTrial, optimizations=PIPELINE)
    half = dict(PIPELINE, mixed_precision="bfloat16")
    outcomes["half"] = train_50_batches(optimizations=half)
    return outcomes


def deep(**options):
    return train_50_batches(DeepTrial, batch_size=18, **options)


def deep_pipelines(storage):
    outcomes = {"deep": deep(optimizations=PIPELINE)}
    first = {"storage": storage + "/deep", "preempt_at": 20}
    outcomes["preempted"] = deep(optimizations=PIPELINE, **first)
    last = {"storage": storage + "/deep", "latest_checkpoint": outcomes["preempted"]["uuid"]}
    outcomes["resumed"] = deep(optimizations=PIPELINE, **last)
    # Runs that are saved with stages and resumed without, and the other way round.
    outcomes["resumed_without_stages"] = deep(**last)
    uninterrupted = deep(storage=storage + "/whole", preempt_at=20)
    last = {"storage": storage + "/whole", "latest_checkpoint": uninterrupted["uuid"]}
    outcomes["resumed_with_stages"] = deep(optimizations=PIPELINE, **last)
    return outcomes


def noisy_pipelines(storage):
    """Runs without a stop, and with one between two aggregated batches."""
    options = {"frequency": 2, "batch_size": 8, "optimizations": PIPELINE}
    uninterrupted = train_50_batches(DrawsTrial, **options)
    first = train_50_batches(DrawsTrial, storage=storage + "/noisy", preempt_at=8, **options)
    last = {"storage": storage + "/noisy", "latest_checkpoint": first["uuid"]}
    return {
        "uninterrupted": uninterrupted,
        "first": first,
        "resumed": train_50_batches(DrawsTrial, **last, **options),
    }


class InPlaceTrial(NetTrial):
    """A Trial whose second stage begins with an in-place operation."""

    def __init__(self, context):
        self.context = context
        layers = [nn.Linear(4, 8), nn.ReLU(inplace=True), nn.Linear(8, 1)]
        self.net = context.wrap_model(nn.Sequential(*layers))
        self.sgd = context.wrap_optimizer(self.optimizer(self.net.parameters()))


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 1)

    def forward(self, x):
        return self.inner(x)


class Pair(nn.Linear):
    def forward(self, x):
        return super().forward(x), None


def _trial(make, parameters=None):
    class Trial(NetTrial):
        def __init__(self, context):
            self.context = context
            net = make()
            self.net = context.wrap_model(net)
            given = (net if parameters == "unwrapped" else self.net).parameters()
            self.sgd = context.wrap_optimizer(self.optimizer(given))
            if parameters == "scaler":
                context.wrap_scaler(object())

    return Trial


def refused_pipelines(_storage=None):
    """Returns the error messages by mistake."""
    shared = nn.Linear(4, 4)
    layers = lambda: nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))  # noqa: E731
    cases = {
        "not_sequential": _trial(Wide),
        "too_few": _trial(lambda: nn.Sequential(nn.Linear(4, 1), nn.Tanh())),
        "shared": _trial(lambda: nn.Sequential(shared, nn.Tanh(), shared)),
        "unwrapped": _trial(layers, "unwrapped"),
        "scaler": _trial(layers, "scaler"),
    }
    outcomes = {}
    for name, cls in cases.items():
        try:
            run(cls, optimizations=PIPELINE)
        except (ValueError, RuntimeError) as error:
            outcomes[name] = str(error)
    return outcomes


SCENARIOS = {
    function.__name__: function
    for function in (pipelines, deep_pipelines, noisy_pipelines, refused_pipelines)
}
