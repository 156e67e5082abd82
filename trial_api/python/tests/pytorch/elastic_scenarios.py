"""Training that is saved between two steps and two reports, and resumes on another number of ranks.

See scenarios.py.
"""

import json
import os
from unittest import mock

import torch
from det import pytorch as dp
from strategy_scenarios import SparseTrial
from trials import NetTrial, run

SLOTS = "DET_SLOTS_OF_RANKS"


class CountingTrial(NetTrial):
    """Reports a mean, and a reducer of every record."""

    training_records = 96  # A multiple of all numbers of ranks.

    def __init__(self, context):
        super().__init__(context)
        self.seen = context.wrap_reducer(sorted, name="seen", for_validation=False)

    def train_batch(self, batch, epoch_idx, batch_idx):
        for number in batch[1].flatten().tolist():
            self.seen.update(round(number, 4))
        return super().train_batch(batch, epoch_idx, batch_idx)


class LinearTrial(CountingTrial):
    """A Trial whose gradients do not depend on its weights, and have any size."""

    def __init__(self, context):
        self.context = context
        self.net = context.wrap_model(torch.nn.Linear(4, 1))
        self.sgd = context.wrap_optimizer(torch.optim.SGD(self.net.parameters(), 0.05))
        self.seen = context.wrap_reducer(sorted, name="seen", for_validation=False)

    def loss(self, batch):
        return torch.mean(self.net(batch[0] ** 3 * torch.tensor([1e-4, 1e-3, 1e-2, 1.0])))


class SparseCountingTrial(CountingTrial):
    """A Trial whose first gradient is sparse: the rows that a batch uses."""

    def __init__(self, context):
        SparseTrial.__init__(self, context)
        self.seen = context.wrap_reducer(sorted, name="seen", for_validation=False)

    loss = SparseTrial.loss


CASES = {
    "net": (CountingTrial, {}),
    "server": (CountingTrial, {"strategy": "parameter_server"}),
    "nodes": (CountingTrial, {}),
    "pipeline": (CountingTrial, {}),
    "sparse": (SparseCountingTrial, {}),
    "bytes": (LinearTrial, {"gradient_compression": "int8"}),
}
# The number of slots of each node, for each number of nodes.
NODES = {1: "[4]", 2: "[1, 3]", 3: "[1, 1, 2]"}


def ranks():
    return torch.distributed.get_world_size() if torch.distributed.is_initialized() else 1


def train_case(name, storage, compress=True, **options):
    """Trains 8 batches: two steps, and one report at the end. `compress` enables optimizations."""
    trial, optimizations = CASES[name]
    slots = NODES.get(ranks()) if name == "nodes" else None
    if slots:
        optimizations = {"strategy": "in_process"}
    elif name == "pipeline" and ranks() == 2:
        optimizations = {"strategy": "pipeline"}
    options = {"max_length": dp.Batch(8), "storage": f"{storage}/{name}", **options}
    with mock.patch.dict(os.environ, {SLOTS: slots} if slots else {}):
        return run(
            trial,
            batch_size=24,
            frequency=4,
            reporting_period=dp.Batch(8),
            optimizations=optimizations if compress else {},
            **options,
        )


def summarize(result):
    return {
        "weights": {name: tensor.tolist() for name, tensor in result.weights.items()},
        "reports": [report for report in result.train.reports if report[0] == "training"],
    }


def saved(storage):
    """Returns the UUID of each case's checkpoint between two steps."""
    return {
        name: train_case(name, storage, checkpoint_period=dp.Batch(6)).uuids[0] for name in CASES
    }


def resumed_case(storage, uuids):
    """Trains from the checkpoint to the next step."""
    results = {
        name: summarize(train_case(name, storage, latest_checkpoint=uuid, compress=name != "bytes"))
        for name, uuid in uuids.items()
    }
    # One more checkpoint between two steps, with gradient compression.
    options = {"max_length": dp.Batch(12), "checkpoint_period": dp.Batch(10)}
    again = train_case("bytes", storage, latest_checkpoint=uuids["bytes"], **options)
    return {**results, "again": again.uuids[0]}


def all_resumed_cases(storage):
    """Resumes from the checkpoints in $SAVED_BY, by the number of ranks that saved them."""
    return {
        size: resumed_case(storage, uuids)
        for size, uuids in json.loads(os.environ["SAVED_BY"]).items()
    }


def uninterrupted(name="net", batches=8):
    """Trains on one rank, without a stop and without rounding."""
    options = {"batch_size": 24, "frequency": 4, "reporting_period": dp.Batch(8)}
    return summarize(run(CASES[name][0], max_length=dp.Batch(batches), **options))


SCENARIOS = {function.__name__: function for function in (saved, all_resumed_cases)}
