"""Scenarios for two ranks with each strategy; see scenarios.py."""

import hashlib

import torch
from det import pytorch as dp
from trials import NetTrial, NoisyTrial, records, run


def _of(result):
    reports = [metrics["loss"] for group, _, metrics in result.train.reports if group == "training"]
    return {
        "weights": {name: tensor.tolist() for name, tensor in result.weights.items()},
        "losses": reports,
        "uuid": result.last_uuid,
        "state": sum(len(o.state) for o in result.trial.context.optimizers),
    }


def _fifty(cls=NetTrial, **optimizations):
    periods = {"validation_period": dp.Batch(25), "reporting_period": dp.Batch(10)}
    return run(cls, max_length=dp.Batch(50), optimizations=optimizations, **periods)


class AdamTrial(NetTrial):
    optimizer = staticmethod(lambda p: torch.optim.Adam(p, 0.01))


class ClippedTrial(NetTrial):
    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = self.loss(batch)
        self.context.backward(loss)
        clip = lambda parameters: torch.nn.utils.clip_grad_norm_(parameters, 0.1)  # noqa: E731
        self.context.step_optimizer(self.sgd, clip_grads=clip)
        return {"loss": loss}


class HeadsTrial(NetTrial):
    """A Trial with a different head on each rank, and a moving average without gradient."""

    def __init__(self, context):
        self.context = context
        heads = {"left": torch.nn.Linear(4, 1), "right": torch.nn.Linear(4, 1)}
        net = torch.nn.ModuleDict(heads)
        net.register_parameter("mean", torch.nn.Parameter(torch.zeros(4), requires_grad=False))
        self.net = context.wrap_model(net)
        self.sgd = context.wrap_optimizer(torch.optim.Adam(net.parameters(), 0.01))

    def loss(self, batch):
        head = self.net["right" if self.context.distributed.rank else "left"]
        return torch.mean((head(batch[0]) - batch[1]) ** 2)

    def train_batch(self, batch, epoch_idx, batch_idx):
        self.net.mean.data.lerp_(batch[0].mean(0), 0.1)
        return super().train_batch(batch, epoch_idx, batch_idx)


def heads(_storage=None):
    """Returns how the ranks differ in each case, after one batch and after several."""
    outcomes = {}
    for name in ("parameter_server", "local_sgd", "async"):
        options = {"optimizations": {"strategy": name, "local_sgd_steps": 2}}
        outcomes[name] = [
            _of(run(HeadsTrial, max_length=dp.Batch(length), **options)) for length in (1, 7)
        ]
    return outcomes


def strategies(_storage=None):
    """Returns the results of the same 50 batches in each case."""
    return {
        "allreduce": _of(_fifty()),
        "every_step": _of(_fifty(strategy="local_sgd", local_sgd_steps=1)),
        "local_sgd": _of(_fifty(strategy="local_sgd", local_sgd_steps=4)),
        "async": _of(_fifty(strategy="async", local_sgd_steps=2)),
        "async_again": _of(_fifty(strategy="async", local_sgd_steps=2)),
        "parameter_server": _of(_fifty(strategy="parameter_server")),
        "clipped": _of(_fifty(ClippedTrial)),
        "parameter_server_clipped": _of(_fifty(ClippedTrial, strategy="parameter_server")),
        "adam": _of(_fifty(AdamTrial)),
        "bfloat16": _of(_fifty(mixed_precision="bfloat16")),
        "sharded": _of(_fifty(AdamTrial, shard_optimizer=True)),
    }


class PromisedTrial(AdamTrial):
    """A Trial with clipping, whose batches in order make up larger ones."""

    training_records = 96

    def build_training_data_loader(self):
        dataset = torch.utils.data.TensorDataset(*records(self.training_records))
        return dp.DataLoader(dataset, self.context.get_per_slot_batch_size())

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = self.loss(batch)
        self.context.backward(loss)
        clip = lambda parameters: torch.nn.utils.clip_grad_norm_(parameters, 0.05)  # noqa: E731
        self.context.step_optimizer(self.sgd, clip_grads=clip)
        return {"loss": loss}


# The strategies whose result is that of one rank with the same global batch.
PROMISED = {
    "allreduce": {},
    "sharded": {"shard_optimizer": True},
    "parameter_server": {"strategy": "parameter_server"},
    "small_buckets": {"tensor_fusion_threshold": 1},
}


def promised(_storage=None, cases=PROMISED, distributed=lambda: None):
    """Returns the weights after 50 steps of one batch, or of two that are aggregated, in each case."""
    return {
        name: {
            frequency: _of(
                run(
                    PromisedTrial,
                    batch_size=24 // frequency,
                    frequency=frequency,
                    max_length=dp.Batch(50 * frequency),
                    optimizations=optimizations,
                    distributed=distributed(),
                )
            )["weights"]
            for frequency in (1, 2)
        }
        for name, optimizations in cases.items()
    }


