"""A stand-in for DeepSpeed's engines, and Trials with them."""

import os
import pathlib

import torch
import torch.distributed as dist
from det import pytorch as dp
from det.pytorch import deepspeed
from torch import nn
from trials import FakePreempt, RecordingCallback, RecordingTrain, Run, new_storage, records


class Engine(nn.Module):
    """An engine as deepspeed.initialize() returns it.

    It counts micro-batches, averages gradients over the ranks, and writes a checkpoint as DeepSpeed
    does, in which each rank has its part of the optimizer.
    """

    def __init__(self, module, optimizer, micro, accumulation, schedule=None):
        super().__init__()
        self.module, self.optimizer, self.schedule = module, optimizer, schedule
        self._sizes = micro, accumulation
        self.micro_steps = 0
        self.rank, self.size = 0, 1
        if dist.is_initialized():
            self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def train_micro_batch_size_per_gpu(self):
        return self._sizes[0]

    def gradient_accumulation_steps(self):
        return self._sizes[1]

    def forward(self, *inputs):
        return self.module(*inputs)

    def backward(self, loss):
        (loss / self._sizes[1]).backward()

    def step(self):
        self.micro_steps += 1
        if self.micro_steps % self._sizes[1]:
            return
        for parameter in self.module.parameters():
            if self.size > 1:
                dist.all_reduce(parameter.grad)
                parameter.grad /= self.size
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.schedule:
            self.schedule.step()

    def save_checkpoint(self, save_dir, tag):
        folder = pathlib.Path(save_dir, tag)
        if self.rank == 0:
            folder.mkdir(exist_ok=True)
            pathlib.Path(save_dir, "latest").write_text(tag)
            schedule = self.schedule and self.schedule.state_dict()
            state = {"module": self.module.state_dict(), "steps": self.micro_steps}
            torch.save({**state, "schedule": schedule}, folder / "model_states.pt")
        assert folder.is_dir()  # DeepSpeed would wait for it otherwise.
        torch.save(self.optimizer.state_dict(), folder / f"optim_states_{self.rank}.pt")

    def load_checkpoint(self, load_dir, tag, load_lr_scheduler_states=True):
        folder = pathlib.Path(load_dir, tag)
        if not (folder / f"optim_states_{self.rank}.pt").exists():
            return None, {}
        state = torch.load(folder / "model_states.pt")
        self.module.load_state_dict(state["module"])
        self.micro_steps = state["steps"]
        self.optimizer.load_state_dict(torch.load(folder / f"optim_states_{self.rank}.pt"))
        if self.schedule and load_lr_scheduler_states:
            self.schedule.load_state_dict(state["schedule"])
        return str(folder), {}


class Grid:
    """The grid of a pipeline of one stage."""

    def get_pipe_parallel_rank(self):
        return 0

    def get_pipe_parallel_world_size(self):
        return 1

    def get_data_parallel_rank(self):
        return 0

    def get_data_parallel_world_size(self):
        return 1


class PipelineEngine(Engine):
    """An engine that reads the micro-batches of a step itself."""

    grid = Grid()

    def is_last_stage(self):
        return True

    def _losses(self, batches):
        for _ in range(self._sizes[1]):
            x, y = next(batches)
            yield torch.mean((self.module(x) - y) ** 2)

    def train_batch(self, data_iter):
        total = 0.0
        for loss in self._losses(data_iter):
            self.backward(loss)
            self.step()
            total += loss.item()
        return torch.tensor(total / self._sizes[1])

    def eval_batch(self, data_iter):
        return torch.stack(list(self._losses(data_iter))).mean()


class EngineTrial(deepspeed.DeepSpeedTrial):
    """trials.NetTrial with an engine. Subclasses override class attributes."""

    engine, dropout, sizes, wraps = Engine, 0.0, (4, 4), True

    def __init__(self, context):
        self.context = context
        layers = [nn.Linear(4, 8), nn.Tanh(), nn.Dropout(self.dropout), nn.Linear(8, 1)]
        net = nn.Sequential(*layers)
        for parameter in net.parameters():
            if dist.is_initialized():
                dist.broadcast(parameter.data, src=0)
        sgd = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
        schedule = torch.optim.lr_scheduler.StepLR(sgd, 4, 0.9) if self.dropout else None
        self.net = self.engine(net, sgd, *self.sizes, schedule)
        if self.wraps:
            context.wrap_model_engine(self.net)
        self.calls = []  # (epoch, step) of train_batch().

    def build_training_data_loader(self):
        dataset = torch.utils.data.TensorDataset(*records(100))
        return dp.DataLoader(
            dataset, self.context.get_train_micro_batch_size_per_gpu(), shuffle=True
        )

    def build_validation_data_loader(self):
        dataset = torch.utils.data.TensorDataset(*records(37, seed=8))
        return dp.DataLoader(dataset, self.context.get_train_micro_batch_size_per_gpu())

    def loss(self, batches):
        x, y = self.context.to_device(next(batches))
        return torch.mean((self.net(x) - y) ** 2)

    def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
        self.calls.append((epoch_idx, batch_idx))
        loss = self.loss(dataloader_iter)
        self.net.backward(loss)
        self.net.step()
        return {"loss": loss}

    def evaluate_batch(self, dataloader_iter, batch_idx):
        return {"error": self.loss(dataloader_iter)}

    def evaluation_reducer(self):
        return dp.Reducer.WEIGHTED_AVG  # It does not depend on the number of ranks.


class PipelineTrial(EngineTrial):
    engine = PipelineEngine

    def train_batch(self, dataloader_iter, epoch_idx, batch_idx):
        self.calls.append((epoch_idx, batch_idx))
        return self.net.train_batch(dataloader_iter)

    def evaluate_batch(self, dataloader_iter, batch_idx):
        return {"error": self.net.eval_batch(dataloader_iter)}


def train(
    cls, *, storage=None, preempt_at=None, callbacks=None, trial_id=None, config=None, **arguments
):
    """Trains with a Trainer; see trials.run()."""
    storage = storage or new_storage()
    recorder = RecordingCallback()
    with deepspeed.init(
        hparams={},
        exp_conf={"reproducibility": {"experiment_seed": 5}, **(config or {})},
        checkpoint_storage=storage,
    ) as context:
        context._core.train = recorded = RecordingTrain()
        context._core.preempt = preempt = FakePreempt(
            lambda: preempt_at is not None and context.current_train_batch() >= preempt_at
        )
        if trial_id is not None:
            context.get_trial_id = lambda: trial_id
        trial = cls(context)
        trial.build_callbacks = lambda: {**(callbacks or {}), "uuid_recorder": recorder}
        arguments.setdefault("max_length", dp.Batch(6))
        deepspeed.Trainer(trial, context).fit(**arguments)
        uuids = context._process_group.broadcast(recorder.uuids)
        context.models.append(trial.net.module)  # Run reads the weights there.
        return Run(trial, recorded, preempt, storage, uuids)


def files_of(run):
    folder = os.path.join(run.storage, run.last_uuid)
    return sorted(
        os.path.relpath(os.path.join(where, name), folder)
        for where, _, names in os.walk(folder)
        for name in names
    )
