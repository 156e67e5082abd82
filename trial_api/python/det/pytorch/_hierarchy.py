"""`optimizations.hierarchical_allreduce`: gradients are summed within each node, then among the
nodes' first ranks, and the sum goes back within each node. So one rank of each node speaks with
others, where all of a ring would."""

from __future__ import annotations

import concurrent.futures
import os
from typing import Any, List, Optional

import torch
import torch.distributed as dist

from det.pytorch._optimizations import Optimizations
from det.pytorch._ranks import Ranks


class Nodes:
    """Which ranks share a node, and the groups by which they exchange. Collective.

    node: this rank's, a number that the launcher tells ($GROUP_RANK).
    """

    def __init__(self, ranks: Ranks, node: int) -> None:
        told: List[int] = ranks.broadcast(ranks.gather(node))
        self.members = [
            [rank for rank, at in enumerate(told) if at == known] for known in sorted(set(told))
        ]
        # Every rank makes every group: torch wants it so.
        groups = [dist.new_group(members) for members in self.members]
        firsts = [members[0] for members in self.members]
        self.among = dist.new_group(firsts)
        [own] = [i for i, members in enumerate(self.members) if ranks.rank in members]
        self.within, self.first = groups[own], firsts[own]
        self.is_first = ranks.rank == self.first
        self.size = ranks.size
        # Three exchanges follow each other for each bucket: one thread keeps all buckets, of all
        # models, in the order in which torch gives them, which is the same on all ranks, while the
        # backward pass goes on.
        self.thread = concurrent.futures.ThreadPoolExecutor(1, "det-hierarchy")
        self._stream: Any = None

    @property
    def useful(self) -> bool:
        """Whether there are several nodes, and several ranks on one of them."""
        return 1 < len(self.members) < self.size

    def stream_of(self, device: torch.device) -> Any:
        """Of a GPU, which does there what the thread does elsewhere."""
        if self._stream is None:
            self._stream = torch.cuda.Stream(device)
        return self._stream

    def sum(self, numbers: torch.Tensor) -> None:
        """In place, over all ranks. Every rank calls it for the same tensors in the same order."""
        dist.reduce(numbers, dst=self.first, group=self.within)
        if self.is_first:
            dist.all_reduce(numbers, group=self.among)
        dist.broadcast(numbers, src=self.first, group=self.within)


def find_nodes(ranks: Ranks, told: Optimizations) -> Optional[Nodes]:
    """Collective: where the ranks are, if that is to matter and does. Raises ValueError where the
    launcher has not said it."""
    if not told.hierarchical_allreduce or ranks.size == 1:
        return None
    node = os.environ.get("GROUP_RANK")
    if node is None or not node.isdigit():
        raise ValueError(
            f"optimizations.hierarchical_allreduce asks which slots share a node, and $GROUP_RANK is "
            f"{node!r}: start this program with python3 -m det.launch.torch_distributed"
        )
    nodes = Nodes(ranks, int(node))
    return nodes if nodes.useful else None


class HierarchicalSum:
    """The state of hierarchical_hook(), of one model. form: None, or the type in which gradients
    travel."""

    def __init__(self, nodes: Nodes) -> None:
        self.form: Optional[torch.dtype] = None
        self._nodes = nodes

    def start(self, gradients: torch.Tensor) -> Any:
        """A torch.futures.Future of the mean of all ranks' gradients, in place."""
        if gradients.is_cuda:
            return self._start_on_gpu(gradients)
        future: Any = torch.futures.Future()

        def run() -> None:
            try:
                future.set_result(self._average(gradients))
            except Exception as error:  # Raised to whoever waits.
                future.set_exception(error)

        self._nodes.thread.submit(run)
        return future

    def _start_on_gpu(self, gradients: torch.Tensor) -> Any:
        device = gradients.device
        stream = self._nodes.stream_of(device)
        future: Any = torch.futures.Future(devices=[device])
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            gradients.record_stream(stream)
            future.set_result(self._average(gradients))
        return future

    def _average(self, gradients: torch.Tensor) -> torch.Tensor:
        # Divided first: a sum in float16 would overflow sooner.
        travels = gradients.to(self.form or gradients.dtype).div_(self._nodes.size)
        self._nodes.sum(travels)
        if travels is not gradients:
            gradients.copy_(travels)
        return gradients


def hierarchical_hook(state, bucket):  # type: ignore[no-untyped-def]
    """(HierarchicalSum, GradBucket) -> Future of the mean; torch refuses annotations that are
    strings."""
    return state.start(bucket.buffer())
