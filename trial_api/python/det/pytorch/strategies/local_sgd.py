"""The strategies local_sgd and async: each rank steps alone, and periodically the ranks average."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

import torch
import torch.distributed as dist

from det.pytorch.distributed.collectives import (
    average_tensors,
    chunk_tensors,
    flatten_tensors,
    unflatten_tensors,
    unique_tensors,
)
from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.strategies.base import Strategy, StrategyContext, get_parameters
from det.pytorch.strategies.data_parallel import broadcast_buffers, unwrap_model
from det.pytorch.utilities.types import StateDict, StateTree, Work

if TYPE_CHECKING:
    from det.pytorch.utilities.types import TorchGroup


class LocalSgdStrategy(Strategy):
    """Each rank steps alone; every `period` steps the ranks average weights and optimizer state.

    Stich, "Local SGD converges fast and communicates little", 2019.
    """

    def __init__(self, context: StrategyContext, process_group: ProcessGroup, period: int) -> None:
        super().__init__(context)
        self._process_group, self._period = process_group, period
        self._models_differ = False

    def after_batch(self, steps: int) -> None:
        self._models_differ = True
        if steps % self._period == 0:
            self._average()

    def synchronize(self) -> None:
        if self._models_differ:
            self._average()

    def _average(self) -> None:
        average_tensors(_trained_weights(self._context), self._process_group)
        average_tensors(_untrained_weights(self._context), self._process_group)
        _synchronize_other_state(self._context, self._process_group)
        self._models_differ = False

    def save_local_state(self) -> StateDict:
        if not self._models_differ:
            return {}
        scaler = self._context.scaler
        models, optimizers = self._context.models, self._context.optimizers
        return {
            "ranks": self._process_group.size,
            "models": [_copy(unwrap_model(model).state_dict()) for model in models],
            "optimizers": [_copy(one.state_dict()["state"]) for one in optimizers],
            "scaler": scaler and scaler.state_dict(),
        }

    def restore_local_state(self, saved: StateDict) -> None:
        if saved.get("ranks") != self._process_group.size:
            return  # Ranks of another number continue from the average.
        self._models_differ = True
        for model, state in zip(self._context.models, saved["models"]):
            unwrap_model(model).load_state_dict(state)
        for optimizer, state in zip(self._context.optimizers, saved["optimizers"]):
            _load_optimizer_state(optimizer, state)
        scaler = self._context.scaler
        if scaler is not None and saved["scaler"]:
            scaler.load_state_dict(saved["scaler"])


class _CompletedWork:
    """A collective that completed in an earlier attempt."""

    def wait(self) -> None:
        pass


class _PendingAverage(NamedTuple):
    tensors: list[torch.Tensor]
    own: torch.Tensor  # This rank's values when the all-reduce began, flattened.
    total: torch.Tensor  # The sum over the ranks, after work.wait().
    work: Work


class AsyncLocalSgdStrategy(LocalSgdStrategy):
    """Each rank steps alone, and the ranks average beside training.

    Every `period` steps an average of all weights begins. `period` steps later each rank adds the
    difference between that average and its own weights of that time. So no rank waits for the
    network, the average is `period` steps old, and a run is repeatable exactly.

    Shen et al., "Faster distributed deep net training: computation and communication decoupled SGD"
    (CoCoD-SGD), 2019.
    """

    def __init__(self, context: StrategyContext, process_group: ProcessGroup, period: int) -> None:
        super().__init__(context, process_group, period)
        # Other collectives must not wait for the pending averages.
        self._group = cast("TorchGroup", dist.new_group())
        self._pending: list[_PendingAverage] = []

    def after_batch(self, steps: int) -> None:
        self._models_differ = True
        if steps % self._period == 0:
            self._apply_pending()
            self._start_average()

    def synchronize(self) -> None:
        self._apply_pending()
        super().synchronize()

    def save_local_state(self) -> StateDict:
        saved = super().save_local_state()
        for pending in self._pending:
            pending.work.wait()
        if saved:
            saved["under_way"] = [(one.own, one.total.clone()) for one in self._pending]
        return saved

    def restore_local_state(self, saved: StateDict) -> None:
        super().restore_local_state(saved)
        if self._models_differ and saved["under_way"]:
            chunks = chunk_tensors(_trained_weights(self._context))
            self._pending = [
                _PendingAverage(
                    tensors,
                    own.to(tensors[0].device),
                    total.to(tensors[0].device),
                    _CompletedWork(),
                )
                for tensors, (own, total) in zip(chunks, saved["under_way"])
            ]

    def _start_average(self) -> None:
        for tensors in chunk_tensors(_trained_weights(self._context)):
            own = flatten_tensors(tensors)
            total = own.clone()
            work: Work = dist.all_reduce(total, group=self._group, async_op=True)
            self._pending.append(_PendingAverage(tensors, own, total, work))

    def _apply_pending(self) -> None:
        for tensors, own, total, work in self._pending:
            work.wait()
            difference = total.div_(self._process_group.size).sub_(own)
            for tensor, part in zip(tensors, unflatten_tensors(difference, tensors)):
                tensor.add_(part)
        self._pending = []


def _synchronize_other_state(context: StrategyContext, process_group: ProcessGroup) -> None:
    """Averages the optimizer state, and broadcasts the chief's buffers and loss scaler."""
    indexed = _index_parameters(context.optimizers)
    own = {index: _get_tensor_state(o, p) for index, (o, p) in indexed.items()}
    shapes = {
        index: [(name, tuple(t.shape), str(t.dtype)) for name, t in state]
        for index, state in own.items()
    }
    shapes_of_ranks = process_group.broadcast(process_group.gather(shapes)) or []
    for index, (optimizer, parameter) in indexed.items():
        if any(each[index] != shapes[index] for each in shapes_of_ranks):
            # A rank without a gradient for it, or whose scaler skipped its steps, has no state: all
            # ranks start anew.
            optimizer.state.pop(parameter, None)
            own.pop(index)
    average_tensors([tensor for state in own.values() for _, tensor in state], process_group)
    broadcast_buffers(context.models, process_group)
    scaler = context.scaler
    if scaler is not None:
        scaler.load_state_dict(process_group.broadcast(scaler.state_dict()))


