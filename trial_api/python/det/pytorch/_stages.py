"""The strategy pipeline: what Trials wrap, and the whole of what the stages (_pipeline.py) keep in
parts, for checkpoints."""

from __future__ import annotations

from typing import Any, Dict, List

import torch

from det.pytorch import _parallel, _pipeline, _random
from det.pytorch._ranks import Ranks
from det.pytorch._strategy import InParts

_Options = Dict[str, Any]


class Pipeline(InParts):
    """Each rank has one stage of each model, and of the optimizers what belongs to it. A checkpoint has
    the names and the order of the whole."""

    def __init__(self, context: Any, ranks: Ranks, micro_batches: int) -> None:
        super().__init__(context, ranks)
        self._micro_batches = micro_batches
        self._passes = (-1, 0)  # The batch, and how many forward passes it had.

    def wrap(self, model: torch.nn.Module) -> Any:
        if not any(parameter.requires_grad for parameter in model.parameters()):
            return None  # Whole on each rank.
        if not isinstance(model, torch.nn.Sequential):
            raise ValueError(
                "optimizations.strategy pipeline cuts a torch.nn.Sequential into stages, and "
                f"wrap_model() was given a {type(model).__name__}: write the model as a Sequential, or "
                "choose another strategy"
            )
        model.to(self._context.device)
        _parallel.broadcast_weights(model)
        return _pipeline.Pipe(model, self._ranks, self._micro_batches, self._next_seed)

    def _next_seed(self) -> int:
        """Another one for each forward pass and stage, the same in a run that resumed."""
        batch = self._context.current_train_batch() or 0
        known, count = self._passes
        self._passes = (batch, count + 1 if known == batch else 1)
        return _random.derive(self._context.get_trial_seed(), self._ranks.rank, *self._passes)

    def check_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        known = {id(p) for model in self._context.models for p in model.parameters()}
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) in known:
                    continue
                where = (
                    "another slot's stage of the model"
                    if hasattr(parameter, "_det_other_stage")
                    else "no wrapped model"
                )
                raise ValueError(
                    f"an optimizer has a parameter of {where}: under optimizations.strategy pipeline "
                    "give it parameters() of what wrap_model() returned"
                )

    def _whole_model(self, model: torch.nn.Module) -> Dict[str, Any]:
        own = {name: _on_host(value) for name, value in model.state_dict().items()}
        if not isinstance(model, _pipeline.Pipe):
            return own
        parts = self._ranks.gather(own) or []
        return {name: value for part in parts for name, value in part.items()}

    def _whole_optimizer(self, optimizer: torch.optim.Optimizer) -> Dict[str, Any]:
        return merge(self._ranks.gather(_on_host(optimizer.state_dict())) or [])

    def load_model(self, model: torch.nn.Module, state: Dict[str, Any]) -> None:
        if isinstance(model, _pipeline.Pipe):
            others = set(model.whole_names) - set(model.state_dict())
            state = {name: value for name, value in state.items() if name not in others}
        model.load_state_dict(state)

    def load_optimizer(self, optimizer: torch.optim.Optimizer, state: Dict[str, Any]) -> None:
        own = [len(group["params"]) for group in optimizer.param_groups]
        counts = self._ranks.broadcast(self._ranks.gather(own))
        optimizer.load_state_dict(part_of(state, counts, self._ranks.rank))


def merge(parts: List[_Options]) -> _Options:
    """Of state_dict()s of optimizers with the stages' parameters, that of one with all of them. {} of
    none."""
    if not parts:
        return {}
    whole: _Options = {"state": {}, "param_groups": []}
    number = 0
    for i, group in enumerate(parts[0]["param_groups"]):
        begin = number
        for part in parts:
            for own in part["param_groups"][i]["params"]:
                if own in part["state"]:
                    whole["state"][number] = part["state"][own]
                number += 1
        merged = {**group, "params": list(range(begin, number))}
        if "param_names" in group:
            merged["param_names"] = [
                name for part in parts for name in part["param_groups"][i]["param_names"]
            ]
        whole["param_groups"].append(merged)
    return whole


def part_of(whole: _Options, counts: List[List[int]], rank: int) -> _Options:
    """What merge() was given of that rank. counts: of each rank, parameters in each group.

    Raises:
        ValueError: they are not as many as the whole has.
    """
    wanted = [sum(column) for column in zip(*counts)]
    found = [len(group["params"]) for group in whole["param_groups"]]
    if wanted != found:
        raise ValueError(f"an optimizer has groups of {wanted} parameters, and there are {found}")
    own: _Options = {"state": {}, "param_groups": []}
    number = 0
    for i, group in enumerate(whole["param_groups"]):
        begin = sum(of_rank[i] for of_rank in counts[:rank])
        places = slice(begin, begin + counts[rank][i])
        numbers = list(range(number, number + counts[rank][i]))
        for mine, theirs in zip(numbers, group["params"][places]):
            if theirs in whole["state"]:
                own["state"][mine] = whole["state"][theirs]
        part = {**group, "params": numbers}
        if "param_names" in group:
            part["param_names"] = group["param_names"][places]
        own["param_groups"].append(part)
        number += len(numbers)
    return own


def _on_host(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if isinstance(value, dict):
        return {name: _on_host(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_on_host(one) for one in value]
    return value
