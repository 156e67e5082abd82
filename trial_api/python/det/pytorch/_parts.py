"""The state of optimizers, divided among the ranks for a checkpoint: each writes about as much of it,
the chief the weights too. All ranks have all of the state, or each its own of a
ZeroRedundancyOptimizer's.
"""

from __future__ import annotations

from typing import Any, Dict, List

import torch

from det.pytorch import _strategy
from det.pytorch._callback import Callbacks

# Of weights, an optimizer's state is about as many numbers twice: Adam's, say.
_STATES_OF_WEIGHT = 2


def divides(context: Any, callbacks: Callbacks) -> bool:
    """Alike on all ranks. Not where a callback is shown what is saved, and may change it."""
    return (
        context._ranks.size > 1
        and context._strategy.divides_state
        and not callbacks.hear("on_checkpoint_save_start")
    )


def own(context: Any) -> List[Dict[str, Any]]:
    """What optimizers_state() gives, with the part of the state that this rank writes; of the others
    than the chief, nothing else."""
    return [_own(context, optimizer) for optimizer in context.optimizers]


def add(whole: Dict[str, Any], part: Dict[str, Any]) -> None:
    """The part of another rank."""
    whole["state"].update(part["state"])


def _own(context: Any, optimizer: torch.optim.Optimizer) -> Dict[str, Any]:
    ranks = context._ranks
    parameters = list(_strategy.parameters_of(optimizer))
    if _strategy.is_sharded(optimizer):
        # Its own state_dict() wants the whole of it.
        told = torch.optim.Optimizer.state_dict(optimizer)
        places = {parameter: place for place, parameter in enumerate(parameters)}
        held = optimizer.optim.state  # type: ignore[attr-defined]
        state = {places[parameter]: value for parameter, value in held.items()}
    else:
        told = optimizer.state_dict()
        weights = sum(p.numel() for model in context.models for p in model.parameters())
        writers = balanced(
            [parameter.numel() for parameter in parameters], ranks.size, weights // _STATES_OF_WEIGHT
        )
        by_place = dict(enumerate(writers))  # What belongs to no parameter is the chief's.
        state = {k: v for k, v in told["state"].items() if by_place.get(k, 0) == ranks.rank}
    return {**told, "state": state} if ranks.is_chief else {"state": state}


def balanced(sizes: List[int], ranks: int, others_of_chief: int = 0) -> List[int]:
    """The rank of each, so that all have about as much, where the chief has so much else."""
    load = [others_of_chief] + [0] * (ranks - 1)
    owners = [0] * len(sizes)
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        owners[place] = load.index(min(load))
        load[owners[place]] += sizes[place]
    return owners
