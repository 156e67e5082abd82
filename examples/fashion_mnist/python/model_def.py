"""Clothes of ten kinds in 28 x 28 pixels: the convolutional net of ../fashion_mnist.cc in Python."""

import gzip
import pathlib
from typing import Any

import torch
import torch.nn.functional as F
from det import pytorch
from torch import nn

PIXELS = 28
PATH = "/usr/share/datasets/fashion-mnist"


def read_idx(path: pathlib.Path, header: int, count: int) -> torch.Tensor:
    """Returns `count` bytes after the header of a gzipped IDX file."""
    if not path.exists():
        raise FileNotFoundError(
            f"cannot open {path}: install Debian's dataset-fashion-mnist, or set data.path"
        )
    with gzip.open(path) as file:
        data = bytearray(file.read(header + count)[header:])
    if len(data) != count:
        raise ValueError(f"{path} is damaged or incomplete")
    return torch.frombuffer(data, dtype=torch.uint8)


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.conv3 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.linear = nn.Linear(2 * width * 3 * 3, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        # The mean and standard deviation of all training pixels.
        x = images.float().sub_(72.94).div_(90.02)
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.max_pool2d(F.relu(self.conv3(x)), 2)
        scores: torch.Tensor = self.linear(x.flatten(1))
        return scores


class FashionMnistTrial(pytorch.PyTorchTrial):
    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.context = context
        self.net = context.wrap_model(Net(context.get_hparam("width")))
        rate = context.get_hparam("learning_rate")
        self.adam = context.wrap_optimizer(torch.optim.Adam(self.net.parameters(), rate))
        data = context.get_data_config()
        self.records = {
            "train": int(data.get("train_records", 60000)),
            "t10k": int(data.get("validation_records", 10000)),
        }
        # The learning rate decreases linearly to zero.
        batches = self.records["train"] // context.get_global_batch_size()
        steps = context.get_hparam("epochs") * batches
        context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.LambdaLR(self.adam, lambda step: max(0.0, 1 - step / steps)),
            pytorch.LRScheduler.StepMode.STEP_EVERY_BATCH,
        )

    def read(self, part: str) -> torch.utils.data.TensorDataset:
        """Returns records of (image of bytes, kind). Bytes need a quarter of the memory of floats."""
        path = pathlib.Path(self.context.get_data_config().get("path") or PATH)
        count = self.records[part]
        images = read_idx(path / f"{part}-images-idx3-ubyte.gz", 16, count * PIXELS * PIXELS)
        kinds = read_idx(path / f"{part}-labels-idx1-ubyte.gz", 8, count)
        return torch.utils.data.TensorDataset(images.view(-1, 1, PIXELS, PIXELS), kinds.long())

    def build_training_data_loader(self) -> pytorch.DataLoader:
        batch_size = self.context.get_per_slot_batch_size()
        return pytorch.DataLoader(self.read("train"), batch_size, shuffle=True)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(self.read("t10k"), batch_size=250)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> torch.Tensor:
        images, kinds = batch
        loss = F.cross_entropy(self.net(images), kinds)
        self.context.backward(loss)
        self.context.step_optimizer(self.adam)
        return loss

    def evaluate_batch(self, batch: Any, batch_idx: int = 0) -> dict[str, Any]:
        images, kinds = batch
        scores = self.net(images)
        right = scores.argmax(1).eq(kinds)
        return {"loss": F.cross_entropy(scores, kinds), "accuracy": right.float().mean()}


def main() -> None:
    """Trains off the cluster."""
    hparams = {"global_batch_size": 128, "learning_rate": 0.003, "width": 32, "epochs": 3}
    with pytorch.init(hparams=hparams) as context:
        pytorch.Trainer(FashionMnistTrial(context), context).fit(
            max_length=pytorch.Epoch(hparams["epochs"]), validation_period=pytorch.Epoch(1)
        )


if __name__ == "__main__":
    main()
