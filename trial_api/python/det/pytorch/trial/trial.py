"""PyTorchTrial: what a user implements."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import Protocol

import torch

from det._existing import LegacyTrial
from det.pytorch.data.batches import data_length
from det.pytorch.metrics.reducers import Reducer, check_reducers
from det.pytorch.trial.callbacks import PyTorchCallback
from det.pytorch.trial.context import PyTorchTrialContext
from det.pytorch.utilities.types import DataBatch, MetricDict, ValidationData


class BaseTrial(Protocol):
    """What a PyTorchTrial and a DeepSpeedTrial have in common."""

    def build_training_data_loader(self) -> Iterable[DataBatch]:
        """Returns the training data."""
        ...

    def build_validation_data_loader(self) -> ValidationData:
        """Returns the validation data."""
        ...

    def evaluation_reducer(self) -> Reducer | dict[str, Reducer]:
        """Returns how metrics are reduced over batches and ranks."""
        ...

    def build_callbacks(self) -> dict[str, PyTorchCallback]:
        """Returns callbacks by name."""
        ...


class PyTorchTrial(LegacyTrial, abc.ABC):
    """A model, its data, and how it is trained. The same class trains on one slot and on many.

    Wrap models and optimizers in the constructor, and override one of evaluate_batch() and
    evaluate_full_dataset(). An exception in any method fails the trial; det.InvalidHP ends it
    without a restart.

    Example:
        >>> class MyTrial(PyTorchTrial):
        ...     def __init__(self, context):
        ...         self.context = context
        ...         self.model = context.wrap_model(torch.nn.Linear(10, 1))
        ...         optimizer = torch.optim.SGD(self.model.parameters(), lr=context.get_hparam("lr"))
        ...         self.optimizer = context.wrap_optimizer(optimizer)
        ...     def build_training_data_loader(self):
        ...         return DataLoader(train_set, self.context.get_per_slot_batch_size(), shuffle=True)
        ...     def build_validation_data_loader(self):
        ...         return DataLoader(test_set, self.context.get_per_slot_batch_size())
        ...     def train_batch(self, batch, epoch_idx, batch_idx):
        ...         inputs, targets = batch
        ...         loss = torch.nn.functional.mse_loss(self.model(inputs), targets)
        ...         self.context.backward(loss)
        ...         self.context.step_optimizer(self.optimizer)
        ...         return {"loss": loss}
        ...     def evaluate_batch(self, batch, batch_idx):
        ...         inputs, targets = batch
        ...         return {"mse": torch.nn.functional.mse_loss(self.model(inputs), targets)}
    """

    @abc.abstractmethod
    def __init__(self, context: PyTorchTrialContext) -> None:
        """Creates models, optimizers and schedulers, and wraps them with the context.

        Args:
            context: The trial's context.
        """

    @abc.abstractmethod
    def build_training_data_loader(self) -> Iterable[DataBatch]:
        """Returns the training data. Called once on every rank.

        Returns:
            A det.pytorch.DataLoader or torch's; or tensors or arrays with records along the first
            dimension, alone or in a tuple, list or dict. The loader's batch size is that of a slot:
            context.get_per_slot_batch_size().
        """

    @abc.abstractmethod
    def build_validation_data_loader(self) -> ValidationData:
        """Returns the validation data.

        Called once on every rank; with evaluate_full_dataset() on the chief only, except under a
        strategy that shards the model.

        Returns:
            What build_training_data_loader() may return. With evaluate_full_dataset(), any object.
        """

    @abc.abstractmethod
    def train_batch(
        self, batch: DataBatch, epoch_idx: int, batch_idx: int
    ) -> torch.Tensor | MetricDict:
        """Trains on this rank's part of a global batch.

        It computes a loss, and calls context.backward() and context.step_optimizer().

        Args:
            batch: What the data loader's collate_fn returned, with its tensors on the slot's
                device. Its tensors have as many rows as this rank has records of the global batch,
                at most the per-slot batch size.
            epoch_idx: The index of the epoch, from 0.
            batch_idx: The index of the batch, from 0, counted over all epochs.

        Returns:
            Metrics by name (numbers, or tensors of one element and any dtype, on any device), or
            the loss alone. Means over batches and ranks are reported.
        """

    def evaluate_batch(self, batch: DataBatch, batch_idx: int = 0) -> MetricDict:
        """Evaluates a batch, in evaluation mode and without gradients.

        It must not call collective operations: ranks may have different numbers of batches.

        Args:
            batch: As in train_batch().
            batch_idx: The index of the batch in this validation on this rank, from 0.

        Returns:
            Metrics by name: numbers, tensors, arrays, or dicts of those. evaluation_reducer()
            determines how they are reduced over batches and ranks, and to one number each.
        """
        raise NotImplementedError

    def evaluate_full_dataset(self, data_loader: ValidationData) -> MetricDict:
        """Evaluates the complete validation data on the chief.

        Under a strategy that shards the model, it is called on every rank.

        Args:
            data_loader: What build_validation_data_loader() returned.

        Returns:
            Metrics by name: numbers, tensors, or lists and dicts of those, which are reported as
            they are.
        """
        raise NotImplementedError

    def evaluation_reducer(self) -> Reducer | dict[str, Reducer]:
        """Returns how the metrics of evaluate_batch() are reduced over batches and ranks.

        Returns:
            One Reducer for all metrics, or a dict by name; metrics that are missing get
            Reducer.AVG, the mean over batches. Reducer.WEIGHTED_AVG is the mean over records.
        """
        return Reducer.AVG

    def build_callbacks(self) -> dict[str, PyTorchCallback]:
        """Returns callbacks by name. Called once on every rank.

        Checkpoints contain their states by these names.
        """
        return {}

    def get_batch_length(self, batch: DataBatch) -> int:
        """Returns the number of records of a validation batch, for Reducer.WEIGHTED_AVG.

        Args:
            batch: What the data loader's collate_fn returned.

        Raises:
            TypeError: If the batch contains no tensor; override the method then.
        """
        return data_length(batch)


def overrides(trial: PyTorchTrial, name: str) -> bool:
    """Returns whether the Trial overrides the method of that name."""
    return getattr(type(trial), name) is not getattr(PyTorchTrial, name)


def check_evaluation_methods(trial: PyTorchTrial) -> bool:
    """Returns whether the Trial evaluates by batches.

    Raises:
        TypeError: If it overrides neither or both of the two methods.
    """
    by_batch = overrides(trial, "evaluate_batch")
    if by_batch == overrides(trial, "evaluate_full_dataset"):
        raise TypeError(
            f"{type(trial).__name__} must override one of evaluate_batch() and "
            f"evaluate_full_dataset(), and overrides {'both' if by_batch else 'neither'}"
        )
    return by_batch


def check_evaluation_reducer(trial: PyTorchTrial) -> None:
    """Checks evaluation_reducer(), after build_validation_data_loader().

    The Trial may know only then which metrics there are.

    Raises:
        TypeError: If it returns neither a Reducer nor a dict of those.
    """
    check_reducers(trial.evaluation_reducer())
