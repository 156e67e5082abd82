"""Which part of a global batch a rank reads."""

from __future__ import annotations

import dataclasses
import json
import os

import torch

from det.pytorch.distributed.optimizations import Optimizations
from det.pytorch.distributed.process_group import ProcessGroup

# The number of slots of each rank as JSON, such as [2, 2]. det.launch sets it.
SLOTS_OF_RANKS = "DET_SLOTS_OF_RANKS"


@dataclasses.dataclass(frozen=True)
class BatchShard:
    """A part of a global batch, which is divided into `total` equal parts, one for each slot.

    Attributes:
        first: The index of the first part of this rank.
        slots: The number of parts of this rank: those of its slots.
        total: The number of parts of the batch.
    """

    first: int = 0
    slots: int = 1
    total: int = 1

    @property
    def fraction(self) -> float:
        """The fraction of the global batch, from 0 to 1."""
        return self.slots / self.total


def find_batch_shard(
    process_group: ProcessGroup, optimizations: Optimizations, device: torch.device
) -> BatchShard:
    """Returns this rank's part, or the whole batch if all ranks compute on the same records.

    Raises:
        ValueError: If strategy in_process is used with several processes on a node.
    """
    if process_group.single or optimizations.strategy == "pipeline":
        return BatchShard()
    if optimizations.strategy != "in_process":
        return BatchShard(process_group.rank, 1, process_group.size)
    slots = _slots_of_ranks(process_group, device)
    return BatchShard(sum(slots[: process_group.rank]), slots[process_group.rank], sum(slots))


def _slots_of_ranks(process_group: ProcessGroup, device: torch.device) -> list[int]:
    value = os.environ.get(SLOTS_OF_RANKS)
    if value is None and process_group.size == 1:  # Off the cluster: all GPUs of this machine.
        return [torch.cuda.device_count() if device.type == "cuda" else 1]
    try:
        slots = json.loads(value or "null")
        valid = len(slots) == process_group.size and all(int(number) >= 1 for number in slots)
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(
            f"optimizations.strategy in_process needs one process for each node, and "
            f"${SLOTS_OF_RANKS} with the number of slots of each; there are {process_group.size} "
            f"processes, and ${SLOTS_OF_RANKS} is {value!r}: start the program with "
            "python3 -m det.launch.torch_distributed, without a number of processes"
        )
    return [int(number) for number in slots]
