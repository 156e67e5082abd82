"""Batch processing of a data set, also as a scenario for two ranks."""

import contextlib
from unittest import mock

import torch
from det import core
from det.core._preempt import PreemptContext
from det.pytorch import experimental


class RecordingProcessor(experimental.TorchBatchProcessor):
    """Stores the records that it gets in class attributes, which all uses in a process share."""

    batches, events, fails_at = [], [], None

    def __init__(self, context):
        self.context = context
        self.net = context.prepare_model_for_inference(torch.nn.Linear(1, 1))

    def process_batch(self, batch, batch_idx):
        if batch_idx == self.fails_at:
            raise RuntimeError("process_batch failed")
        records = [int(record) for record in self.context.to_device(batch)]
        assert not self.net(torch.tensor([[1.0]])).requires_grad and not self.net.training
        self.batches.append((batch_idx, records))

    def on_checkpoint_start(self):
        self.events.append("store")

    def on_finish(self):
        self.events.append("finish")


class Numbers(torch.utils.data.Dataset):
    def __init__(self, count):
        self._count = count

    def __len__(self):
        return self._count

    def __getitem__(self, index):
        return index


class FakePreemption:
    """Requests preemption of the chief after `batches` batches."""

    def __init__(self, batches):
        self.left = batches

    @property
    def requested(self):
        self.left -= 1
        return self.left < 0

    def close(self):
        pass


@contextlib.contextmanager
def preempted_after(batches):
    if batches is None:
        yield
        return
    preemption = FakePreemption(batches)

    def make(distributed, mode, *_):
        return PreemptContext(distributed, mode, preemption if distributed.is_chief else None)

    with mock.patch("det.core._context.PreemptContext", make):
        yield


def process(storage, *, records=20, preempt_after=None, cls=RecordingProcessor, **arguments):
    """Returns the batches of this rank, its events, and the UUID of the latest progress."""
    cls.batches, cls.events = [], []
    uuids = []
    store = core.CheckpointContext.store_path

    @contextlib.contextmanager
    def record_uuid(self, *args, **kwargs):
        with store(self, *args, **kwargs) as (path, uuid):
            yield path, uuid
        uuids.append(uuid)

    with (
        preempted_after(preempt_after),
        mock.patch.object(core.CheckpointContext, "store_path", record_uuid),
    ):
        experimental.torch_batch_process(
            cls, Numbers(records), checkpoint_storage=storage, **{"batch_size": 3, **arguments}
        )
    return cls.batches, cls.events, uuids[-1] if uuids else None


def processed(storage):
    """Processes 20 records on two ranks: all of them, and then until a stop after two batches."""
    return {
        "uninterrupted": process(storage + "/processed"),
        "stopped": process(storage + "/processed", preempt_after=2),
    }


SCENARIOS = {"processed": processed}