class Wide(torch.nn.Module):
    """A Trial with several buckets, whose layers are not in the order of computation."""

    def __init__(self):
        super().__init__()
        self.last = torch.nn.Linear(60000, 1)
        self.first = torch.nn.Linear(4, 60000)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))


class WideTrial(NetTrial):
    def __init__(self, context):
        self.context = context
        self.net = context.wrap_model(Wide())
        self.sgd = context.wrap_optimizer(torch.optim.SGD(self.net.parameters(), 1e-5))


class RemovingTrial(WideTrial):
    """A Trial that sets gradients to None."""

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = self.loss(batch)
        self.context.backward(loss)
        self.context.step_optimizer(self.sgd, auto_zero_grads=False)
        if self.context.steps_now:
            self.sgd.zero_grad(set_to_none=True)
        return {"loss": loss}


class SparseTrial(NetTrial):
    """A Trial whose first gradient is sparse: the rows that a batch uses."""

    def __init__(self, context):
        self.context = context
        layers = [
            torch.nn.Embedding(10, 4, sparse=True),
            torch.nn.Flatten(),
            torch.nn.Linear(16, 1),
        ]
        self.net = context.wrap_model(torch.nn.Sequential(*layers))
        self.sgd = context.wrap_optimizer(torch.optim.SGD(self.net.parameters(), 0.05))

    def loss(self, batch):
        rows = (batch[0].abs() * 4).long().clamp(max=9)
        return torch.mean((self.net(rows) - batch[1]) ** 2)


# Three optimizer steps between two averages, so a stop after the fourth is between two averages.
RESUMED = {
    "allreduce": (NoisyTrial, {}),
    "wide": (WideTrial, {}),
    "removed": (RemovingTrial, {}),
    "sparse": (SparseTrial, {}),
    "bytes": (WideTrial, {"gradient_compression": "int8"}),
    "local_sgd": (NoisyTrial, {"strategy": "local_sgd", "local_sgd_steps": 2}),
    "local_sgd_between": (NoisyTrial, {"strategy": "local_sgd", "local_sgd_steps": 3}),
    "async": (NoisyTrial, {"strategy": "async", "local_sgd_steps": 2}),
    "async_between": (NoisyTrial, {"strategy": "async", "local_sgd_steps": 3}),
    "parameter_server": (NoisyTrial, {"strategy": "parameter_server"}),
    "sharded": (NoisyTrial, {"shard_optimizer": True}),
}


def resumed_strategies(storage, cases=RESUMED, distributed=lambda: None):
    """Stops and resumes each case, and runs it without a stop.

    A step has two batches, so a stop that is one batch late is between two steps.
    """
    outcomes = {}
    for name, (trial, optimizations) in cases.items():
        folder = f"{storage}/{name}"
        options = {"max_length": dp.Batch(20), "frequency": 2, "batch_size": 24}
        options.update(optimizations=optimizations)
        whole = run(trial, distributed=distributed(), **options)
        options.update(storage=folder)
        first = run(trial, distributed=distributed(), preempt_at=8, **options)
        options.update(latest_checkpoint=first.last_uuid)
        second = run(trial, distributed=distributed(), **options)
        outcomes[name] = {
            "whole": _digest(whole),
            "resumed": _digest(second),
            "state": _of(second)["state"],
            "trained": whole.steps - first.steps,
        }
    return outcomes


def _digest(result):
    """Returns a hash of all weights."""
    return {
        name: hashlib.sha256(tensor.numpy().tobytes()).hexdigest()
        for name, tensor in result.weights.items()
    }


class ShownTrial(AdamTrial):
    """A Trial with a callback that counts the state that is saved."""

    def build_callbacks(self):
        self.shown = Shown()
        return {"shown": self.shown}


class Shown(dp.PyTorchCallback):
    def __init__(self):
        self.states = []

    def on_checkpoint_save_start(self, checkpoint):
        self.states = [len(optimizer["state"]) for optimizer in checkpoint["optimizers_state_dict"]]


SAVED = {
    "plain": (AdamTrial, {}),
    "sharded": (AdamTrial, {"shard_optimizer": True}),
    "local_sgd": (AdamTrial, {"strategy": "local_sgd", "local_sgd_steps": 1}),
    "shown": (ShownTrial, {}),
    "shown_sharded": (ShownTrial, {"shard_optimizer": True}),
}


def saved_by_two(storage):
    """Saves checkpoints from which one rank resumes."""
    outcomes = {}
    for name, (trial, optimizations) in SAVED.items():
        options = {"storage": f"{storage}/elastic-{name}", "max_length": dp.Batch(30)}
        result = run(trial, preempt_at=10, optimizations=optimizations, **options)
        outcomes[name] = _of(result)
        outcomes[name]["shown"] = getattr(result.trial, "shown", Shown()).states
    return outcomes


def ended_by_one(storage, name, uuid):
    options = {"storage": f"{storage}/elastic-{name}", "latest_checkpoint": uuid}
    return _of(run(AdamTrial, max_length=dp.Batch(30), **options))


def adam_whole():
    return _of(run(AdamTrial, max_length=dp.Batch(30)))
