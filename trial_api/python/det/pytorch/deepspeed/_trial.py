"""DeepSpeedTrial: what a user implements."""

from __future__ import annotations

import abc
import pathlib
from collections.abc import Iterable, Iterator

import torch

from det._errors import CheckpointError
from det._existing import LegacyTrial
from det.pytorch.deepspeed._context import DeepSpeedTrialContext
from det.pytorch.metrics.reducers import Reducer
from det.pytorch.trial.callbacks import PyTorchCallback
from det.pytorch.utilities.types import Arguments, DataBatch, MetricDict


class DeepSpeedTrial(LegacyTrial, abc.ABC):
    """Models that DeepSpeed trains, their data, and how they are trained.

    The same class trains on one slot and on many. The constructor creates engines with
    deepspeed.initialize(), and passes them to context.wrap_model_engine(). README.md has an
    example.
    """

    @abc.abstractmethod
    def __init__(self, context: DeepSpeedTrialContext) -> None:
        """Creates engines, and wraps them with the context.

        Args:
            context: The trial's context.
        """

    @abc.abstractmethod
    def build_training_data_loader(self) -> Iterable[DataBatch]:
        """Returns the training data. Called once on ranks that read data.

        Returns:
            What PyTorchTrial.build_training_data_loader() may return. The loader's batch size is
            that of a micro-batch: context.get_train_micro_batch_size_per_gpu().
        """

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Iterable[DataBatch]:
        """Returns the validation data; see build_training_data_loader()."""

    @abc.abstractmethod
    def train_batch(
        self, dataloader_iter: Iterator[DataBatch] | None, epoch_idx: int, batch_idx: int
    ) -> torch.Tensor | MetricDict:
        """Trains on the next micro-batch: forward, backward and step of the engine.

        It is called for each micro-batch of a step. With a pipeline's engine, or after
        disable_auto_grad_accumulation(), it is called once for a step and reads all micro-batches.

        Args:
            dataloader_iter: The micro-batches of this step, on the host, each with at most
                train_micro_batch_size_per_gpu records. None on a rank that reads no data.
            epoch_idx: The index of the epoch, from 0.
            batch_idx: The number of steps before this one, over all epochs.

        Returns:
            Metrics by name (numbers, or tensors of one element), or the loss alone. Means over
            micro-batches, steps and ranks are reported.
        """

    @abc.abstractmethod
    def evaluate_batch(
        self, dataloader_iter: Iterator[DataBatch] | None, batch_idx: int
    ) -> MetricDict:
        """Evaluates the next micro-batch, in evaluation mode and without gradients.

        A pipeline's engine reads as many micro-batches as in training. Every rank calls it equally
        often.

        Args:
            dataloader_iter: The micro-batches; None on a rank that reads no data.
            batch_idx: The index of the call in this validation, from 0.

        Returns:
            Metrics by name: numbers, or tensors of one element.
        """

    def evaluation_reducer(self) -> Reducer | dict[str, Reducer]:
        """Returns how the metrics of evaluate_batch() are reduced over micro-batches and ranks.

        Returns:
            One Reducer for all metrics, or a dict by name; metrics that are missing get
            Reducer.AVG, the mean over the calls. Reducer.WEIGHTED_AVG is the mean over records.
        """
        return Reducer.AVG

    def build_callbacks(self) -> dict[str, PyTorchCallback]:
        """Returns callbacks by name. Called once on every rank."""
        return {}

    def save(self, context: DeepSpeedTrialContext, path: pathlib.Path) -> None:
        """Saves the engines' state that this rank has. Called on every rank, while training waits.

        Args:
            context: The trial's context.
            path: This rank's folder. The folders of all ranks together are the checkpoint.
        """
        for number, engine in enumerate(context.engines):
            tag = f"model{number}"
            # DeepSpeed creates the folder only on the first rank of a node; each rank has its own.
            (path / tag).mkdir(parents=True, exist_ok=True)
            engine.save_checkpoint(str(path), tag=tag)

    def load(self, context: DeepSpeedTrialContext, path: pathlib.Path) -> None:
        """Loads what save() saved on all ranks.

        Args:
            context: The trial's context. If its warm_start is true, the checkpoint is another
                trial's, and schedules are not loaded.
            path: The folder with the checkpoint.

        Raises:
            CheckpointError: If an engine cannot load it.
        """
        for number, engine in enumerate(context.engines):
            options: Arguments = {"load_lr_scheduler_states": False} if context.warm_start else {}
            found, _ = engine.load_checkpoint(str(path), tag=f"model{number}", **options)
            if found is None:
                raise CheckpointError(f"{path} has no model{number} that this engine can load")
