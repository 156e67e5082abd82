"""What a user subclasses."""

from __future__ import annotations

import abc
import pathlib
from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional, Union

import torch

from det._errors import CheckpointError
from det.pytorch._callback import PyTorchCallback
from det.pytorch._reducers import Reducer

if TYPE_CHECKING:
    from det.pytorch.deepspeed._context import DeepSpeedTrialContext


class DeepSpeedTrial(abc.ABC):
    """Models that DeepSpeed trains, their data, and how they learn. The same class trains on one slot and
    on many. Engines are made, and given to context.wrap_model_engine(), in the constructor."""

    @abc.abstractmethod
    def __init__(self, context: DeepSpeedTrialContext) -> None: ...

    @abc.abstractmethod
    def build_training_data_loader(self) -> Any:
        """As a PyTorchTrial's; its batch_size is context.get_train_micro_batch_size_per_gpu(). On ranks
        that read data."""

    @abc.abstractmethod
    def build_validation_data_loader(self) -> Any:
        """As build_training_data_loader()."""

    @abc.abstractmethod
    def train_batch(
        self, dataloader_iter: Optional[Iterator[Any]], epoch_idx: int, batch_idx: int
    ) -> Union[torch.Tensor, Dict[str, Any]]:
        """Trains on the next micro-batch: forward, backward and step of the engine. It is called for each
        of a step's, once for a pipeline's engine, or without automatic accumulation, which read them all.

        Args:
            dataloader_iter: the micro-batches of this step; None on a rank that reads no data.
            epoch_idx: from 0.
            batch_idx: steps before this one.

        Returns:
            metrics by name, or the loss.
        """

    @abc.abstractmethod
    def evaluate_batch(
        self, dataloader_iter: Optional[Iterator[Any]], batch_idx: int
    ) -> Dict[str, Any]:
        """Metrics of the next micro-batch; a pipeline's engine reads as many as train. Every rank calls it
        equally often."""

    def evaluation_reducer(self) -> Union[Reducer, Dict[str, Reducer]]:
        """How the metrics of evaluate_batch() become one: for all, or by name."""
        return Reducer.AVG

    def build_callbacks(self) -> Dict[str, PyTorchCallback]:
        return {}

    def save(self, context: DeepSpeedTrialContext, path: pathlib.Path) -> None:
        """Every rank puts what it has of the engines into a folder of its own; what is there of all ranks
        is one checkpoint."""
        for number, engine in enumerate(context.engines):
            tag = f"model{number}"
            # DeepSpeed has the first rank of a node make the folder, and the others wait for it.
            (path / tag).mkdir(parents=True, exist_ok=True)
            engine.save_checkpoint(str(path), tag=tag)

    def load(self, context: DeepSpeedTrialContext, path: pathlib.Path) -> None:
        """What save() wrote on all ranks."""
        for number, engine in enumerate(context.engines):
            own = {"load_lr_scheduler_states": False} if context.warm_start else {}
            found, _ = engine.load_checkpoint(str(path), tag=f"model{number}", **own)
            if found is None:
                raise CheckpointError(f"{path} has no model{number} that this engine can load")
