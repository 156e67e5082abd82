"""`optimizations.shard_optimizer`: torch's ZeroRedundancyOptimizer.

Rajbhandari et al., "ZeRO", 2020, stage 1.
"""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Protocol

import torch

from det.pytorch.distributed.optimizations import Optimizations
from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.utilities.types import Arguments


class ZeroOptimizer(Protocol):
    """The members of torch's ZeroRedundancyOptimizer that are used.

    Attributes:
        optim: The optimizer of this rank's parameters.
    """

    optim: torch.optim.Optimizer

    def consolidate_state_dict(self, to: int = 0) -> object:
        """Gathers the state of all ranks on one."""
        ...


def shard_optimizer(
    optimizer: torch.optim.Optimizer, process_group: ProcessGroup, optimizations: Optimizations
) -> torch.optim.Optimizer:
    """Spreads the optimizer state over the ranks if the config asks for it.

    Returns:
        A ZeroRedundancyOptimizer of the same class and options, or the optimizer itself.

    Raises:
        ValueError: If the optimizer is a ZeroRedundancyOptimizer, whose ranks step together, and
            the strategy lets each rank step alone.
    """
    if is_zero_optimizer(optimizer) and optimizations.strategy != "allreduce":
        raise ValueError(
            "ZeroRedundancyOptimizer requires optimizations.strategy allreduce, and strategy is "
            f"{optimizations.strategy}"
        )
    if not optimizations.shard_optimizer or process_group.size == 1 or is_zero_optimizer(optimizer):
        return optimizer
    # Imported here because it takes long, and torch builds without distributed lack it.
    optim: ModuleType = importlib.import_module("torch.distributed.optim")
    groups = [dict(group) for group in optimizer.param_groups]
    arguments = _constructor_arguments(optimizer)
    sharded: torch.optim.Optimizer = optim.ZeroRedundancyOptimizer(
        groups, optimizer_class=type(optimizer), **arguments
    )
    return sharded


def _constructor_arguments(optimizer: torch.optim.Optimizer) -> Arguments:
    """Returns the defaults that the constructor of the optimizer's class accepts.

    The parameter groups contain all options. AdamW of torch 2.7 has defaults that it sets itself
    and does not accept as arguments.
    """
    known = inspect.signature(type(optimizer).__init__).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values()):
        return dict(optimizer.defaults)
    return {name: value for name, value in optimizer.defaults.items() if name in known}


def is_zero_optimizer(optimizer: torch.optim.Optimizer | None) -> bool:
    """Returns whether this is torch's ZeroRedundancyOptimizer."""
    return type(optimizer).__name__ == "ZeroRedundancyOptimizer"
