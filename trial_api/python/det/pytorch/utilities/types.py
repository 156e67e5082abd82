"""The types of what users and torch pass to this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch

if TYPE_CHECKING:
    # The module that defines it: torch.distributed of torch 1.13 does not declare the name.
    from torch._C._distributed_c10d import ProcessGroup

    TorchGroup = ProcessGroup  # torch's own group of ranks; ProcessGroup of this package uses it.

# A batch as the data loader's collate_fn returns it, or the Trial's own data loader. The Trial alone
# knows its type: usually a tensor, or tensors in a tuple, list or dict, which TorchData describes.
DataBatch = Any
# A record of a user's data set: what its __getitem__() returns, and collate_fn gets a list of.
Record = Any
# What build_validation_data_loader() returns for evaluate_full_dataset(), which alone reads it.
ValidationData = Any

# Metrics by name. A value is a number, a tensor of one element, or what a reducer returns.
MetricDict = dict[str, Any]
# Any object that can be pickled: what reducers collect on each rank, and the metric that they return.
ReducedValue = Any

# The state_dict() of a model, optimizer or callback: numbers, strings, containers and tensors by name.
StateDict = dict[str, Any]
# A value in a state_dict(): a number, string or tensor, or containers of those, nested at will.
StateTree = Any

# An argument or the result of a model's forward() or of an operator of torch, or an attribute of a model.
ModelValue = Any

# The keyword arguments of a function, whose types differ.
Arguments = dict[str, Any]


class Scaler(Protocol):
    """The methods of torch's GradScaler that are used."""

    def scale(self, outputs: torch.Tensor, /) -> torch.Tensor:
        """Returns the loss multiplied by the scale."""
        ...

    def unscale_(self, optimizer: torch.optim.Optimizer, /) -> object:
        """Divides the gradients of an optimizer by the scale."""
        ...

    def step(self, optimizer: torch.optim.Optimizer, /) -> object:
        """Steps the optimizer, unless a gradient is infinite or NaN."""
        ...

    def update(self) -> object:
        """Adapts the scale after a step."""
        ...

    def get_scale(self) -> float:
        """Returns the scale."""
        ...

    def state_dict(self) -> StateDict:
        """Returns the state for a checkpoint."""
        ...

    def load_state_dict(self, state_dict: StateDict, /) -> object:
        """Restores what state_dict() returned."""
        ...


class TorchScheduler(Protocol):
    """The methods of a learning-rate scheduler of torch that are used."""

    def step(self) -> object:
        """Sets the next learning rate."""
        ...

    def state_dict(self) -> StateDict:
        """Returns the state for a checkpoint."""
        ...

    def load_state_dict(self, state_dict: StateDict, /) -> object:
        """Restores what state_dict() returned."""
        ...


class Work(Protocol):
    """torch's handle of an asynchronous collective."""

    def wait(self) -> object:
        """Waits for the result."""
        ...


class GradBucket(Protocol):
    """A torch.distributed.GradBucket, which the type information of torch 1.13 lacks."""

    def buffer(self) -> torch.Tensor:
        """Returns the gradients of the bucket, flattened: shape [n]."""
        ...

    def parameters(self) -> list[torch.Tensor]:
        """Returns the parameters of the bucket."""
        ...


class TensorFuture(Protocol):
    """A torch.futures.Future of a tensor."""

    def wait(self) -> torch.Tensor:
        """Waits for the tensor and returns it."""
        ...
