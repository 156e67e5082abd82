"""The processes of a trial that train together, and the collective operations on small objects."""

from __future__ import annotations

import datetime
import os
from typing import TYPE_CHECKING, TypeVar, cast

import torch
import torch.distributed as dist

from det.pytorch.distributed import xla
from det.pytorch.utilities.types import Work

if TYPE_CHECKING:
    from det.pytorch.utilities.types import TorchGroup

_T = TypeVar("_T")


class ProcessGroup:
    """This process and those that it trains with, as torch.distributed knows them.

    All operations except the constructor of a single process are collective: every rank calls
    them, in the same order, on the training thread.

    Attributes:
        rank: The index of this process, from 0.
        size: The number of processes.
        single: True if this group was made with `single=True`.
        host_group: The torch group for tensors in host memory; None is torch's default group.
    """

    def __init__(self, single: bool = False) -> None:
        """Joins the default group of torch.distributed.

        Args:
            single: Makes a group of this process alone, regardless of torch.distributed.
        """
        self.host_group: TorchGroup | None = None
        self.single = single
        self.rank = 0
        self.size = 1
        if not single and dist.is_available() and dist.is_initialized():
            self.rank = dist.get_rank()
            self.size = dist.get_world_size()
        # Small objects are in host memory and must not wait for the computation on a GPU.
        if self.size > 1 and dist.get_backend() != "gloo":
            self.host_group = cast("TorchGroup", dist.new_group(backend="gloo"))

    def data_parallel_group(self, strategy: str) -> ProcessGroup:
        """Returns the ranks that read different records.

        Returns:
            This group, or a group of this process alone if all ranks read the same records.
        """
        return ProcessGroup(single=True) if strategy == "pipeline" else self

    @property
    def is_chief(self) -> bool:
        """Whether this is rank 0, which reports metrics and registers checkpoints."""
        return self.rank == 0

    def broadcast(self, value: _T) -> _T:
        """Returns the chief's value on every rank."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self.host_group)
        return box[0]

    def gather(self, value: _T) -> list[_T] | None:
        """Returns the values of all ranks in order on the chief, and None on the others."""
        if self.size == 1:
            return [value]
        values = [value] * self.size if self.is_chief else None  # gather_object() replaces them.
        dist.gather_object(value, values, dst=0, group=self.host_group)
        return values

    def allgather(self, value: _T) -> list[_T]:
        """Returns the values of all ranks in order on every rank."""
        if self.size == 1:
            return [value]
        values = [value] * self.size  # all_gather_object() replaces them.
        dist.all_gather_object(values, value, group=self.host_group)
        return values

    def start_max(self, numbers: torch.Tensor) -> Work:
        """Starts to replace `numbers` by the elementwise maximum over the ranks.

        Returns:
            torch's Work; `numbers` holds the result after its wait().
        """
        group = self.host_group
        work: Work = dist.all_reduce(numbers, dist.ReduceOp.MAX, group=group, async_op=True)
        return work

    def sum(self, numbers: torch.Tensor) -> torch.Tensor:
        """Replaces `numbers` by the sum over the ranks, and returns it."""
        if self.size > 1:
            dist.all_reduce(numbers, group=self.host_group)
        return numbers


def collective_timeout() -> float:
    """Returns the timeout of a collective operation in seconds: $DET_COLLECTIVE_TIMEOUT or 1800."""
    return float(os.environ.get("DET_COLLECTIVE_TIMEOUT") or 1800)


def init_process_group(device: torch.device) -> bool:
    """Initializes torch.distributed from the environment variables that a launcher sets.

    Returns:
        Whether this call initialized it. False if there is one process only, or if the script has
        initialized torch.distributed already.
    """
    size = int(os.environ.get("WORLD_SIZE") or 1)
    if size == 1 or not dist.is_available() or dist.is_initialized():
        return False
    timeout = datetime.timedelta(seconds=collective_timeout())
    if device.type == "xla":
        dist.init_process_group(xla.import_xla_backend(), init_method="xla://", timeout=timeout)
    else:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=timeout)
    return True
