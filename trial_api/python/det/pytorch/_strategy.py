"""How the ranks of a trial stay one net: `optimizations.strategy`; see README.md beside this.

Every method is collective, on the training thread. Between two calls of synchronize() the ranks' nets
may differ; behind it they have the same weights, buffers and state of their optimizers, so that any
of them is the checkpoint.
"""

from __future__ import annotations

import inspect
from typing import Any, Dict, Iterable, Iterator, List, Optional

import torch
import torch.distributed as dist

from det.pytorch import _parallel
from det.pytorch._optimizations import Optimizations
from det.pytorch._ranks import Ranks

_CHUNK = 64 << 20  # Bytes that travel together.


class Strategy:
    """allreduce, and what one rank does: gradients are averaged as the backward pass finds them, so
    there is nothing to do."""

    # Whether each rank has a part of the weights alone; then all compute together or none does.
    in_parts = False
    keeps_gradients = True  # In a checkpoint, where several batches make a step.
    # Whether ranks write the state of optimizers in parts, each of what it has.
    divides_state = True

    def __init__(self, context: Any) -> None:
        self._context = context

    def wrap(self, model: torch.nn.Module) -> Optional[torch.nn.Module]:
        """What a Trial computes with; None: as _parallel.wrap() has it."""
        return None

    def check_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Raises ValueError for one that cannot be stepped."""

    def before_step(self, optimizer: torch.optim.Optimizer) -> bool:
        """Whether this rank steps."""
        return True

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Behind the step, if this rank made one."""

    def after_batch(self, steps: int) -> None:
        """steps: of the optimizers, since training began; once each."""

    def synchronize(self) -> None:
        """Makes the ranks one net: before a validation and a checkpoint."""

    def keep(self) -> Dict[str, Any]:
        """Before synchronize() for a checkpoint: what this rank alone has, if the ranks differ. A
        checkpoint has it too, as checkpoints are to change nothing."""
        return {}

    def go_on(self, kept: Dict[str, Any]) -> None:
        """Behind the copy for that checkpoint, or in a run that starts from it: from what keep() gave.
        Other ranks than those of then go on from what they have."""

    def for_clipping(self, optimizer: torch.optim.Optimizer) -> Iterator[torch.nn.Parameter]:
        """What a Trial's function that clips gradients is given."""
        return parameters_of(optimizer)

    def gather(self) -> None:
        """Before the chief saves all: brings to it what ranks keep in parts."""
        for optimizer in self._context.optimizers:
            if is_sharded(optimizer):
                optimizer.consolidate_state_dict(to=0)

    def saved(self) -> None:
        """What gather() brought is needed no more."""

    def models_state(self) -> List[Dict[str, Any]]:
        """For a checkpoint, on the chief, after gather()."""
        return [dict(_parallel.unwrap(m).state_dict()) for m in self._context.models]

    def optimizers_state(self) -> List[Dict[str, Any]]:
        return [optimizer.state_dict() for optimizer in self._context.optimizers]

    def load_model(self, model: torch.nn.Module, state: Dict[str, Any]) -> None:
        """What models_state() gave; raises RuntimeError if it does not fit."""
        _parallel.unwrap(model).load_state_dict(state)

    def load_optimizer(self, optimizer: torch.optim.Optimizer, state: Dict[str, Any]) -> None:
        """What optimizers_state() gave; raises ValueError if it does not fit."""
        optimizer.load_state_dict(state)

    def loaded(self) -> None:
        """Behind the loading of a checkpoint, on every rank."""


