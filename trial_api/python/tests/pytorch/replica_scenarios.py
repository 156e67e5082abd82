"""Scenarios for nodes with one process each; see scenarios.py."""

import os
from unittest import mock

import torch
from det import pytorch as dp
from strategy_scenarios import ClippedTrial
from trials import NetTrial, run

SLOTS = "DET_SLOTS_OF_RANKS"
__all__ = ["ClippedTrial", "SLOTS", "train_50_batches", "replicas"]


def train_50_batches(cls=NetTrial, slots=None, mixed_precision="O0", **options):
    """Trains 50 batches; with the strategy in_process if `slots`, the slots of each rank, is set."""
    options = {"max_length": dp.Batch(50), "reporting_period": dp.Batch(10), **options}
    strategy = "in_process" if slots else "allreduce"
    optimizations = {"strategy": strategy, "mixed_precision": mixed_precision}
    with mock.patch.dict(os.environ, {SLOTS: str(slots)} if slots else {}):
        result = run(cls, validation_period=dp.Batch(25), optimizations=optimizations, **options)
    return {
        "weights": {name: tensor.tolist() for name, tensor in result.weights.items()},
        "reports": result.train.reports,
        "sizes": getattr(result.trial, "sizes", None),
        "steps": result.steps,
        "storage": result.storage,
        "uuid": result.last_uuid,
    }


class WholeBatches(NetTrial):
    """A Trial whose number of records is a multiple of all numbers of slots."""

    training_records = 96


class Recurrent(torch.nn.Module):
    """A model whose weights are used several times in a batch."""

    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(1, 6)
        self.layer = torch.nn.LSTM(1, 6, batch_first=True)
        self.last = torch.nn.Linear(6, 1)

    def forward(self, x):
        state = torch.zeros(len(x), 6)
        for column in x.unbind(1):
            state = self.cell(column[:, None], state)
        _, (last, _) = self.layer(x[:, :, None])
        return self.last(state) + self.last(last[0])


class RecurrentTrial(NetTrial):
    def __init__(self, context):
        self.context = context
        self.net = context.wrap_model(Recurrent())
        self.sgd = context.wrap_optimizer(self.optimizer(self.net.parameters()))


class Compressed(NetTrial):
    def __init__(self, context):
        super().__init__(context)
        context.wrap_optimizer(self.sgd, fp16_compression=True)


def replicas(_storage=None):
    results = {
        "even": train_50_batches(WholeBatches, slots=[2, 2], batch_size=24),
        "uneven": train_50_batches(WholeBatches, slots=[1, 2], batch_size=24),
    }
    try:
        train_50_batches(Compressed, slots=[1, 2], batch_size=24)
    except ValueError as error:
        results["compressed"] = str(error)
    try:
        run(NetTrial, optimizations={"strategy": "in_process"})
    except ValueError as error:
        results["without_slots"] = str(error)
    return results


SCENARIOS = {"replicas": replicas}
