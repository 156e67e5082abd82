"""Divides the optimizer state among the ranks for a checkpoint.

The chief also writes the weights, and therefore less optimizer state, so that all ranks write about
the same number of bytes. Each rank holds the complete state, or, with ZeroRedundancyOptimizer, only
its part.
"""

from __future__ import annotations

from typing import cast

import torch

from det.pytorch.strategies.base import get_parameters
from det.pytorch.strategies.zero import ZeroOptimizer, is_zero_optimizer
from det.pytorch.trial.callbacks import CallbackList
from det.pytorch.trial.context import PyTorchTrialContext
from det.pytorch.utilities.types import StateDict

# The assumed number of state values per weight: that of Adam.
_STATE_PER_WEIGHT = 2


def partitions_optimizer_state(context: PyTorchTrialContext, callbacks: CallbackList) -> bool:
    """Returns whether each rank writes a part; the same on all ranks.

    The chief writes everything if a callback may change what is saved.
    """
    return (
        context._process_group.size > 1
        and context._strategy.partitions_optimizer_state
        and not callbacks.implements("on_checkpoint_save_start")
    )


def collect_partition(context: PyTorchTrialContext) -> list[StateDict]:
    """Returns the state_dict() of each optimizer with the part of `state` that this rank writes.

    On ranks other than the chief, the dict contains nothing else.
    """
    return [_collect(context, optimizer) for optimizer in context.optimizers]


def merge_partition(state_dict: StateDict, part: StateDict) -> None:
    """Adds the part of another rank to a state_dict()."""
    state_dict["state"].update(part["state"])


def _collect(context: PyTorchTrialContext, optimizer: torch.optim.Optimizer) -> StateDict:
    process_group = context._process_group
    parameters = list(get_parameters(optimizer))
    state_dict: StateDict
    if is_zero_optimizer(optimizer):
        # Its own state_dict() would need the state of all ranks.
        state_dict = dict(torch.optim.Optimizer.state_dict(optimizer))
        indices: dict[torch.Tensor, int] = {
            parameter: index for index, parameter in enumerate(parameters)
        }
        held = cast(ZeroOptimizer, optimizer).optim.state
        state = {indices[parameter]: value for parameter, value in held.items()}
    else:
        state_dict = dict(optimizer.state_dict())
        weights = sum(p.numel() for model in context.models for p in model.parameters())
        writers = assign_balanced(
            [parameter.numel() for parameter in parameters],
            process_group.size,
            weights // _STATE_PER_WEIGHT,
        )
        by_index = dict(enumerate(writers))
        # The chief writes state that belongs to no parameter.
        own = process_group.rank
        state = {k: v for k, v in state_dict["state"].items() if by_index.get(k, 0) == own}
    return {**state_dict, "state": state} if process_group.is_chief else {"state": state}


def assign_balanced(sizes: list[int], ranks: int, chief_load: int = 0) -> list[int]:
    """Assigns items to ranks so that all ranks have about the same load.

    Args:
        sizes: The size of each item.
        ranks: The number of ranks.
        chief_load: The additional load of rank 0, in the unit of `sizes`.

    Returns:
        The rank of each item.
    """
    load = [chief_load] + [0] * (ranks - 1)
    owners = [0] * len(sizes)
    for index in sorted(range(len(sizes)), key=lambda index: -sizes[index]):
        owners[index] = load.index(min(load))
        load[owners[index]] += sizes[index]
    return owners
