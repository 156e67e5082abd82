"""Data parallelism: torch's DistributedDataParallel with the attributes of the model within."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Callable, Protocol, cast

import torch
from torch.nn.parallel import DistributedDataParallel

from det.pytorch.data.batch_shard import BatchShard
from det.pytorch.distributed.optimizations import Optimizations
from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.strategies.bucket_order import GradientOrderRecorder, rebuild_buckets
from det.pytorch.strategies.comm_hooks import hierarchical_hook, weighted_hook
from det.pytorch.strategies.gradient_compression import compress_gradients
from det.pytorch.strategies.hierarchical_allreduce import HierarchicalAllreduce, NodeGroups
from det.pytorch.strategies.in_process import replicate, unwrap_replicas
from det.pytorch.utilities.types import ModelValue

# What a wrapper keeps when it is built anew: the mode, and the hooks and attributes that others
# have set. The set depends on the version of torch.
_KEPT_ATTRIBUTES = {"_hook", *vars(torch.nn.Module())} - {"_parameters", "_buffers", "_modules"}


class _CommHooks(Protocol):
    """What the type information of torch 1.13 lacks of DistributedDataParallel."""

    def register_comm_hook(self, state: object, hook: Callable[..., object]) -> None: ...


class ParallelModel(DistributedDataParallel):
    """A DistributedDataParallel that also has the attributes of the model within.

    Code that reads attributes of a model on one slot works on several.
    """

    broadcast_buffers: bool
    _det_weighted = False  # Whether gradients are weighted with the records of each rank.
    _det_hierarchy: HierarchicalAllreduce | None = None

    def __init__(self, module: torch.nn.Module, **arguments: ModelValue) -> None:
        """Wraps the module. Collective.

        Args:
            module: The Trial's model.
            **arguments: Those of DistributedDataParallel.
        """
        super().__init__(module, **arguments)
        self._arguments = arguments
        self._order_recorder = GradientOrderRecorder(self)
        self._buffers_exchanged = False

    def begin_batch(self) -> None:
        """Makes the next forward pass broadcast the chief's buffers, and no other of the batch.

        Autograd refuses tensors that changed between two forward passes of one loss.
        """
        self._buffers_exchanged = False

    def forward(self, *inputs: ModelValue, **kwargs: ModelValue) -> ModelValue:
        """Computes the model within."""
        self._order_recorder.begin_pass()
        if not (self._buffers_exchanged and self.broadcast_buffers):
            # Faster than setattr() of a Module, which matters in each forward pass.
            self.__dict__["_buffers_exchanged"] = True
            return DistributedDataParallel.forward(self, *inputs, **kwargs)
        self.broadcast_buffers = False
        try:
            return DistributedDataParallel.forward(self, *inputs, **kwargs)
        finally:
            self.broadcast_buffers = True

    def register_comm_hook(self, state: object, hook: Callable[..., object]) -> None:
        """Registers a communication hook, which rebuild() registers again."""
        cast(_CommHooks, super()).register_comm_hook(state, hook)
        self._hook = (state, hook)

    def rebuild(self, megabytes: int) -> None:
        """Changes the bucket size between two batches. Collective.

        This object stays valid, with its mode, hooks and attributes.
        """
        own = {name: self.__dict__[name] for name in _KEPT_ATTRIBUTES if name in self.__dict__}
        # torch's reducer must be destroyed first: it is attached to the parameters.
        for name in ("reducer", "logger"):
            setattr(self, name, None)
        ParallelModel.__init__(self, self.module, **{**self._arguments, "bucket_cap_mb": megabytes})
        self.__dict__.update(own)
        if "_hook" in own:
            self.register_comm_hook(*own["_hook"])

    def __getattr__(self, name: str) -> ModelValue:
        modules = self.__dict__.get("_modules")
        if name == "module" and modules and name in modules:  # The fast path of a forward pass.
            return modules[name]
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("module"), name)


def wrap_data_parallel(
    model: torch.nn.Module,
    device: torch.device,
    process_group: ProcessGroup,
    optimizations: Optimizations,
    shard: BatchShard,
    node_groups: NodeGroups | None = None,
    find_unused_parameters: bool = False,
) -> torch.nn.Module:
    """Moves a model to the slot's device, and makes it data-parallel. Collective.

    Args:
        model: The Trial's model.
        device: The slot's device.
        process_group: All ranks.
        optimizations: The strategy, bucket size and compression.
        shard: This rank's part of each global batch.
        node_groups: The groups for a hierarchical all-reduce, or None.
        find_unused_parameters: Whether a batch may use only some of the parameters.

    Returns:
        The model with the chief's weights. With strategies allreduce and in_process its gradients
        are averaged over the ranks. With one rank and one slot, the model itself.
    """
    model = replicate(model.to(device), device, shard.slots)
    if process_group.size == 1:
        return model
    if not any(parameter.requires_grad for parameter in model.parameters()):
        broadcast_buffers([model], process_group)
        return model  # torch refuses a model without gradients.
    if optimizations.strategy not in ("allreduce", "in_process"):
        broadcast_weights(model)
        return model
    devices = [device] if device.type == "cuda" else None
    megabytes = optimizations.bucket_megabytes
    buckets = {} if megabytes is None else {"bucket_cap_mb": megabytes}
    wrapped = ParallelModel(
        model,
        device_ids=devices,
        gradient_as_bucket_view=True,
        find_unused_parameters=find_unused_parameters,
        **buckets,
    )
    if shard.slots * process_group.size != shard.total:
        wrapped.register_comm_hook(shard.fraction, weighted_hook)
        wrapped._det_weighted = True
    if node_groups is not None:
        wrapped._det_hierarchy = HierarchicalAllreduce(node_groups)
        wrapped.register_comm_hook(wrapped._det_hierarchy, hierarchical_hook)
    compress_gradients(wrapped, optimizations.compression, device)
    return wrapped


def check_gradients_arrived(models: Sequence[torch.nn.Module]) -> None:
    """Checks before a step that no slot still waits for gradients of another.

    torch would report it in the next forward pass, when the weights already differ.

    Raises:
        RuntimeError: If parameters have no gradient in the first step.
    """
    for model in models:
        missing = model._order_recorder.missing if isinstance(model, ParallelModel) else []
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise RuntimeError(
                f"the first step has no gradient of {', '.join(missing[:3])}{more}, and the slots wait "
                "for each other's: freeze parameters that are never used with requires_grad_(False) "
                "before wrap_model(); if other batches use them, call "
                "wrap_model(model, find_unused_parameters=True)"
            )


def get_gradient_order(model: torch.nn.Module) -> list[str] | None:
    """Returns the parameter names in the order in which torch arranged its buckets; None: not yet."""
    return model._order_recorder.order if isinstance(model, ParallelModel) else None


def restore_gradient_order(model: torch.nn.Module, order: list[str] | None) -> None:
    """Arranges buckets in the order that get_gradient_order() returned earlier. Collective."""
    if order and isinstance(model, ParallelModel):
        rebuild_buckets(model, order)


def unwrap_model(model: torch.nn.Module) -> torch.nn.Module:
    """Returns the Trial's model without wrappers."""
    inner = model.module if isinstance(model, DistributedDataParallel) else model
    return unwrap_replicas(inner)


