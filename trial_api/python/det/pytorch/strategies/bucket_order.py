"""Which gradients share a bucket of DistributedDataParallel in a run that resumed.

torch rearranges the buckets of a model after the first backward pass with communication, in the
order in which the gradients arrived. If three ranks or more add them, the order of the sum depends
on a gradient's place in its bucket, and so do the last bits. With compression `int8`, a bucket has
one scale. So a checkpoint contains that order, and a run that resumes makes a backward pass of
zeros in it before its first step.
"""

from __future__ import annotations

from typing import Callable, Protocol, cast

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.hooks import RemovableHandle

from det.pytorch.strategies.in_process import unwrap_replicas


class _Reducer(Protocol):
    """The methods of the reducer of DistributedDataParallel that are used."""

    def prepare_for_forward(self) -> object: ...

    def prepare_for_backward(self, outputs: list[torch.Tensor], /) -> object: ...

    def _rebuild_buckets(self) -> bool: ...


class GradientOrderRecorder:
    """Records the order of the gradients in the first backward pass with communication."""

    def __init__(self, model: DistributedDataParallel) -> None:
        """Registers hooks on the parameters.

        Args:
            model: A DistributedDataParallel that was just created.
        """
        self._model = model
        self._names: dict[str, None] = {}  # In order of arrival.
        self._hooks: list[RemovableHandle] = []
        self._forward_begun = False
        if not _is_rebuildable(model):
            return
        for name, parameter in _get_exchanged_parameters(model).items():
            # The node that accumulates the gradient in the parameter, where torch's hook is as
            # well.
            view = parameter.expand_as(parameter)
            assert view.grad_fn is not None
            accumulator = view.grad_fn.next_functions[0][0]
            assert accumulator is not None
            self._hooks.append(accumulator.register_hook(self._make_hook(name)))
        self._expected = len(self._hooks)

    def begin_pass(self) -> None:
        """Called before a forward pass of the model.

        A forward pass of a part of the model does not call it, and exchanges no gradients.
        """
        if self._hooks and torch.is_grad_enabled() and self._model.require_backward_grad_sync:
            self._forward_begun = True

    def _make_hook(self, name: str) -> Callable[..., None]:
        def record(*_: object) -> None:
            if self._forward_begun and self._model.require_backward_grad_sync and self._hooks:
                self._names[name] = None
                if len(self._names) == self._expected:
                    self._remove_hooks()

        return record

    def _remove_hooks(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    @property
    def missing(self) -> list[str]:
        """The names of the parameters without a gradient, if others have one."""
        if not self._names or not self._hooks or not _is_rebuildable(self._model):
            return []
        return [name for name in _get_exchanged_parameters(self._model) if name not in self._names]

    @property
    def order(self) -> list[str] | None:
        """The names of the parameters in order; None before all gradients have arrived."""
        done = self._names and not self._hooks and _is_rebuildable(self._model)
        return list(self._names) if done else None


def rebuild_buckets(model: DistributedDataParallel, order: list[str]) -> bool:
    """Arranges the buckets as in a run whose gradients arrived in this order. Collective.

    Called before the first batch. The gradients are zeros after it.

    Args:
        model: A DistributedDataParallel.
        order: The names of its parameters.

    Returns:
        False if nothing was done, because the order is not of this model or torch has no such API.
        The last bits of sums may differ then.
    """
    parameters = _get_exchanged_parameters(model)
    if set(order) != set(parameters) or not _is_rebuildable(model):
        return False
    reducer = cast(_Reducer, model.reducer)
    if not hasattr(reducer, "_rebuild_buckets"):
        return False
    reducer.prepare_for_forward()
    reducer.prepare_for_backward([])
    for name in order:
        parameter = parameters[name]
        torch.autograd.backward(parameter.expand_as(parameter), torch.zeros_like(parameter))
    # Now instead of in the next forward pass: gradients of the checkpoint are put into the buckets.
    reducer._rebuild_buckets()
    return True


def _is_rebuildable(model: DistributedDataParallel) -> bool:
    """Returns whether a backward pass of zeros arranges the buckets as a real one.

    The buckets of other models do not change. A static graph may be set after the model is created.
    """
    static = getattr(model, "static_graph", False)
    return not (static or model.find_unused_parameters or find_sparse_gradients(model))


def _get_exchanged_parameters(model: DistributedDataParallel) -> dict[str, torch.nn.Parameter]:
    """Returns the parameters whose gradients are exchanged, by their names in the Trial's model.

    On nodes with several slots the wrapped model has other names.
    """
    ignored = getattr(model, "parameters_to_ignore", ())
    return {
        name: parameter
        for name, parameter in unwrap_replicas(model.module).named_parameters()
        if parameter.requires_grad and name not in ignored
    }


def find_sparse_gradients(model: torch.nn.Module) -> set[str]:
    """Returns the names of the parameters with sparse gradients."""
    kinds = (torch.nn.Embedding, torch.nn.EmbeddingBag)
    return {
        f"{name}.weight" if name else "weight"
        for name, module in model.named_modules()
        if isinstance(module, kinds) and module.sparse
    }
