"""Measures the overhead of det.pytorch; started by run_python in a temporary directory.

Usage: python_bench.py overhead ROUNDS [BATCH WIDTH PRECISION] | start | stall MEGABYTES
BATCH: records per slot; PRECISION: optimizations.mixed_precision of the configuration.
"""

import os
import pathlib
import statistics
import sys
import time

import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "trial_api/python"), str(ROOT / "examples/fashion_mnist/python")]

from det import pytorch  # noqa: E402

BLOCK = 20  # Batches before switching to the other variant.
ROUND = 100  # Batches per ratio, including one metric report.


AUTOCAST = {"O0": None, "float16": torch.float16, "bfloat16": torch.bfloat16}


def now():
    """Wall-clock and CPU seconds, after a GPU has finished its queued work."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return torch.tensor([time.perf_counter(), time.process_time()], dtype=torch.float64)


class HandWritten:
    """The same network and schedule in a plain loop with DistributedDataParallel."""

    def __init__(self, model_def, context, kind):
        """kind: the kind of mixed precision, or None."""
        self.batch_size = context.get_per_slot_batch_size()
        self.rank, self.size = context.distributed.rank, context.distributed.size
        self.device, self.kind = context.device, kind
        self.scaler = torch.cuda.amp.GradScaler(enabled=kind is torch.float16)
        self.net = model_def.Net(context.get_hparam("width")).to(self.device)
        if self.size > 1:
            self.net = nn.parallel.DistributedDataParallel(self.net, gradient_as_bucket_view=True)
        self.adam = torch.optim.Adam(self.net.parameters(), 0.003)
        steps = 60000 // context.get_global_batch_size()
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.adam, lambda step: max(0.0, 1 - step / steps)
        )
        self.images, self.kinds = None, None

    def train(self, batches):
        """The cost of `count` batches."""
        began = now()
        order = torch.randperm(len(self.images))
        step = self.batch_size * self.size
        for begin in range(self.rank * self.batch_size, batches * step, step):
            self.step(order[begin : begin + self.batch_size])
        return now() - began

    def step(self, rows):
        images = self.images[rows].to(self.device, non_blocking=True)
        kinds = self.kinds[rows].to(self.device, non_blocking=True)
        with torch.autocast(self.device.type, self.kind, enabled=self.kind is not None):
            loss = nn.functional.cross_entropy(self.net(images), kinds)
        self.adam.zero_grad()
        if self.scaler.is_enabled():
            self.scaler.scale(loss).backward()
            self.scaler.step(self.adam)
            self.scaler.update()
        else:
            loss.backward()
            self.adam.step()
        self.schedule.step()


def overhead(rounds, batch=64, width=32, precision="O0"):
    """Alternates both variants in one process, so that other load affects both equally."""
    import model_def

    class AlternatingTrial(model_def.FashionMnistTrial):
        def __init__(self, context):
            super().__init__(context)
            self.other = HandWritten(model_def, context, AUTOCAST[precision])
            self.ratios, self.milliseconds = [], []
            self.start, self.ours, self.others = None, 0, 0

        def build_training_data_loader(self):
            loader = super().build_training_data_loader()
            self.other.images, self.other.kinds = loader.dataset.tensors
            return loader

        def train_batch(self, batch, epoch_idx, batch_idx):
            if batch_idx % BLOCK == 0:
                if self.start is not None:
                    self.ours = self.ours + now() - self.start
                self.others = self.others + self.other.train(BLOCK)
                if batch_idx % ROUND == 0 and batch_idx > ROUND:  # The first round is a warm-up.
                    self.ratios.append((self.others / self.ours).tolist())
                    self.milliseconds.append(1000 / ROUND * self.ours[0].item())
                if batch_idx % ROUND == 0:
                    self.ours, self.others = 0, 0
                self.start = now()
            return super().train_batch(batch, epoch_idx, batch_idx)

        def evaluate_batch(self, batch, batch_idx=0):
            return {}

    ranks = int(os.environ.get("WORLD_SIZE") or 1)
    hparams = {"global_batch_size": batch * ranks, "learning_rate": 0.003, "width": width, "epochs": 1}
    config = {"optimizations": {"mixed_precision": precision}}
    with pytorch.init(hparams=hparams, exp_conf=config) as context:
        trial = AlternatingTrial(context)
        length = pytorch.Batch(ROUND * (rounds + 1) + 1)
        pytorch.Trainer(trial, context).fit(max_length=length, checkpoint_policy="none")
        if context.distributed.rank == 0:
            for i, name in enumerate(("wall", "cpu")):
                print(name, *[f"{ratio[i]:.4f}" for ratio in trial.ratios], flush=True)
            print("milliseconds", *[f"{batch:.3f}" for batch in trial.milliseconds], flush=True)


class Line(pytorch.PyTorchTrial):
    """Data in memory. parameters: number of additional parameters that are saved but not trained."""

    parameters = 0

    def __init__(self, context):
        self.context = context
        self.net = context.wrap_model(nn.Linear(1, 1))
        self.sgd = context.wrap_optimizer(torch.optim.SGD(self.net.parameters(), 0.1))
        if self.parameters:
            rows = self.parameters // 25
            context.wrap_model(nn.ParameterList([torch.ones(rows, 1) for _ in range(25)]))

    def build_training_data_loader(self):
        x = torch.linspace(-1, 1, 6400).view(-1, 1)
        return x, 3 * x

    build_validation_data_loader = build_training_data_loader

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = torch.mean((self.net(batch[0]) - batch[1]) ** 2)
        self.context.backward(loss)
        self.context.step_optimizer(self.sgd)
        return loss

    def evaluate_batch(self, batch, batch_idx=0):
        return {}


def start():
    """Exits at the first batch."""

    class First(Line):
        def train_batch(self, batch, epoch_idx, batch_idx):
            os._exit(0)

    with pytorch.init(hparams={"global_batch_size": 32}) as context:
        pytorch.Trainer(First(context), context).fit(max_length=pytorch.Batch(1))


def stall(megabytes):
    """The additional time of steps with a save, for the first and the later ones: wall-clock time,
    and CPU time of the training thread."""

    class Watched(Line):
        parameters = megabytes * 250000
        times = []

        def train_batch(self, batch, epoch_idx, batch_idx):
            time.sleep(0.02)  # Simulates computation on a GPU.
            self.times.append((time.perf_counter(), time.thread_time()))
            return super().train_batch(batch, epoch_idx, batch_idx)

    every = 200
    with pytorch.init(hparams={"global_batch_size": 32}) as context:
        pytorch.Trainer(Watched(context), context).fit(
            max_length=pytorch.Batch(4 * every),
            checkpoint_period=pytorch.Batch(every),
            checkpoint_policy="none",
        )
    for i, name in enumerate(("wall", "cpu")):
        steps = [b[i] - a[i] for a, b in zip(Watched.times, Watched.times[1:])]
        usual = statistics.median(steps)
        stalls = [1000 * (steps[every * n - 1] - usual) for n in (1, 2, 3)]
        print(name, *[f"{milliseconds:.0f}" for milliseconds in stalls], flush=True)


if __name__ == "__main__":
    arguments = [int(word) if word.isdigit() else word for word in sys.argv[2:]]
    {"overhead": overhead, "start": start, "stall": stall}[sys.argv[1]](*arguments)
