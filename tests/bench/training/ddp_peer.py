"""Trains the network of the example with DistributedDataParallel over Gloo, measured like
training_bench.cc.

Started by `run` with $RANK, $WORLD_SIZE and a file for the rendezvous. A single process trains without
DistributedDataParallel. Arguments: samples per slot and width of the network.
"""

import gzip
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

PATH = "/usr/share/datasets/fashion-mnist"


def read_idx(name, header):
    with gzip.open(f"{PATH}/{name}") as file:
        return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.conv3 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.linear = nn.Linear(2 * width * 3 * 3, 10)

    def forward(self, images):
        x = images.float().sub_(72.94).div_(90.02)
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.max_pool2d(F.relu(self.conv3(x)), 2)
        return self.linear(x.flatten(1))


class Window:
    """Counts the batches that are entirely within the interval."""

    def __init__(self, samples):
        self.samples = samples
        self.path = os.environ["BENCH_WINDOW"]
        self.ready = self.done = False
        self.begin = self.end = self.first = self.last = 0.0
        self.batches = 0

    def tick(self):
        now = time.time()
        if self.done:
            return
        if self.end == 0.0:
            self.wait()
        elif now < self.begin:
            return
        elif self.first == 0.0:
            self.first = now
        elif now < self.end:
            self.batches += 1
            self.last = now
        else:
            rate = self.batches * self.samples / (self.last - self.first)
            print(f"samples_per_second {rate:.3f}", flush=True)
            self.done = True

    def wait(self):
        if not self.ready:
            print("ready", flush=True)
            self.ready = True
        if os.path.exists(self.path):
            with open(self.path) as file:
                self.begin, self.end = map(float, file.read().split())


def main():
    batch_size, width = int(sys.argv[1]), int(sys.argv[2])
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    images = read_idx("train-images-idx3-ubyte.gz", 16).view(-1, 1, 28, 28)
    kinds = read_idx("train-labels-idx1-ubyte.gz", 8).long()
    net = Net(width)
    if size > 1:
        torch.distributed.init_process_group(
            "gloo", init_method="file://" + os.environ["BENCH_RENDEZVOUS"], rank=rank, world_size=size)
        net = nn.parallel.DistributedDataParallel(net, gradient_as_bucket_view=True)
    adam = torch.optim.Adam(net.parameters(), 0.003)
    window = Window(batch_size)
    while True:
        order = torch.randperm(len(images))
        for begin in range(rank * batch_size, len(images) - size * batch_size, size * batch_size):
            window.tick()
            rows = order[begin:begin + batch_size]
            loss = F.cross_entropy(net(images[rows]), kinds[rows])
            adam.zero_grad()
            loss.backward()
            adam.step()


main()
