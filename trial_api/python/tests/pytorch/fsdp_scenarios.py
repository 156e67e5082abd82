"""Scenarios for two ranks with a stand-in for FullyShardedDataParallel; see scenarios.py."""

from unittest import mock

import fake_fsdp
import torch
from det import pytorch as dp
from det.pytorch.strategies import factory
from strategy_scenarios import AdamTrial
from trials import run

FSDP = {"strategy": "fsdp"}


class GroupsTrial(AdamTrial):
    """A Trial with two parameter groups, in another order than the model's."""

    validation_records = 33  # Not a multiple of two.

    @staticmethod
    def optimizer(parameters):
        first, second, *others = parameters
        groups = [{"params": others}, {"params": [second, first], "lr": 0.02}]
        return torch.optim.Adam(groups, 0.01)


class FullTrial(GroupsTrial):
    evaluate_batch = dp.PyTorchTrial.evaluate_batch

    def evaluate_full_dataset(self, data_loader):
        return {"error": sum(self.loss(batch).item() for batch in data_loader)}


class TwoModels(GroupsTrial):
    def __init__(self, context):
        self.context = context
        nets = [context.wrap_model(torch.nn.Linear(4, 1)) for _ in range(2)]
        context.wrap_optimizer(torch.optim.SGD([p for n in nets for p in n.parameters()], 0.1))


def train_50_batches(cls=GroupsTrial, **options):
    fake_fsdp.calls.clear()
    with mock.patch.object(factory, "import_fsdp", lambda device: fake_fsdp):
        result = run(cls, max_length=dp.Batch(50), validation_period=dp.Batch(25), **options)
    return {
        "weights": {
            name.replace(fake_fsdp.PREFIX, ""): tensor.tolist()
            for name, tensor in result.weights.items()
        },
        "errors": result.train.get_metrics("validation", "error"),
        "uuid": result.last_uuid,
        "steps": result.steps,
        "calls": list(fake_fsdp.calls),
    }


def fsdp(storage):
    results = {"uninterrupted": train_50_batches(optimizations=FSDP)}
    results["full"] = train_50_batches(FullTrial, optimizations=FSDP)
    first = train_50_batches(storage=storage + "/fsdp", preempt_at=20, optimizations=FSDP)
    results["first"] = first
    last = {"storage": storage + "/fsdp", "latest_checkpoint": first["uuid"]}
    results["resumed"] = train_50_batches(optimizations=FSDP, **last)
    results["resumed_by_allreduce"] = train_50_batches(**last)
    other = train_50_batches(storage=storage + "/other", preempt_at=20)
    last = {"storage": storage + "/other", "latest_checkpoint": other["uuid"]}
    results["resumed_from_allreduce"] = train_50_batches(optimizations=FSDP, **last)
    # Between two aggregated batches gradients are lost, and training continues.
    options = {"storage": storage + "/middle", "frequency": 2, "optimizations": FSDP}
    first = train_50_batches(preempt_at=7, **options)
    results["middle"] = train_50_batches(latest_checkpoint=first["uuid"], **options)
    try:
        train_50_batches(TwoModels, optimizations=FSDP)
    except ValueError as error:
        results["two_models"] = str(error)
    try:
        run(GroupsTrial, optimizations=FSDP)
    except ValueError as error:
        results["unsupported_torch"] = str(error)
    return results


def fsdp_without_older_names(storage):
    options = {"storage": storage + "/newest", "optimizations": FSDP}
    newest = fake_fsdp.WithoutOlderNames
    with mock.patch.object(fake_fsdp, "FullyShardedDataParallel", newest):
        first = train_50_batches(preempt_at=20, **options)
        return {
            "first": first,
            "resumed": train_50_batches(latest_checkpoint=first["uuid"], **options),
        }


SCENARIOS = {"fsdp": fsdp, "fsdp_without_older_names": fsdp_without_older_names}
