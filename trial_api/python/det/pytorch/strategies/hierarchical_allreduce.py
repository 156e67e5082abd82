"""`optimizations.hierarchical_allreduce`: one rank of each node communicates with other nodes.

Gradients are summed within each node, then among the first ranks of the nodes, and the sum is
broadcast within each node.
"""

from __future__ import annotations

import concurrent.futures
import os
from typing import TYPE_CHECKING, Callable, cast

import torch
import torch.distributed as dist

from det.pytorch.distributed.optimizations import Optimizations
from det.pytorch.distributed.process_group import ProcessGroup

if TYPE_CHECKING:
    from det.pytorch.utilities.types import TorchGroup


class NodeGroups:
    """Which ranks share a node, and torch's groups for the communication within and among nodes.

    Attributes:
        members: The ranks of each node.
        within: torch's group of the ranks on this node.
        among: torch's group of the first ranks of all nodes.
        first: The first rank on this node.
        is_first: Whether this is it.
        size: The number of ranks.
        thread: Runs the collectives of all models in the order in which torch starts them, which is
            the same on all ranks. Each bucket takes three, which must not block the backward pass.
    """

    def __init__(self, process_group: ProcessGroup, node: int) -> None:
        """Creates the groups. Collective.

        Args:
            process_group: All ranks.
            node: The index of this rank's node ($GROUP_RANK of the launcher).
        """
        nodes: list[int] = process_group.allgather(node)
        self.members = [
            [rank for rank, at in enumerate(nodes) if at == known] for known in sorted(set(nodes))
        ]
        # torch requires that every rank creates every group.
        groups = [cast("TorchGroup", dist.new_group(members)) for members in self.members]
        firsts = [members[0] for members in self.members]
        self.among = cast("TorchGroup", dist.new_group(firsts))
        [own] = [i for i, members in enumerate(self.members) if process_group.rank in members]
        self.within, self.first = groups[own], firsts[own]
        self.is_first = process_group.rank == self.first
        self.size = process_group.size
        self.thread = concurrent.futures.ThreadPoolExecutor(1, "det-hierarchy")
        self._stream: torch.cuda.Stream | None = None

    @property
    def is_useful(self) -> bool:
        """Whether there are several nodes, and several ranks on one of them."""
        return 1 < len(self.members) < self.size

    def get_stream(self, device: torch.device) -> torch.cuda.Stream:
        """Returns the CUDA stream that is used on a GPU instead of the thread."""
        if self._stream is None:
            self._stream = torch.cuda.Stream(device)
        return self._stream

    def sum(self, numbers: torch.Tensor) -> None:
        """Replaces `numbers` by the sum over all ranks.

        Every rank calls it for the same tensors in the same order.
        """
        dist.reduce(numbers, dst=self.first, group=self.within)
        if self.is_first:
            dist.all_reduce(numbers, group=self.among)
        dist.broadcast(numbers, src=self.first, group=self.within)


def create_node_groups(
    process_group: ProcessGroup, optimizations: Optimizations
) -> NodeGroups | None:
    """Creates the groups if the config asks for them and they are useful. Collective.

    Raises:
        ValueError: If the launcher has not set $GROUP_RANK.
    """
    if not optimizations.hierarchical_allreduce or process_group.size == 1:
        return None
    node = os.environ.get("GROUP_RANK")
    if node is None or not node.isdigit():
        raise ValueError(
            "optimizations.hierarchical_allreduce needs to know which slots share a node, and "
            f"$GROUP_RANK is {node!r}: start this program with python3 -m det.launch.torch_distributed"
        )
    node_groups = NodeGroups(process_group, int(node))
    return node_groups if node_groups.is_useful else None


class HierarchicalAllreduce:
    """The state of hierarchical_hook() of comm_hooks.py for one model.

    Attributes:
        dtype: The dtype in which gradients are sent; None: their own.
    """

    def __init__(self, node_groups: NodeGroups) -> None:
        self.dtype: torch.dtype | None = None
        self._node_groups = node_groups

    def start(self, gradients: torch.Tensor) -> torch.futures.Future[torch.Tensor]:
        """Starts to average the gradients in place.

        Returns:
            A torch.futures.Future of them.
        """
        if gradients.is_cuda:
            return self._start_on_gpu(gradients)
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()

        # torch 1.13 declares another type of the argument.
        set_exception = cast("Callable[[Exception], object]", future.set_exception)

        def run() -> None:
            try:
                future.set_result(self._average(gradients))
            except Exception as error:  # Raised again by the future's wait().
                set_exception(error)

        self._node_groups.thread.submit(run)
        return future

    def _start_on_gpu(self, gradients: torch.Tensor) -> torch.futures.Future[torch.Tensor]:
        device = gradients.device
        stream = self._node_groups.get_stream(device)
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future(devices=[device])
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            gradients.record_stream(stream)
            future.set_result(self._average(gradients))
        return future

    def _average(self, gradients: torch.Tensor) -> torch.Tensor:
        # Dividing before the sum avoids overflow in float16.
        sent = gradients.to(self.dtype or gradients.dtype).div_(self._node_groups.size)
        self._node_groups.sum(sent)
        if sent is not gradients:
            gradients.copy_(sent)
        return gradients
