"""A module for several threads that compute at once, as one to autograd: the gradients that each finds
are added in the order of the copies, whichever comes first."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import torch


class _Fan(torch.autograd.Function):
    """One tensor as several."""

    @staticmethod
    def forward(ctx: Any, *given: Any, **_: Any) -> Tuple[torch.Tensor, ...]:
        tensor, count = given
        ctx.set_materialize_grads(False)
        # No views: autograd refuses what a forward pass changes in place of one of several.
        return tuple(tensor.detach() for _ in range(count))

    @staticmethod
    def backward(ctx: Any, *gradients: Optional[torch.Tensor]) -> Any:
        there = [gradient for gradient in gradients if gradient is not None]
        return (functools.reduce(torch.add, there) if there else None), None


def fan(tensor: torch.Tensor, count: int) -> Sequence[torch.Tensor]:
    """So many, each for one thread. The tensor itself where no gradient will be asked for."""
    if count == 1 or not (tensor.requires_grad and torch.is_grad_enabled()):
        return [tensor] * count
    if torch.nn.parameter.is_lazy(tensor):
        raise RuntimeError(
            "a lazy module has no parameters before its first forward pass: make one before "
            "wrap_model(), which gives them to several slots"
        )
    views: Sequence[torch.Tensor] = _Fan.apply(tensor, count)
    return views


@contextlib.contextmanager
def of(module: torch.nn.Module, count: int) -> Iterator[List[torch.nn.Module]]:
    """The module itself first. The others have buffers of their own; attributes that they set are lost."""
    parameters = {id(parameter): parameter for parameter in module.parameters()}
    fans = {known: fan(parameter, count) for known, parameter in parameters.items()}
    copies = [module] + [_copy(module, {}) for _ in range(count - 1)]
    for number, copy in enumerate(copies):
        _give(copy, {known: views[number] for known, views in fans.items()})
    try:
        yield copies
    finally:
        _give(module, {id(views[0]): parameters[known] for known, views in fans.items()})


def _copy(module: torch.nn.Module, known: Any) -> torch.nn.Module:
    if module not in known:
        known[module] = copy = module.__new__(type(module))
        copy.__dict__ = dict(module.__dict__)
        copy._buffers = {
            name: None if buffer is None else buffer.clone()
            for name, buffer in module._buffers.items()
        }
        copy._parameters = dict(module._parameters)
        copy._modules = {
            name: None if child is None else _copy(child, known)
            for name, child in module._modules.items()
        }
    found: torch.nn.Module = known[module]
    return found


def _give(module: torch.nn.Module, tensors: Dict[int, torch.Tensor]) -> None:
    """Puts tensors in the place of others, by the ids of those; also in lists, such as recurrent nets
    have of their parameters."""
    for part in module.modules():
        for name, own in part._parameters.items():
            if id(own) in tensors:
                part._parameters[name] = tensors[id(own)]  # type: ignore[assignment]
        for name, value in part.__dict__.items():
            if type(value) is list and any(id(one) in tensors for one in value):
                part.__dict__[name] = [tensors.get(id(one), one) for one in value]
