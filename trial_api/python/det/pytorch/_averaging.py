"""The strategies local_sgd and async: each rank steps alone, and now and then the ranks average."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Tuple

import torch
import torch.distributed as dist

from det.pytorch import _parallel, _strategy
from det.pytorch._ranks import Ranks
from det.pytorch._strategy import Strategy


class LocalSgd(Strategy):
    """Each rank steps alone; every `period` steps the ranks average. Stich, "Local SGD converges fast
    and communicates little", 2019."""

    def __init__(self, context: Any, ranks: Ranks, period: int) -> None:
        super().__init__(context)
        self._ranks, self._period = ranks, period
        self._differ = False

    def after_batch(self, steps: int) -> None:
        self._differ = True
        if steps % self._period == 0:
            self._average()

    def synchronize(self) -> None:
        if self._differ:
            self._average()

    def _average(self) -> None:
        _strategy.average(_weights(self._context), self._ranks)
        _strategy.average(_others(self._context), self._ranks)
        _unite(self._context, self._ranks)
        self._differ = False

    def keep(self) -> Dict[str, Any]:
        if not self._differ:
            return {}
        scaler = self._context.scaler
        return {
            "ranks": self._ranks.size,
            "models": [_copy(_parallel.unwrap(m).state_dict()) for m in self._context.models],
            "optimizers": [_copy(o.state_dict()["state"]) for o in self._context.optimizers],
            "scaler": scaler and scaler.state_dict(),
        }

    def go_on(self, kept: Dict[str, Any]) -> None:
        if kept.get("ranks") != self._ranks.size:
            return  # Of other ranks, their average is what there is.
        self._differ = True
        for model, state in zip(self._context.models, kept["models"]):
            _parallel.unwrap(model).load_state_dict(state)
        for optimizer, state in zip(self._context.optimizers, kept["optimizers"]):
            _set_state(optimizer, state)
        scaler = self._context.scaler
        if scaler is not None and kept["scaler"]:
            scaler.load_state_dict(kept["scaler"])


class AsyncAveraging(LocalSgd):
    """Each rank steps alone; every `period` steps an average of all weights is begun, which goes on
    beside training, and `period` steps later it is taken in: each rank moves by what the average was
    away from its own weights then. So no rank waits for the network, what is taken in is `period`
    steps old, and a run repeats exactly. Shen et al., "Faster distributed deep net training:
    computation and communication decoupled SGD" (CoCoD-SGD), 2019."""

    def __init__(self, context: Any, ranks: Ranks, period: int) -> None:
        super().__init__(context, ranks, period)
        self._group = dist.new_group()  # Nothing else must wait for what it has under way.
        self._under_way: List[Tuple[List[torch.Tensor], torch.Tensor, torch.Tensor, Any]] = []

    def after_batch(self, steps: int) -> None:
        self._differ = True
        if steps % self._period == 0:
            self._take_in()
            self._begin()

    def synchronize(self) -> None:
        self._take_in()
        super().synchronize()

    def keep(self) -> Dict[str, Any]:
        kept = super().keep()
        for *_, work in self._under_way:
            work.wait()
        if kept:
            kept["under_way"] = [(own, total.clone()) for _, own, total, _ in self._under_way]
        return kept

    def go_on(self, kept: Dict[str, Any]) -> None:
        super().go_on(kept)
        if self._differ and kept["under_way"]:
            chunks = _strategy.chunks(_weights(self._context))
            self._under_way = [
                (tensors, own.to(tensors[0].device), total.to(tensors[0].device), _Done())
                for tensors, (own, total) in zip(chunks, kept["under_way"])
            ]

    def _begin(self) -> None:
        for tensors in _strategy.chunks(_weights(self._context)):
            own = _strategy.concatenated(tensors)
            total = own.clone()
            work = dist.all_reduce(total, group=self._group, async_op=True)
            self._under_way.append((tensors, own, total, work))

    def _take_in(self) -> None:
        for tensors, own, total, work in self._under_way:
            work.wait()
            move = total.div_(self._ranks.size).sub_(own)
            for tensor, part in zip(tensors, _strategy.split(move, tensors)):
                tensor.add_(part)
        self._under_way = []


class _Done:
    """Of an exchange that has ended."""

    def wait(self) -> None:
        pass


def _unite(context: Any, ranks: Ranks) -> None:
    """What belongs to the weights: the optimizers' state is averaged, buffers and a scaler are the
    chief's."""
    places = _places(context.optimizers)
    own = {place: _state_of(o, p) for place, (o, p) in places.items()}
    shapes = {
        place: [(name, tuple(t.shape), str(t.dtype)) for name, t in state]
        for place, state in own.items()
    }
    told = ranks.broadcast(ranks.gather(shapes))
    for place, (optimizer, parameter) in places.items():
        if any(each[place] != shapes[place] for each in told):
            # A rank that had no gradient of it, or whose scaler skipped its steps, knows nothing: all
            # begin anew.
            optimizer.state.pop(parameter, None)
            own.pop(place)
    _strategy.average([tensor for state in own.values() for _, tensor in state], ranks)
    _parallel.broadcast_buffers(context.models, ranks)
    scaler = context.scaler
    if scaler is not None:
        scaler.load_state_dict(ranks.broadcast(scaler.state_dict()))


def _copy(state: Any) -> Any:
    if isinstance(state, torch.Tensor):
        return state.detach().clone()
    if isinstance(state, dict):
        return {name: _copy(value) for name, value in state.items()}
    return state


def _set_state(optimizer: torch.optim.Optimizer, kept: Dict[Any, Any]) -> None:
    """What its state_dict() had, by the numbers of parameters."""
    parameters = list(_strategy.parameters_of(optimizer))
    optimizer.state.clear()
    for number, state in kept.items():
        of = parameters[number] if isinstance(number, int) else number
        optimizer.state[of] = {
            name: value.to(of.device) if _lies_with(of, name, value) else value
            for name, value in state.items()
        }


def _lies_with(parameter: Any, name: str, value: Any) -> bool:
    return isinstance(value, torch.Tensor) and isinstance(parameter, torch.Tensor) and name != "step"


_Place = Tuple[int, int]  # Of a parameter: which optimizer's, and which of its own.


def _places(
    optimizers: Iterable[torch.optim.Optimizer],
) -> Dict[_Place, Tuple[torch.optim.Optimizer, torch.nn.Parameter]]:
    return {
        (i, j): (optimizer, parameter)
        for i, optimizer in enumerate(optimizers)
        for j, parameter in enumerate(_strategy.parameters_of(optimizer))
    }


def _state_of(
    optimizer: torch.optim.Optimizer, parameter: torch.nn.Parameter
) -> List[Tuple[str, torch.Tensor]]:
    """Tensors that lie where the parameter does: a GPU's ranks exchange no others."""
    return [
        (name, value)
        for name, value in sorted(optimizer.state.get(parameter, {}).items())
        if isinstance(value, torch.Tensor)
        and value.is_floating_point()
        and value.device == parameter.device
    ]


def _weights(context: Any) -> List[torch.Tensor]:
    return _strategy.unique(
        p.data for model in context.models for p in model.parameters() if p.requires_grad
    )


def _others(context: Any) -> List[torch.Tensor]:
    """What no gradient moves but the Trial may: moving averages of weights, for one."""
    return _strategy.unique(
        p.data
        for model in context.models
        for p in model.parameters()
        if not p.requires_grad and p.is_floating_point()
    )


