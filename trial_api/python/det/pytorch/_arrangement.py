"""Which gradients share a bucket of DistributedDataParallel, in a run that resumed.

Torch arranges a model's buckets anew after the first backward pass whose gradients travelled, by the
order in which they came. Where three ranks or more add them up, the order of the sum depends on a
gradient's place in its bucket, and so do the last bits; with `int8`, a bucket has one scale. So a
checkpoint has that order, and a run that resumed makes a pass of zeros in it before its first step.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Set

import torch

from det.pytorch import _replicas


class Arrival:
    """Listens to the first backward pass whose gradients travel.

    Args:
        model: a DistributedDataParallel, just made.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._names: Dict[str, None] = {}  # In the order in which they came.
        self._hooks: List[Any] = []
        self._prepared = False
        if not _can_be_arranged(model):
            return
        for name, parameter in _parameters(model).items():
            # What adds the gradient to the parameter: torch listens there, too.
            node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
            self._hooks.append(node.register_hook(self._listener(name)))
        self._wanted = len(self._hooks)

    def begin_pass(self) -> None:
        """A forward pass of the model begins, not of a part of it, of which no gradients travel."""
        if self._hooks and torch.is_grad_enabled() and self._model.require_backward_grad_sync:
            self._prepared = True

    def _listener(self, name: str) -> Any:
        def heard(*_: Any) -> None:
            if self._prepared and self._model.require_backward_grad_sync and self._hooks:
                self._names[name] = None
                if len(self._names) == self._wanted:
                    self._end()

        return heard

    def _end(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    @property
    def missing(self) -> List[str]:
        """Names of those that have not come yet, where others have."""
        if not self._names or not self._hooks or not _can_be_arranged(self._model):
            return []
        return [name for name in _parameters(self._model) if name not in self._names]

    @property
    def order(self) -> Optional[List[str]]:
        """Names of parameters; None before all have come."""
        done = self._names and not self._hooks and _can_be_arranged(self._model)
        return list(self._names) if done else None


def arrange(model: Any, order: List[str]) -> bool:
    """Collective, before the first batch: its buckets become what they are in a run whose gradients
    came in this order. Leaves gradients of zeros. False, and nothing happens, where that order is not
    this model's."""
    parameters = _parameters(model)
    if set(order) != set(parameters) or not _can_be_arranged(model):
        return False
    if not hasattr(model.reducer, "_rebuild_buckets"):
        return False  # Of a torch that keeps it to itself: the last bits are others then.
    model.reducer.prepare_for_forward()
    model.reducer.prepare_for_backward([])
    for name in order:
        parameter = parameters[name]
        torch.autograd.backward(parameter.expand_as(parameter), torch.zeros_like(parameter))
    # Now, and not in the next forward pass: a gradient that a checkpoint has would go into a bucket.
    model.reducer._rebuild_buckets()
    return True


def _can_be_arranged(model: Any) -> bool:
    """Else a pass of zeros would be another one; such buckets stay as they are. A static graph may be
    told after the model was made."""
    static = getattr(model, "static_graph", False)
    return not (static or model.find_unused_parameters or with_sparse_gradients(model))


def _parameters(model: Any) -> Dict[str, torch.nn.Parameter]:
    """Those whose gradients travel, by the Trial's names: on nodes of several slots torch has others."""
    ignored = getattr(model, "parameters_to_ignore", ())
    return {
        name: parameter
        for name, parameter in _replicas.unwrap(model.module).named_parameters()
        if parameter.requires_grad and name not in ignored
    }


def with_sparse_gradients(model: torch.nn.Module) -> Set[str]:
    """Names of parameters."""
    kinds = (torch.nn.Embedding, torch.nn.EmbeddingBag)
    return {
        f"{name}.weight" if name else "weight"
        for name, module in model.named_modules()
        if isinstance(module, kinds) and module.sparse
    }