def train_batch_scope(
    models: Sequence[torch.nn.Module], average_gradients: bool
) -> contextlib.ExitStack:
    """Returns the context manager for train_batch().

    Args:
        models: The wrapped models.
        average_gradients: Whether gradients are averaged over the ranks; otherwise they accumulate
            on each rank.
    """
    stack = contextlib.ExitStack()
    for model in models:
        if isinstance(model, ParallelModel):
            model.begin_batch()
            if not average_gradients:
                stack.enter_context(model.no_sync())
    return stack


@contextlib.contextmanager
def evaluation_mode(models: Sequence[torch.nn.Module]) -> Iterator[None]:
    """Sets evaluation mode without gradients and without communication inside the block.

    So ranks may have different numbers of batches.
    """
    modes = [model.training for model in models]
    parallel = [model for model in models if isinstance(model, DistributedDataParallel)]
    exchanges = [model.broadcast_buffers for model in parallel]
    for model in models:
        model.eval()
    for one in parallel:
        one.broadcast_buffers = False
    try:
        with torch.no_grad():
            yield
    finally:
        for one, exchange in zip(parallel, exchanges):
            one.broadcast_buffers = exchange
        for model, mode in zip(models, modes):
            model.train(mode)


def broadcast_weights(model: torch.nn.Module) -> None:
    """Replaces weights and buffers by the chief's. Collective."""
    for tensor in [*model.parameters(), *model.buffers()]:
        torch.distributed.broadcast(tensor.data, src=0)


def broadcast_buffers(models: Sequence[torch.nn.Module], process_group: ProcessGroup) -> None:
    """Replaces buffers, such as running means, by the chief's. Collective.

    Sharded models are left out: each rank has different buffers.
    """
    if process_group.size == 1:
        return
    for model in models:
        if getattr(model, "is_sharded", False):
            continue
        for buffer in unwrap_model(model).buffers():
            torch.distributed.broadcast(buffer, src=0)
