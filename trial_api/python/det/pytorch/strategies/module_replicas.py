"""Replicas of a module for threads that compute at once.

Autograd sees one module: the gradients of the replicas are added in the order of the replicas,
regardless of which thread is first.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import cast

import torch
from torch.autograd.function import FunctionCtx

from det.pytorch.utilities.types import ModelValue


class _FanOut(torch.autograd.Function):
    """Makes several tensors of one; backward() adds their gradients."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, *args: ModelValue, **kwargs: ModelValue
    ) -> tuple[torch.Tensor, ...]:
        tensor, count = args
        ctx.set_materialize_grads(False)
        # Not views: autograd refuses in-place operations on one of several views.
        return tuple(tensor.detach() for _ in range(count))

    @staticmethod
    def backward(
        ctx: FunctionCtx, *grad_outputs: torch.Tensor | None
    ) -> tuple[torch.Tensor | None, None]:
        present = [gradient for gradient in grad_outputs if gradient is not None]
        return (functools.reduce(torch.add, present) if present else None), None


def fan_out(tensor: torch.Tensor, count: int) -> Sequence[torch.Tensor]:
    """Returns tensors of the same memory, one for each thread.

    They are the tensor itself if no gradient is needed.

    Raises:
        RuntimeError: If it is a parameter of a lazy module that had no forward pass.
    """
    if count == 1 or not (tensor.requires_grad and torch.is_grad_enabled()):
        return [tensor] * count
    if torch.nn.parameter.is_lazy(tensor):
        raise RuntimeError(
            "a lazy module has no parameters before its first forward pass: run one before "
            "wrap_model(), which copies them to several slots"
        )
    tensors: Sequence[torch.Tensor] = _FanOut.apply(tensor, count)
    return tensors


@contextlib.contextmanager
def replicate_module(module: torch.nn.Module, count: int) -> Iterator[list[torch.nn.Module]]:
    """Yields replicas of a module for one forward pass.

    The first is the module itself. The others have copies of the buffers, and attributes that they
    set are lost.
    """
    parameters = {id(parameter): parameter for parameter in module.parameters()}
    fans = {known: fan_out(parameter, count) for known, parameter in parameters.items()}
    replicas = [module] + [_copy_module(module, {}) for _ in range(count - 1)]
    for number, replica in enumerate(replicas):
        _replace_tensors(replica, {known: fan[number] for known, fan in fans.items()})
    try:
        yield replicas
    finally:
        _replace_tensors(module, {id(fan[0]): parameters[known] for known, fan in fans.items()})


def _copy_module(
    module: torch.nn.Module, known: dict[torch.nn.Module, torch.nn.Module]
) -> torch.nn.Module:
    """Copies a module and its children, with the same parameters and copies of the buffers."""
    if module not in known:
        known[module] = copy = module.__new__(type(module))
        copy.__dict__ = dict(module.__dict__)
        copy._buffers = {
            name: None if buffer is None else buffer.clone()
            for name, buffer in module._buffers.items()
        }
        copy._parameters = dict(module._parameters)
        copy._modules = {
            name: None if child is None else _copy_module(child, known)
            for name, child in module._modules.items()
        }
    return known[module]


def _replace_tensors(module: torch.nn.Module, tensors: dict[int, torch.Tensor]) -> None:
    """Replaces parameters by other tensors.

    Recurrent modules also have lists of their parameters, which are replaced too.

    Args:
        module: The module.
        tensors: The new tensors by the ids of the old ones.
    """
    for part in module.modules():
        parameters = cast("dict[str, torch.Tensor | None]", part._parameters)
        for name, own in parameters.items():
            if id(own) in tensors:
                parameters[name] = tensors[id(own)]
        for name, value in part.__dict__.items():
            if type(value) is list and any(id(one) in tensors for one in value):
                part.__dict__[name] = [tensors.get(id(one), one) for one in value]
