"""Scenarios for two ranks with each strategy; see scenarios.py."""

import hashlib

import torch
from det import pytorch as dp
from trials import NetTrial, NoisyTrial, records, run


def _summarize(result):
    reports = [metrics["loss"] for group, _, metrics in result.train.reports if group == "training"]
    return {
        "weights": {name: tensor.tolist() for name, tensor in result.weights.items()},
        "losses": reports,
        "uuid": result.last_uuid,
        "state": sum(len(o.state) for o in result.trial.context.optimizers),
    }


def _train_50_batches(cls=NetTrial, **optimizations):
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
    """Returns the results of this rank in each case, after one batch and after several."""
    outcomes = {}
    for name in ("parameter_server", "local_sgd", "async"):
        options = {"optimizations": {"strategy": name, "local_sgd_steps": 2}}
        outcomes[name] = [
            _summarize(run(HeadsTrial, max_length=dp.Batch(length), **options)) for length in (1, 7)
        ]
    return outcomes


def strategies(_storage=None):
    """Returns the results of the same 50 batches in each case."""
    return {
        "allreduce": _summarize(_train_50_batches()),
        "every_step": _summarize(_train_50_batches(strategy="local_sgd", local_sgd_steps=1)),
        "local_sgd": _summarize(_train_50_batches(strategy="local_sgd", local_sgd_steps=4)),
        "async": _summarize(_train_50_batches(strategy="async", local_sgd_steps=2)),
        "async_again": _summarize(_train_50_batches(strategy="async", local_sgd_steps=2)),
        "parameter_server": _summarize(_train_50_batches(strategy="parameter_server")),
        "clipped": _summarize(_train_50_batches(ClippedTrial)),
        "parameter_server_clipped": _summarize(
            _train_50_batches(ClippedTrial, strategy="parameter_server")
        ),
        "adam": _summarize(_train_50_batches(AdamTrial)),
        "bfloat16": _summarize(_train_50_batches(mixed_precision="bfloat16")),
        "sharded": _summarize(_train_50_batches(AdamTrial, shard_optimizer=True)),
    }


class ClippedAdamTrial(AdamTrial):
    """A Trial with clipping, and with records in a fixed order for every batch size."""

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


# The strategies that train to the weights of one rank with the same global batch.
EXACT_STRATEGIES = {
    "allreduce": {},
    "sharded": {"shard_optimizer": True},
    "parameter_server": {"strategy": "parameter_server"},
    "small_buckets": {"tensor_fusion_threshold": 1},
}


def train_exactly(_storage=None, cases=EXACT_STRATEGIES, distributed=lambda: None):
    """Returns the weights after 50 steps in each case, by the aggregation frequency."""
    return {
        name: {
            frequency: _summarize(
                run(
                    ClippedAdamTrial,
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
    """A model with several buckets, whose layers are not in the order of computation."""

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


class NoneGradientsTrial(WideTrial):
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
    "removed": (NoneGradientsTrial, {}),
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
        uninterrupted = run(trial, distributed=distributed(), **options)
        options.update(storage=folder)
        first = run(trial, distributed=distributed(), preempt_at=8, **options)
        options.update(latest_checkpoint=first.last_uuid)
        second = run(trial, distributed=distributed(), **options)
        outcomes[name] = {
            "uninterrupted": _digest(uninterrupted),
            "resumed": _digest(second),
            "state": _summarize(second)["state"],
            "trained": uninterrupted.steps - first.steps,
        }
    return outcomes


def _digest(result):
    """Returns a hash of all weights."""
    return {
        name: hashlib.sha256(tensor.numpy().tobytes()).hexdigest()
        for name, tensor in result.weights.items()
    }


class StateCallbackTrial(AdamTrial):
    """A Trial with a callback that counts the parameters whose optimizer state is saved."""

    def build_callbacks(self):
        self.state_counter = StateCounter()
        return {"state_counter": self.state_counter}


class StateCounter(dp.PyTorchCallback):
    def __init__(self):
        self.states = []

    def on_checkpoint_save_start(self, checkpoint):
        self.states = [len(optimizer["state"]) for optimizer in checkpoint["optimizers_state_dict"]]


SAVED = {
    "plain": (AdamTrial, {}),
    "sharded": (AdamTrial, {"shard_optimizer": True}),
    "local_sgd": (AdamTrial, {"strategy": "local_sgd", "local_sgd_steps": 1}),
    "with_callback": (StateCallbackTrial, {}),
    "with_callback_sharded": (StateCallbackTrial, {"shard_optimizer": True}),
}


def save_on_two_ranks(storage):
    """Saves checkpoints from which one rank resumes."""
    outcomes = {}
    for name, (trial, optimizations) in SAVED.items():
        options = {"storage": f"{storage}/elastic-{name}", "max_length": dp.Batch(30)}
        result = run(trial, preempt_at=10, optimizations=optimizations, **options)
        outcomes[name] = _summarize(result)
        outcomes[name]["callback_states"] = getattr(
            result.trial, "state_counter", StateCounter()
        ).states
    return outcomes


def resume_on_one_rank(storage, name, uuid):
    options = {"storage": f"{storage}/elastic-{name}", "latest_checkpoint": uuid}
    return _summarize(run(AdamTrial, max_length=dp.Batch(30), **options))


def adam_uninterrupted():
    return _summarize(run(AdamTrial, max_length=dp.Batch(30)))