class InParts(Strategy):
    """Each rank has a part of the weights, and steps for them; a checkpoint has the whole."""

    in_parts = True
    divides_state = False  # Of weights that are in parts, too: the chief gathers both.

    def __init__(self, context: Any, ranks: Ranks) -> None:
        super().__init__(context)
        self._ranks = ranks
        self._models: List[Dict[str, Any]] = []
        self._optimizers: List[Dict[str, Any]] = []

    def for_clipping(self, optimizer: torch.optim.Optimizer) -> Iterator[torch.nn.Parameter]:
        """And one parameter more, whose gradient has the 2-norm of all that other ranks have: so the
        norm of all that is given is that of the whole. Other norms it cannot stand for."""
        parameters = list(parameters_of(optimizer))
        yield from parameters
        squares = [p.grad.double().square().sum() for p in parameters if p.grad is not None]
        own = torch.stack(squares).sum().cpu() if squares else torch.zeros((), dtype=torch.float64)
        total = self._ranks.sum(own.clone())
        others = torch.nn.Parameter(torch.zeros(1, device=parameters[0].device))
        others.grad = (total - own).clamp(min=0).sqrt().to(others).reshape(1)
        yield others

    def gather(self) -> None:
        self._models = [self._whole_model(model) for model in self._context.models]
        self._optimizers = [self._whole_optimizer(o) for o in self._context.optimizers]

    def saved(self) -> None:
        self._models, self._optimizers = [], []

    def models_state(self) -> List[Dict[str, Any]]:
        return self._models

    def optimizers_state(self) -> List[Dict[str, Any]]:
        return self._optimizers

    # Collective; needed on the chief alone.
    def _whole_model(self, model: torch.nn.Module) -> Dict[str, Any]:
        raise NotImplementedError

    def _whole_optimizer(self, optimizer: torch.optim.Optimizer) -> Dict[str, Any]:
        raise NotImplementedError


class ParameterServer(Strategy):
    """The chief has the optimizers: it gets the mean of all gradients, steps, and gives weights and
    buffers back. The same mathematics as allreduce; the optimizers' state lies on one rank alone.
    Li et al., "Scaling distributed machine learning with the parameter server", 2014, synchronous."""

    divides_state = False

    def __init__(self, context: Any, ranks: Ranks) -> None:
        super().__init__(context)
        self._ranks = ranks

    def before_step(self, optimizer: torch.optim.Optimizer) -> bool:
        for tensors in chunks(self._gradients(optimizer)):
            flat = concatenated(tensors)
            dist.reduce(flat, dst=0)
            if self._ranks.is_chief:
                copy_back(flat.div_(self._ranks.size), tensors)
        return self._ranks.is_chief

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        broadcast(unique(p.data for p in parameters_of(optimizer)))

    def after_batch(self, steps: int) -> None:
        self.synchronize()  # The next forward pass may read them.

    def synchronize(self) -> None:
        _parallel.broadcast_buffers(self._context.models, self._ranks)

    def loaded(self) -> None:
        if not self._ranks.is_chief:
            for optimizer in self._context.optimizers:
                optimizer.state.clear()

    def _gradients(self, optimizer: torch.optim.Optimizer) -> List[torch.Tensor]:
        """Of the parameters that have one on any rank, in the same order on all: a rank that had no
        use for one counts as 0."""
        parameters = [p for p in parameters_of(optimizer) if p.requires_grad]
        if not parameters:
            return []
        there = torch.tensor([p.grad is not None for p in parameters], dtype=torch.uint8)
        there = there.to(parameters[0].device)
        dist.all_reduce(there, op=dist.ReduceOp.MAX)
        used = [p for p, is_there in zip(parameters, there.tolist()) if is_there]
        for parameter in used:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [p.grad for p in used if p.grad is not None]


def make(context: Any, ranks: Ranks, told: Optimizations) -> Strategy:
    """After the process group. Raises ValueError for what does not go together."""
    if ranks.size == 1 or told.strategy in ("allreduce", "in_process"):
        return Strategy(context)
    if told.strategy == "pipeline":
        from det.pytorch import _stages  # It is built on what is here.

        return _stages.Pipeline(context, ranks, told.pipeline_micro_batches)
    if told.strategy == "fsdp":
        from det.pytorch import _fsdp

        return _fsdp.FullySharded(context, ranks, _fsdp.load(context.device))
    if told.strategy == "parameter_server":
        return ParameterServer(context, ranks)
    from det.pytorch import _averaging

    alone = told.strategy == "local_sgd"
    kind = _averaging.LocalSgd if alone else _averaging.AsyncAveraging
    return kind(context, ranks, told.local_sgd_steps)


