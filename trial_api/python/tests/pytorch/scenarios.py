"""Scenarios for two ranks. The program runs them as one rank; each function returns JSON.

Usage: scenarios.py STORAGE OUTPUT NAME...
"""

import gc
import json
import os
import sys

import batch_process_scenarios
import deepspeed_scenarios
import elastic_scenarios
import fsdp_scenarios
import gradient_scenarios
import pipeline_scenarios
import replica_scenarios
import strategy_scenarios
import torch
from det import pytorch as dp
from torch.utils.data import IterableDataset
from trials import NetTrial, NoisyTrial, Run, records, run


def summarize(result: Run):
    return {
        "weights": {name: tensor.tolist() for name, tensor in result.weights.items()},
        "reports": result.train.reports,
        "steps": result.steps,
        "uuid": result.last_uuid,
    }


def fifty_steps(_storage=None):
    periods = {"validation_period": dp.Epoch(2), "reporting_period": dp.Batch(10)}
    return summarize(run(NetTrial, max_length=dp.Batch(50), **periods))


def compressed(_storage=None):
    """Returns the weights by compression format."""
    results = {}
    for form in ("float16", "int8", "bfloat16"):
        options = {"gradient_compression": form, "tensor_fusion_threshold": 1}
        results[form] = summarize(run(NetTrial, max_length=dp.Batch(50), optimizations=options))
    return results


class _Stream(IterableDataset):
    def __iter__(self):
        return iter(list(zip(*records(100))))


class StreamTrial(NetTrial):
    def build_training_data_loader(self):
        return dp.DataLoader(_Stream(), self.context.get_per_slot_batch_size())


def stream(_storage=None):
    return summarize(run(StreamTrial, max_length=dp.Epoch(3)))


