"""The Trial of chaos_trial.cc in Python, with dropout: it trains slowly, gives bitwise identical
results on every run, and prints a line for each batch."""

import os
import time

import torch
from det import pytorch
from torch import nn


def points(seed: int, records: int) -> torch.utils.data.TensorDataset:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(records, 8, generator=generator)
    y = x.sum(1, keepdim=True) + 0.1 * torch.randn(records, 1, generator=generator)
    return torch.utils.data.TensorDataset(x, y)


class ChaosTrial(pytorch.PyTorchTrial):
    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.context = context
        self.pause = context.get_data_config()["pause_ms"] / 1000
        net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1), nn.Linear(8, 1))
        self.net = context.wrap_model(net)
        rate = context.get_hparam("learning_rate")
        self.sgd = context.wrap_optimizer(torch.optim.SGD(self.net.parameters(), rate, momentum=0.9))

    def build_training_data_loader(self) -> pytorch.DataLoader:
        batch_size = self.context.get_per_slot_batch_size()
        return pytorch.DataLoader(points(1, 4096), batch_size, shuffle=True)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(points(2, 64), 16)

    def train_batch(self, batch, epoch_idx: int, batch_idx: int):
        time.sleep(self.pause)
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.context.backward(loss)
        self.context.step_optimizer(self.sgd)
        if self.context.distributed.rank == 0:
            record(batch_idx + 1)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        x, y = batch
        return {"loss": nn.functional.mse_loss(self.net(x), y)}


def record(step: int) -> None:
    """Writes a line to the ledger, then to the log. Each line of the ledger must be in the log
    exactly once."""
    line = f"{os.environ['DET_TRIAL_ID']} {os.environ['DET_TRIAL_RUN_ID']} {step}\n"
    ledger = os.open(os.environ["CHAOS_LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(ledger, line.encode())
    os.close(ledger)
    print("batch", line, end="", flush=True)