def _copy(state: StateTree) -> StateTree:
    if isinstance(state, torch.Tensor):
        return state.detach().clone()
    if isinstance(state, dict):
        return {name: _copy(value) for name, value in state.items()}
    return state


def _load_optimizer_state(
    optimizer: torch.optim.Optimizer, saved: Mapping[int | torch.nn.Parameter, StateDict]
) -> None:
    """Loads the entry `state` of a state_dict(), which has the parameters by index."""
    parameters = list(get_parameters(optimizer))
    optimizer.state.clear()
    for index, state in saved.items():
        parameter = parameters[index] if isinstance(index, int) else index
        optimizer.state[parameter] = {
            name: value.to(parameter.device) if _follows_device(parameter, name, value) else value
            for name, value in state.items()
        }


def _follows_device(parameter: object, name: str, value: object) -> bool:
    """Returns whether the value is kept on the device of the parameter."""
    return (
        isinstance(value, torch.Tensor) and isinstance(parameter, torch.Tensor) and name != "step"
    )


_Index = tuple[int, int]  # The index of an optimizer, and of one of its parameters.


def _index_parameters(
    optimizers: Iterable[torch.optim.Optimizer],
) -> dict[_Index, tuple[torch.optim.Optimizer, torch.nn.Parameter]]:
    return {
        (i, j): (optimizer, parameter)
        for i, optimizer in enumerate(optimizers)
        for j, parameter in enumerate(get_parameters(optimizer))
    }


def _get_tensor_state(
    optimizer: torch.optim.Optimizer, parameter: torch.nn.Parameter
) -> list[tuple[str, torch.Tensor]]:
    """Returns the tensors on the parameter's device; the backend of a GPU exchanges no others."""
    return [
        (name, value)
        for name, value in sorted(optimizer.state.get(parameter, {}).items())
        if isinstance(value, torch.Tensor)
        and value.is_floating_point()
        and value.device == parameter.device
    ]


def _trained_weights(context: StrategyContext) -> list[torch.Tensor]:
    return unique_tensors(
        p.data for model in context.models for p in model.parameters() if p.requires_grad
    )


def _untrained_weights(context: StrategyContext) -> list[torch.Tensor]:
    """Returns weights without gradients that the Trial may change, such as moving averages."""
    return unique_tensors(
        p.data
        for model in context.models
        for p in model.parameters()
        if not p.requires_grad and p.is_floating_point()
    )
