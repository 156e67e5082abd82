"""Which part of a global batch a rank reads."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import List

import torch

from det.pytorch._optimizations import Optimizations
from det.pytorch._ranks import Ranks

# Of all ranks in order, where a process has several: [2, 2]. det.launch sets it.
SLOTS_OF_RANKS = "DET_SLOTS_OF_RANKS"


@dataclasses.dataclass(frozen=True)
class Share:
    """The parts from number `first` on, `slots` of them, where each of `total` slots has one."""

    first: int = 0
    slots: int = 1
    total: int = 1

    @property
    def fraction(self) -> float:
        return self.slots / self.total


def find(ranks: Ranks, told: Optimizations, device: torch.device) -> Share:
    """This rank's; all of it where all ranks work on the same records. Raises ValueError where a
    strategy needs processes that are others."""
    if ranks.alone or told.strategy == "pipeline":
        return Share()
    if told.strategy != "in_process":
        return Share(ranks.rank, 1, ranks.size)
    slots = _slots_of_ranks(ranks, device)
    return Share(sum(slots[: ranks.rank]), slots[ranks.rank], sum(slots))


def _slots_of_ranks(ranks: Ranks, device: torch.device) -> List[int]:
    known = os.environ.get(SLOTS_OF_RANKS)
    if known is None and ranks.size == 1:  # Off the cluster: all that this machine has.
        return [torch.cuda.device_count() if device.type == "cuda" else 1]
    try:
        slots = json.loads(known or "null")
        usable = len(slots) == ranks.size and all(int(number) >= 1 for number in slots)
    except (TypeError, ValueError):
        usable = False
    if not usable:
        raise ValueError(
            f"optimizations.strategy in_process takes one process a node, which is told the slots of "
            f"all; there are {ranks.size}, and ${SLOTS_OF_RANKS} is {known!r}: start the program "
            "with python3 -m det.launch.torch_distributed, without a number of processes"
        )
    return [int(number) for number in slots]