@torch.no_grad()
def average(tensors: List[torch.Tensor], ranks: Ranks) -> None:
    """In place."""
    for chunk in chunks(tensors):
        flat = concatenated(chunk)
        dist.all_reduce(flat)
        copy_back(flat.div_(ranks.size), chunk)


@torch.no_grad()
def broadcast(tensors: List[torch.Tensor]) -> None:
    """The chief's replace those of the others."""
    for chunk in chunks(tensors):
        flat = concatenated(chunk)
        dist.broadcast(flat, src=0)
        copy_back(flat, chunk)


def parameters_of(optimizer: torch.optim.Optimizer) -> Iterator[torch.nn.Parameter]:
    """In the order of its groups, by which a state_dict() numbers them."""
    for group in optimizer.param_groups:
        yield from group["params"]


def divide_gradients(optimizer: torch.optim.Optimizer, by: int) -> None:
    gradients = [p.grad for p in parameters_of(optimizer) if p.grad is not None]
    together = [gradient for gradient in gradients if not gradient.is_sparse]
    if together:
        torch._foreach_div_(together, by)
    for gradient in gradients:
        if gradient.is_sparse:
            gradient.div_(by)


def unique(tensors: Iterable[torch.Tensor]) -> List[torch.Tensor]:
    return list({tensor.data_ptr(): tensor for tensor in tensors}.values())


def chunks(tensors: Iterable[torch.Tensor]) -> Iterator[List[torch.Tensor]]:
    """In order; of one type and device each."""
    chunk: List[torch.Tensor] = []
    size = 0
    for tensor in tensors:
        bytes_ = tensor.numel() * tensor.element_size()
        alike = chunk and (tensor.dtype, tensor.device) == (chunk[0].dtype, chunk[0].device)
        if chunk and (not alike or size + bytes_ > _CHUNK):
            yield chunk
            chunk, size = [], 0
        chunk.append(tensor)
        size += bytes_
    if chunk:
        yield chunk


def concatenated(tensors: List[torch.Tensor]) -> torch.Tensor:
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def split(flat: torch.Tensor, tensors: List[torch.Tensor]) -> Iterator[torch.Tensor]:
    start = 0
    for tensor in tensors:
        yield flat[start : start + tensor.numel()].view_as(tensor)
        start += tensor.numel()


def copy_back(flat: torch.Tensor, tensors: List[torch.Tensor]) -> None:
    for tensor, part in zip(tensors, split(flat, tensors)):
        tensor.copy_(part)


def shard(
    optimizer: torch.optim.Optimizer, ranks: Ranks, told: Optimizations
) -> torch.optim.Optimizer:
    """The same with its state spread over the ranks, if that was asked for. Rajbhandari et al.,
    "ZeRO", 2020, stage 1. Raises ValueError for one whose ranks step together, which the strategy
    lets step alone."""
    if is_sharded(optimizer) and told.strategy != "allreduce":
        raise ValueError(
            f"ZeroRedundancyOptimizer goes with optimizations.strategy allreduce, not {told.strategy}"
        )
    if not told.shard_optimizer or ranks.size == 1 or is_sharded(optimizer):
        return optimizer
    from torch.distributed.optim import ZeroRedundancyOptimizer

    groups = [dict(group) for group in optimizer.param_groups]
    return ZeroRedundancyOptimizer(groups, optimizer_class=type(optimizer), **_arguments(optimizer))


def _arguments(optimizer: torch.optim.Optimizer) -> Dict[str, Any]:
    """What its class can be made with again. Its groups have all; torch 2.7's AdamW has among its
    defaults what it sets itself, and takes from nobody."""
    known = inspect.signature(type(optimizer).__init__).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values()):
        return dict(optimizer.defaults)
    return {name: value for name, value in optimizer.defaults.items() if name in known}


def is_sharded(optimizer: Optional[torch.optim.Optimizer]) -> bool:
    return type(optimizer).__name__ == "ZeroRedundancyOptimizer"
