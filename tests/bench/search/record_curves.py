#!/usr/bin/python3
"""Records learning curves of the Fashion-MNIST network, on which searches can be simulated.

Draws configurations from the search space below, trains each of them for 8 epochs on 2048 images with one thread,
validates on 512 other images every 256 images, and writes a row per validation. Another run continues after the
last complete configuration. The table in data/ was created with

    ./record_curves.py --configurations 256 --out data/fashion_mnist_curves.csv
"""

import argparse
import csv
import gzip
import pathlib
import random

import torch
from torch import nn

IMAGES = pathlib.Path("/usr/share/datasets/fashion-mnist")
UNITS = 64  # of 256 images each
UNIT_IMAGES = 256
TRAIN_IMAGES = 2048
VALIDATION_IMAGES = 512
HPARAMS = [
    "batch_size",
    "dropout",
    "learning_rate",
    "momentum",
    "optimizer",
    "weight_decay",
    "width",
]


def read_idx(name: str, header: int, count: int) -> torch.Tensor:
    """`count` bytes after the header of a gzip-compressed IDX file."""
    with gzip.open(IMAGES / name) as file:
        file.seek(header)
        return torch.frombuffer(bytearray(file.read(count)), dtype=torch.uint8)


def read_part(part: str, records: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images (records, 1, 28, 28) with mean 0 and standard deviation 1, and their labels."""
    pixels = read_idx(f"{part}-images-idx3-ubyte.gz", 16, records * 28 * 28)
    kinds = read_idx(f"{part}-labels-idx1-ubyte.gz", 8, records)
    images = (pixels.view(records, 1, 28, 28).float() - 72.94) / 90.02
    return images, kinds.long()


def draw(number: int) -> dict[str, object]:
    """Configuration `number`; only those with sgd have momentum."""
    dice = random.Random(number)
    hparams: dict[str, object] = {
        "batch_size": dice.choice([16, 32, 64, 128]),
        "dropout": round(dice.uniform(0, 0.6), 4),
        "learning_rate": float(f"{10 ** dice.uniform(-4, -0.5):.4g}"),
        "optimizer": dice.choice(["adam", "sgd"]),
        "weight_decay": float(f"{10 ** dice.uniform(-6, -2):.4g}"),
        "width": dice.randint(4, 16),
    }
    momentum = round(dice.uniform(0, 0.99), 4)
    if hparams["optimizer"] == "sgd":
        hparams["momentum"] = momentum
    return hparams


def make_net(width: int, dropout: float) -> nn.Module:
    """The network of examples/fashion_mnist, with dropout before the last layer."""
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(dropout), nn.Linear(2 * width * 9, 10),
    )  # fmt: skip


def make_optimizer(net: nn.Module, hparams: dict[str, object]) -> torch.optim.Optimizer:
    rate, decay = hparams["learning_rate"], hparams["weight_decay"]
    if hparams["optimizer"] == "adam":
        return torch.optim.Adam(net.parameters(), lr=rate, weight_decay=decay)
    return torch.optim.SGD(
        net.parameters(), lr=rate, weight_decay=decay, momentum=hparams["momentum"]
    )


def train(hparams: dict[str, object], seed: int, train_set, validation_set):
    """Yields (unit, loss, accuracy) of each validation; a non-finite loss is not changed."""
    torch.manual_seed(seed)
    net = make_net(hparams["width"], hparams["dropout"])
    optimizer = make_optimizer(net, hparams)
    order: list[int] = []
    for unit in range(1, UNITS + 1):
        net.train()
        if not order:
            order = torch.randperm(TRAIN_IMAGES).tolist()
        picked, order = order[:UNIT_IMAGES], order[UNIT_IMAGES:]
        for begin in range(0, UNIT_IMAGES, hparams["batch_size"]):
            batch = picked[begin : begin + hparams["batch_size"]]
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(train_set[0][batch]), train_set[1][batch]).backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            scores = net(validation_set[0])
            loss = nn.functional.cross_entropy(scores, validation_set[1]).item()
            accuracy = scores.argmax(1).eq(validation_set[1]).float().mean().item()
        yield unit, loss, accuracy


def complete_configurations(path: pathlib.Path) -> int:
    """The number of complete configurations; truncates the rest of the file."""
    if not path.exists():
        return 0
    lines = path.read_text().splitlines(keepends=True)
    whole = (len(lines) - 1) // UNITS
    path.write_text("".join(lines[: 1 + whole * UNITS]))
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--configurations", type=int, default=256)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    flags = parser.parse_args()
    torch.set_num_threads(1)
    images, kinds = read_part("train", TRAIN_IMAGES + VALIDATION_IMAGES)
    train_set = images[:TRAIN_IMAGES], kinds[:TRAIN_IMAGES]
    validation_set = images[TRAIN_IMAGES:], kinds[TRAIN_IMAGES:]
    first = complete_configurations(flags.out)
    with flags.out.open("a", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        if first == 0:
            rows.writerow([*HPARAMS, "length", "loss", "accuracy"])
        for number in range(first, flags.configurations):
            hparams = draw(number)
            values = [hparams.get(name, "") for name in HPARAMS]
            for unit, loss, accuracy in train(hparams, number, train_set, validation_set):
                rows.writerow([*values, unit, f"{loss:.5g}", f"{accuracy:.4g}"])
            file.flush()


if __name__ == "__main__":
    main()
