"""What a user subclasses."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Dict, Union

import torch

from det.pytorch import _data, _reducers
from det.pytorch._callback import PyTorchCallback
from det.pytorch._reducers import Reducer

if TYPE_CHECKING:
    from det.pytorch._context import PyTorchTrialContext


class PyTorchTrial(abc.ABC):
    """A model, its data and how it learns. The same class trains on one slot and on many.

    Wrap models and optimizers in the constructor. Override one of evaluate_batch() and
    evaluate_full_dataset(). An exception ends the trial; det.InvalidHP without a restart.
    """

    @abc.abstractmethod
    def __init__(self, context: PyTorchTrialContext) -> None: ...

    @abc.abstractmethod
    def build_training_data_loader(self) -> Any:
        """A det.pytorch.DataLoader, or what README.md lists in its place."""

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Any:
        """As build_training_data_loader(). On the chief, if evaluate_full_dataset() is there."""

    @abc.abstractmethod
    def train_batch(
        self, batch: Any, epoch_idx: int, batch_idx: int
    ) -> Union[torch.Tensor, Dict[str, Any]]:
        """Trains on this rank's part of a global batch: forward, context.backward() and
        context.step_optimizer().

        Args:
            batch: on the slot's device.
            epoch_idx: from 0.
            batch_idx: from 0, counted on from epoch to epoch.

        Returns:
            metrics by name, or the loss.
        """

    def evaluate_batch(self, batch: Any, batch_idx: int = 0) -> Dict[str, Any]:
        """Metrics of a batch, in evaluation mode and without gradients. No collective operation:
        ranks may have unequal numbers of batches."""
        raise NotImplementedError

    def evaluate_full_dataset(self, data_loader: Any) -> Dict[str, Any]:
        """Metrics of all batches of `data_loader`, on the chief alone."""
        raise NotImplementedError

    def evaluation_reducer(self) -> Union[Reducer, Dict[str, Reducer]]:
        """How the metrics of evaluate_batch() become one: for all, or by name."""
        return Reducer.AVG

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:
        return {}

    def get_batch_length(self, batch: Any) -> int:
        """How many records a batch has."""
        return _data.data_length(batch)


def overrides(trial: PyTorchTrial, name: str) -> bool:
    """Whether the Trial has a function of its own by that name."""
    return getattr(type(trial), name) is not getattr(PyTorchTrial, name)


def check_evaluation(trial: PyTorchTrial) -> bool:
    """Whether the Trial evaluates by batches.

    Raises:
        TypeError: it overrides neither or both of the two ways.
    """
    by_batch = overrides(trial, "evaluate_batch")
    if by_batch == overrides(trial, "evaluate_full_dataset"):
        raise TypeError(
            f"{type(trial).__name__} must override one of evaluate_batch() and "
            f"evaluate_full_dataset(), and overrides {'both' if by_batch else 'neither'}"
        )
    return by_batch


def check_reduction(trial: PyTorchTrial) -> None:
    """Behind build_validation_data_loader(), which may have told the Trial what metrics there are.

    Raises:
        TypeError: it reduces metrics in none of the ways that are known.
    """
    _reducers.check(trial.evaluation_reducer())
