"""TorchBatchProcessor: what a user implements for batch inference, and its context."""

from __future__ import annotations

import abc
import contextlib
import pathlib
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

from det._types import Json, Metrics
from det.pytorch.utilities.types import DataBatch

if TYPE_CHECKING:
    from det.experimental.client import Checkpoint, ModelVersion

from det.core import Context, DistributedContext
from det.pytorch.data.batches import to_device


class TorchBatchProcessorContext:
    """What a TorchBatchProcessor calls. torch_batch_process() creates it on each rank.

    Attributes:
        device: The slot's device.
        sources: The checkpoints and model versions that are used.
    """

    def __init__(self, core: Context, device: torch.device) -> None:
        """Creates the context. torch_batch_process() does.

        Args:
            core: The det.core.Context.
            device: The slot's device.
        """
        self._core = core
        self.device = device
        self.sources: list[dict[str, Json]] = []

    @property
    def distributed(self) -> DistributedContext:
        """The det.core.DistributedContext: ranks, and collective operations on small objects."""
        return self._core.distributed

    def get_distributed_rank(self) -> int:
        """Returns the index of this rank, from 0."""
        return int(self.distributed.rank)

    def get_distributed_size(self) -> int:
        """Returns the number of ranks."""
        return int(self.distributed.size)

    def to_device(self, data: DataBatch, warned_types: set[type] | None = None) -> DataBatch:
        """Moves the tensors of a batch to the slot's device; see det.pytorch.to_device().

        Args:
            data: The batch.
            warned_types: Unused.
        """
        return to_device(data, self.device)

    def prepare_model_for_inference(self, model: torch.nn.Module) -> torch.nn.Module:
        """Returns the model on the slot's device, in evaluation mode.

        Args:
            model: The model. It is moved and changed in place.
        """
        return model.to(self.device).eval()

    def get_tensorboard_path(self) -> pathlib.Path:
        """Returns the folder for event files, which are stored beside the checkpoints."""
        return pathlib.Path(self._core.train.get_tensorboard_path())

    def report_metrics(self, group: str, steps_completed: int, metrics: Metrics) -> None:
        """Reports metrics of the chief; on other ranks it does nothing.

        Args:
            group: The metric group, such as "inference".
            steps_completed: The number of batches.
            metrics: Numbers by name.
        """
        self._core.train.report_metrics(group, steps_completed, metrics)

    @contextlib.contextmanager
    def upload_path(self) -> Iterator[pathlib.Path]:
        """Stores the files of a folder beside the checkpoints, for a with-statement.

        They are stored in `<cluster>/inference/experiment/<id>/trial/<id>` of the checkpoint
        storage, and off the cluster in `inference`. A file of the same name is replaced, so use a
        different name on each rank and for each batch.

        Yields:
            An empty folder, whose files are stored at the end of the block.
        """
        with tempfile.TemporaryDirectory(prefix="det-upload-") as folder:
            path = pathlib.Path(folder)
            yield path
            self._core.checkpoint.store_beside(path, self._get_upload_folder())

    def _get_upload_folder(self) -> str:
        info = self._core.info
        if info is None or info.trial is None:
            return "inference"
        trial = info.trial
        return (
            f"{info.cluster_id}/inference/experiment/{trial.experiment_id}/trial/{trial.trial_id}"
        )

    def report_task_using_checkpoint(self, checkpoint: Checkpoint | str) -> None:
        """Records in the metadata of the progress that a checkpoint is used.

        Args:
            checkpoint: A Checkpoint of the SDK, or its UUID.
        """
        self._add_source({"checkpoint": str(getattr(checkpoint, "uuid", checkpoint))})

    def report_task_using_model_version(self, model_version: ModelVersion) -> None:
        """Records in the metadata of the progress that a model version is used.

        Args:
            model_version: A ModelVersion of the SDK.
        """
        source: dict[str, Json] = {
            "model_id": model_version.model_id,
            "model_version": model_version.model_version,
        }
        self._add_source({**source, "checkpoint": model_version.checkpoint.uuid})

    def _add_source(self, source: dict[str, Json]) -> None:
        if source not in self.sources:
            self.sources.append(source)


class TorchBatchProcessor(abc.ABC):
    """Processes the batches of one rank. torch_batch_process() creates it."""

    @abc.abstractmethod
    def __init__(self, context: TorchBatchProcessorContext) -> None:
        """Loads the model.

        Args:
            context: This rank's context.
        """

    @abc.abstractmethod
    def process_batch(self, batch: DataBatch, batch_idx: int) -> None:
        """Processes a batch, without gradients.

        Args:
            batch: What the DataLoader's collate_fn returned, on the host, with at most batch_size
                records.
            batch_idx: The index of this rank's batch, from 0. A run that resumes continues to
                count.
        """

    def on_checkpoint_start(self) -> None:  # noqa: B027
        """Called on every rank before the progress is stored.

        What process_batch() has kept must be stored when it returns, because those batches are not
        processed again.
        """

    def on_finish(self) -> None:  # noqa: B027
        """Called on every rank after the last batch and its on_checkpoint_start()."""
