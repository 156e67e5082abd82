"""Models that compute on several slots: torch's DistributedDataParallel, without its edges."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, List, Optional

import torch
from torch.nn.parallel import DistributedDataParallel

from det.pytorch import _arrangement, _hierarchy, _replicas, _shares
from det.pytorch._compression import compress
from det.pytorch._optimizations import Optimizations
from det.pytorch._ranks import Ranks


# What a model that is made anew keeps: the mode, and what others have hung on it; of each torch what it
# has of that.
_OF_OTHERS = {"_hook", *vars(torch.nn.Module())} - {"_parameters", "_buffers", "_modules"}


class ParallelModel(DistributedDataParallel):
    """Also has the attributes of the model within, so that code for one slot serves several."""

    def __init__(self, module: torch.nn.Module, **arguments: Any) -> None:
        super().__init__(module, **arguments)
        self._arguments = arguments
        self._arrival = _arrangement.Arrival(self)
        self._exchanged = False

    def begin_batch(self) -> None:
        """The next forward pass takes the chief's buffers, and no other of the batch: autograd refuses
        what changed between two passes of one loss."""
        self._exchanged = False

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        self._arrival.begin_pass()
        if not (self._exchanged and self.broadcast_buffers):
            self.__dict__["_exchanged"] = True  # Quicker, in each pass.
            return super().forward(*inputs, **kwargs)
        self.broadcast_buffers = False
        try:
            return super().forward(*inputs, **kwargs)
        finally:
            self.broadcast_buffers = True

    def register_comm_hook(self, state: object, hook: Any) -> None:
        super().register_comm_hook(state, hook)
        self._hook = (state, hook)

    def rebuild(self, megabytes: int) -> None:
        """Collective, between two batches: so many of gradients travel together from now on. All
        else stays, for those who hold this model, too."""
        own = {name: self.__dict__[name] for name in _OF_OTHERS if name in self.__dict__}
        # Torch's own parts first: they are tied to the parameters until they are gone.
        self.reducer = self.logger = None
        ParallelModel.__init__(self, self.module, **{**self._arguments, "bucket_cap_mb": megabytes})
        self.__dict__.update(own)
        if "_hook" in own:
            self.register_comm_hook(*own["_hook"])

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules")
        if name == "module" and modules and name in modules:  # In each forward pass.
            return modules[name]
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("module"), name)


def wrap(
    model: torch.nn.Module,
    device: torch.device,
    ranks: Ranks,
    told: Optimizations,
    share: _shares.Share,
    nodes: Optional[_hierarchy.Nodes] = None,
    find_unused: bool = False,
) -> torch.nn.Module:
    """The model on the slot's device with the chief's weights; with allreduce, its gradients are
    averaged over the ranks, by way of `nodes` if there are; find_unused: of those that a batch has. On
    one slot the model itself."""
    model = _replicas.wrap(model.to(device), device, share.slots)
    if ranks.size == 1:
        return model
    if not any(parameter.requires_grad for parameter in model.parameters()):
        broadcast_buffers([model], ranks)
        return model  # Nothing is averaged; torch refuses it.
    if told.strategy not in ("allreduce", "in_process"):
        broadcast_weights(model)
        return model
    devices = [device] if device.type == "cuda" else None
    megabytes = told.bucket_megabytes
    buckets = {} if megabytes is None else {"bucket_cap_mb": megabytes}
    wrapped = ParallelModel(
        model,
        device_ids=devices,
        gradient_as_bucket_view=True,
        find_unused_parameters=find_unused,
        **buckets,
    )
    if share.slots * ranks.size != share.total:
        wrapped.register_comm_hook(share.fraction, _weighted_hook)
        wrapped._det_weighted = True
    if nodes is not None:
        wrapped._det_hierarchy = _hierarchy.HierarchicalSum(nodes)
        wrapped.register_comm_hook(wrapped._det_hierarchy, _hierarchy.hierarchical_hook)
    compress(wrapped, told.compression, device)
    return wrapped


def _weighted_hook(state, bucket):  # type: ignore[no-untyped-def]
    """(this rank's fraction of a global batch, GradBucket) -> Future of the mean over its records;
    torch refuses annotations that are strings."""
    weighted = bucket.buffer().mul_(state)
    work = torch.distributed.all_reduce(weighted, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


def check_arrived(models: List[torch.nn.Module]) -> None:
    """Before a step. Raises RuntimeError where slots still wait for gradients: in the next forward pass
    torch would say so, when weights differ."""
    for model in models:
        missing = model._arrival.missing if isinstance(model, ParallelModel) else []
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise RuntimeError(
                f"the first step has no gradient of {', '.join(missing[:3])}{more}, and slots wait for "
                "each other's: freeze what is never used by requires_grad_(False) before wrap_model(); "
                "if other batches use it, call wrap_model(model, find_unused_parameters=True)"
            )


def arrival_of(model: torch.nn.Module) -> Optional[List[str]]:
    """In which order its gradients came, by which torch arranged its buckets; None: it has not."""
    return model._arrival.order if isinstance(model, ParallelModel) else None


def arrange(model: torch.nn.Module, order: Optional[List[str]]) -> None:
    """Collective: as arrival_of() gave it, in a run that starts."""
    if order and isinstance(model, ParallelModel):
        _arrangement.arrange(model, order)


def unwrap(model: torch.nn.Module) -> torch.nn.Module:
    """The Trial's own."""
    inner = model.module if isinstance(model, DistributedDataParallel) else model
    return _replicas.unwrap(inner)


def one_batch(models: List[torch.nn.Module], averages: bool) -> contextlib.ExitStack:
    """Around train_batch(). averages: else gradients stay on their ranks inside."""
    stack = contextlib.ExitStack()
    for model in models:
        if isinstance(model, ParallelModel):
            model.begin_batch()
            if not averages:
                stack.enter_context(model.no_sync())
    return stack


@contextlib.contextmanager
def evaluating(models: List[torch.nn.Module]) -> Iterator[None]:
    """Evaluation mode, in which a model exchanges nothing: ranks may have unequal numbers of
    batches."""
    modes = [model.training for model in models]
    parallel = [model for model in models if isinstance(model, DistributedDataParallel)]
    exchanges = [model.broadcast_buffers for model in parallel]
    for model in models:
        model.eval()
    for model in parallel:
        model.broadcast_buffers = False
    try:
        with torch.no_grad():
            yield
    finally:
        for model, exchange in zip(parallel, exchanges):
            model.broadcast_buffers = exchange
        for model, mode in zip(models, modes):
            model.train(mode)


def broadcast_weights(model: torch.nn.Module) -> None:
    """Collective: the chief's weights and buffers replace those of the others."""
    for tensor in [*model.parameters(), *model.buffers()]:
        torch.distributed.broadcast(tensor.data, src=0)


def broadcast_buffers(models: List[torch.nn.Module], ranks: Ranks) -> None:
    """Collective: those of the chief (running means and such) replace those of the others."""
    if ranks.size == 1:
        return
    for model in models:
        if getattr(model, "in_parts", False):
            continue  # Other ranks have others.
        for buffer in unwrap(model).buffers():
            torch.distributed.broadcast(buffer, src=0)