class _Batches:
    """A data set of `count` batches, without a length."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter([records(8, seed=i) for i in range(self.count)])


class UnevenBatchesTrial(NetTrial):
    """Batches that differ between the ranks, also in number."""

    known = True

    def build_training_data_loader(self):
        self.context.experimental.disable_dataset_reproducibility_checks()
        batches = _Batches(5 + 2 * self.context.distributed.rank)
        return list(batches) if self.known else batches


class UnknownLengthTrial(UnevenBatchesTrial):
    known = False


def uneven(_storage):
    try:
        run(UnevenBatchesTrial)
    except ValueError as error:
        return str(error)
    return ""


def uneven_and_unknown(_storage):
    return summarize(run(UnknownLengthTrial, max_length=dp.Epoch(2)))


# One rank saves after 10 batches, two ranks resume until 20, and one rank ends at 30.


def save_on_one_rank(storage):
    uuid = run(NetTrial, storage=storage + "/elastic", preempt_at=10).last_uuid
    with open(storage + "/uuid", "w", encoding="utf-8") as file:
        file.write(uuid)
    return uuid


def elastic(storage):
    with open(storage + "/uuid", encoding="utf-8") as file:
        uuid = file.read()
    options = {"storage": storage + "/elastic", "latest_checkpoint": uuid}
    return summarize(run(NetTrial, max_length=dp.Batch(20), **options))


def resume_on_one_rank(storage, uuid):
    options = {"storage": storage + "/elastic", "latest_checkpoint": uuid}
    return summarize(run(NetTrial, max_length=dp.Batch(30), **options))


def elastic_uninterrupted():
    return summarize(run(NetTrial, max_length=dp.Batch(30)))


class LossRecordingTrial(NoisyTrial):
    """A Trial that records its losses and a random number at the end."""

    def __init__(self, context):
        super().__init__(context)
        self.losses = []

    def train_batch(self, batch, epoch_idx, batch_idx):
        metrics = super().train_batch(batch, epoch_idx, batch_idx)
        self.losses.append(metrics["loss"].item())
        return metrics


def resumed(storage, **more):
    storage += "/resumed"
    options = dict(max_length=dp.Batch(30), frequency=2, reporting_period=dp.Batch(4), **more)
    uninterrupted = run(LossRecordingTrial, **options)
    drawn = torch.rand(()).item()
    first = run(LossRecordingTrial, storage=storage, preempt_at=8, **options)
    uuid = first.last_uuid
    second = run(LossRecordingTrial, storage=storage, latest_checkpoint=uuid, **options)
    return {
        "uninterrupted": uninterrupted.trial.losses,
        "first": first.trial.losses,
        "second": second.trial.losses,
        "uninterrupted_weights": summarize(uninterrupted)["weights"],
        "weights": summarize(second)["weights"],
        "drawn": drawn,
    }


def resumed_in_bytes(storage):
    return resumed(storage + "/bytes", optimizations={"gradient_compression": "int8"})


def preempted(_storage):
    result = run(NetTrial, preempt_at=7)
    return {"steps": result.steps, "acknowledged": result.preempt.acknowledged}


class StopOnSecondRankTrial(NetTrial):
    def train_batch(self, batch, epoch_idx, batch_idx):
        if batch_idx == 4 and self.context.distributed.rank == 1:
            self.context.set_stop_requested(True)
        return super().train_batch(batch, epoch_idx, batch_idx)


class _Stopper(dp.PyTorchCallback):
    """Requests to stop at the second validation, on the second rank only."""

    def __init__(self):
        self.validations = 0

    def on_validation_end(self, metrics):
        self.validations += 1
        if self.validations == 2 and self.context.distributed.rank == 1:
            self.context.set_stop_requested(True)


def stop_in_callback_of_second_rank(_storage):
    stopper = _Stopper()
    return summarize(
        run(
            NetTrial,
            validation_period=dp.Batch(5),
            callbacks={"stopper": stopper},
            prepare=lambda trial: setattr(stopper, "context", trial.context),
        )
    )


def stop_on_second_rank(_storage):
    return {"steps": run(StopOnSecondRankTrial).steps}


class ReducedTrial(NetTrial):
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
        return {"seen": sum(len(batch[0]) for batch in data_loader)}


def reduced(_storage):
    by_batch = run(ReducedTrial, batch_size=32, max_length=dp.Batch(4))
    full = run(FullTrial, max_length=dp.Batch(1))
    if not by_batch.train.reports:
        return {}
    return {
        "training": by_batch.train.get_metrics("training", "seen")[-1][1],
        "validation": by_batch.train.get_metrics("validation", "seen")[-1][1],
        "full": full.train.get_metrics("validation", "seen")[-1][1],
    }


class UnshuffledTrial(NetTrial):
    def build_training_data_loader(self):
        loader = super().build_training_data_loader()
        return dp.DataLoader(loader.dataset, loader.batch_size)


def aggregated(_storage):
    return summarize(run(UnshuffledTrial, batch_size=10, frequency=2, max_length=dp.Batch(20)))


def aggregated_as_one():
    return summarize(run(UnshuffledTrial, batch_size=20, max_length=dp.Batch(10)))


class TwoPasses(NetTrial):
    """A Trial with two forward passes for one loss, of a model with running means, as in a GAN."""

    def __init__(self, context):
        self.context = context
        layers = [torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1)]
        self.net = context.wrap_model(torch.nn.Sequential(*layers))
        self.sgd = context.wrap_optimizer(torch.optim.SGD(self.net.parameters(), 0.05))

    def loss(self, batch):
        return torch.mean((self.net(batch[0]) - self.net(-batch[0]) - batch[1]) ** 2)


def two_passes(_storage):
    return summarize(run(TwoPasses, frequency=2, max_length=dp.Batch(8)))


class Heads(torch.nn.Module):
    """A model that uses its two heads in turn if `turns` is true, otherwise only the first."""

    def __init__(self, turns):
        super().__init__()
        self.heads = torch.nn.ModuleList(torch.nn.Linear(4, 1) for _ in range(2))
        self.turns, self.calls = turns, 0

    def forward(self, x):
        self.calls += self.turns and self.training
        return self.heads[self.calls % 2](x)


class HeadsTrial(NetTrial):
    turns, finds = True, True

    def __init__(self, context):
        self.context = context
        self.net = context.wrap_model(Heads(self.turns), find_unused_parameters=self.finds)
        self.sgd = context.wrap_optimizer(torch.optim.SGD(self.net.parameters(), 0.05))


class UnusedTrial(HeadsTrial):
    turns, finds = False, False


def unused(_storage=None):
    """Returns the weights and the error for parameters that a batch does not use."""
    try:
        run(UnusedTrial, max_length=dp.Batch(2))
        message = None
    except RuntimeError as error:
        message = str(error)
    return {
        **summarize(run(HeadsTrial, max_length=dp.Batch(10), batch_size=20)),
        "message": message,
    }


class FindUnusedTrial(NetTrial):
    def __init__(self, context):
        self.context = context
        layers = [
            torch.nn.Linear(4, 8),
            torch.nn.Tanh(),
            torch.nn.Dropout(0),
            torch.nn.Linear(8, 1),
        ]
        net = torch.nn.Sequential(*layers)
        self.net = context.wrap_model(net, find_unused_parameters=True)
        self.sgd = context.wrap_optimizer(self.optimizer(self.net.parameters()))


class StaticTrial(UnusedTrial):
    """A Trial with a static graph, and a head that is never used."""

    def __init__(self, context):
        super().__init__(context)
        self.net._set_static_graph()


def other_buckets(storage):
    """Resumes models whose buckets cannot be rebuilt: with unused parameters, and a static graph."""
    length = {"max_length": dp.Batch(8)}
    results = {"uninterrupted": summarize(run(NetTrial, **length))["weights"]}
    for name, first, second in (
        ("finds", NetTrial, FindUnusedTrial),
        ("static", StaticTrial, StaticTrial),
    ):
        begun = run(first, preempt_at=3, storage=os.path.join(storage, name), **length)
        more = {"storage": begun.storage, "latest_checkpoint": begun.last_uuid}
        results[name] = summarize(run(second, **more, **length))["weights"]
    return results


class PartialForwardTrial(NetTrial):
    """A Trial that in its first batch also makes a forward pass of a part of the model."""

    def train_batch(self, batch, epoch_idx, batch_idx):
        if batch_idx == 0:
            self.net.module[0](batch[0]).sum().backward()
            self.sgd.zero_grad()
        return super().train_batch(batch, epoch_idx, batch_idx)


def partial_forward(_storage=None):
    return summarize(run(PartialForwardTrial, max_length=dp.Batch(4)))


SCENARIOS = {
    function.__name__: function
    for function in (
        fifty_steps,
        compressed,
        stream,
        elastic,
        resumed,
        resumed_in_bytes,
        preempted,
        stop_in_callback_of_second_rank,
        stop_on_second_rank,
        reduced,
        aggregated,
        uneven,
        uneven_and_unknown,
        two_passes,
        unused,
        other_buckets,
        partial_forward,
    )
}


STRATEGIES = {
    function.__name__: function
    for function in (
        strategy_scenarios.strategies,
        strategy_scenarios.resumed_strategies,
        strategy_scenarios.save_on_two_ranks,
        strategy_scenarios.heads,
        strategy_scenarios.train_exactly,
    )
}


def main():
    storage, output, *names = sys.argv[1:]
    os.environ["STORAGE_OF_RANKS"] = storage
    torch.distributed.init_process_group("gloo")
    known = {**SCENARIOS, **STRATEGIES}
    for others in (
        gradient_scenarios,
        replica_scenarios,
        pipeline_scenarios,
        fsdp_scenarios,
        deepspeed_scenarios,
        elastic_scenarios,
        batch_process_scenarios,
    ):
        known.update(others.SCENARIOS)
    results = {name: known[name](storage) for name in names}
    with open(output, "w", encoding="utf-8") as file:
        json.dump(results, file)
    # Its threads must not outlive the interpreter, because they release Python objects.
    gc.collect()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
