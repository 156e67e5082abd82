"""Trials for tests, and a stand-in for the master."""

import itertools
import os
import pathlib
import random
import tempfile

import torch
from det import core
from det import pytorch as dp
from det.pytorch.strategies import data_parallel
from torch import nn


class RecordingTrain(core.TrainContext):
    """Records what is reported.

    Args:
        best: Whether each validation is the best so far.
        on_validation: Called with the steps of each validation.
        tensorboard: The folder for event files.
    """

    def __init__(self, best=True, on_validation=None, tensorboard=None):
        self._tensorboard = tensorboard
        self.reports = []  # (group, steps, metrics)
        self.best = best
        self.on_validation = on_validation

    def _report(self, group, steps_completed, metrics, batch_metrics, ask_best=False):
        self.reports.append((group, steps_completed, dict(metrics)))
        if group == "validation" and self.on_validation:
            self.on_validation(steps_completed)
        return self.best

    def get_metrics(self, group, name):
        return [(steps, metrics[name]) for g, steps, metrics in self.reports if g == group]

    def report_progress(self, progress):
        pass

    def get_tensorboard_path(self):
        if self._tensorboard is None:
            self._tensorboard = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        return pathlib.Path(self._tensorboard)

    def upload_tensorboard_files(self, selector=None, mangler=None):
        pass


class FakePreempt:
    """Requests preemption once `is_requested()` is true."""

    def __init__(self, is_requested):
        self.is_requested = is_requested
        self.acknowledged = False

    def should_preempt(self, auto_ack=True):
        return self.is_requested()

    def acknowledge_preemption_signal(self):
        self.acknowledged = True

    def close(self):
        pass


def records(count, seed=7):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 4, generator=generator)
    return x, torch.sin(x.sum(1, keepdim=True))


class NetTrial(dp.PyTorchTrial):
    """A small model. Subclasses override class attributes."""

    training_records, validation_records = 100, 37
    dropout = 0.0
    optimizer = staticmethod(lambda p: torch.optim.SGD(p, 0.05, momentum=0.9))

    def __init__(self, context):
        self.context = context
        layers = [nn.Linear(4, 8), nn.Tanh(), nn.Dropout(self.dropout), nn.Linear(8, 1)]
        self.net = context.wrap_model(nn.Sequential(*layers))
        self.sgd = context.wrap_optimizer(self.optimizer(self.net.parameters()))

    def build_training_data_loader(self):
        dataset = torch.utils.data.TensorDataset(*records(self.training_records))
        return dp.DataLoader(dataset, self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self):
        dataset = torch.utils.data.TensorDataset(*records(self.validation_records, seed=8))
        return dp.DataLoader(dataset, 8)

    def loss(self, batch):
        return torch.mean((self.net(batch[0]) - batch[1]) ** 2)

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = self.loss(batch)
        self.context.backward(loss)
        self.context.step_optimizer(self.sgd)
        return {"loss": loss}

    def evaluate_batch(self, batch, batch_idx):
        return {"error": self.loss(batch)}

    def evaluation_reducer(self):
        return dp.Reducer.WEIGHTED_AVG  # It does not depend on the number of ranks.


class NoisyTrial(NetTrial):
    """A Trial that draws from every random generator, and has a learning-rate scheduler."""

    dropout = 0.3
    optimizer = staticmethod(lambda p: torch.optim.Adam(p, 0.01))

    def __init__(self, context):
        super().__init__(context)
        self.scheduler = context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.StepLR(self.sgd, 2, 0.9),
            dp.LRScheduler.StepMode.STEP_EVERY_BATCH,
        )

    def train_batch(self, batch, epoch_idx, batch_idx):
        import numpy

        noise = random.random() + numpy.random.rand() + torch.rand(()).item()
        batch = [batch[0] * (1 + 0.1 * noise), batch[1]]
        return super().train_batch(batch, epoch_idx, batch_idx)


class Run:
    """The result of one fit()."""

    def __init__(self, trial, train, preempt, storage, uuids):
        self.trial = trial
        self.train = train
        self.preempt = preempt
        self.storage = storage
        self.uuids = uuids
        model = data_parallel.unwrap_model(trial.context.models[0])
        tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        self.weights = {name: tensor.detach().clone() for name, tensor in tensors.items()}

    @property
    def last_uuid(self):
        return self.uuids[-1] if self.uuids else None

    @property
    def steps(self):
        return self.trial.context.current_train_batch()


class RecordingCallback(dp.PyTorchCallback):
    def __init__(self):
        self.uuids = []

    def on_checkpoint_upload_end(self, uuid):
        self.uuids.append(uuid)


_numbers = itertools.count()


def new_storage():
    """Returns a folder that does not exist yet, the same on all ranks."""
    if "STORAGE_OF_RANKS" in os.environ:
        return os.path.join(os.environ["STORAGE_OF_RANKS"], f"run-{next(_numbers)}")
    return os.path.join(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")), "c")


def run(
    cls,
    *,
    storage=None,
    batch_size=16,
    preempt_at=None,
    train=None,
    frequency=1,
    callbacks=None,
    prepare=None,
    trial_id=None,
    optimizations=None,
    distributed=None,
    **arguments,
):
    """Trains with a Trainer, and preempts the chief after `preempt_at` batches.

    The other arguments are those of init() and fit().
    """
    storage = storage or new_storage()
    recorder = RecordingCallback()
    with dp.init(
        hparams={"global_batch_size": batch_size},
        exp_conf={"reproducibility": {"experiment_seed": 5}, "optimizations": optimizations},
        aggregation_frequency=frequency,
        checkpoint_storage=storage,
        distributed=distributed,
    ) as context:
        train = train or RecordingTrain()
        context._core.train = train
        preempt = FakePreempt(
            lambda: preempt_at is not None and context.current_train_batch() >= preempt_at
        )
        context._core.preempt = preempt
        if trial_id is not None:
            context.get_trial_id = lambda: trial_id
        trial = cls(context)
        all_callbacks = dict(trial.build_callbacks(), **(callbacks or {}), uuid_recorder=recorder)
        trial.build_callbacks = lambda: all_callbacks
        if prepare:
            prepare(trial)
        arguments.setdefault("max_length", dp.Batch(20))
        dp.Trainer(trial, context).fit(**arguments)
        uuids = context._process_group.broadcast(recorder.uuids)
        return Run(trial, train, preempt, storage, uuids)
