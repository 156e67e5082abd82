"""What a user subclasses to work through a data set, and what it knows."""

from __future__ import annotations

import abc
import contextlib
import pathlib
import tempfile
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set

import torch

from det.pytorch import _data


class TorchBatchProcessorContext:
    """Of one rank; made by torch_batch_process()."""

    def __init__(self, core: Any, device: torch.device) -> None:
        self._core = core
        self.device = device
        self.sources: List[Dict[str, Any]] = []  # What the work is done with.

    @property
    def distributed(self) -> Any:
        """det.core.DistributedContext: ranks, and small collective operations."""
        return self._core.distributed

    def get_distributed_rank(self) -> int:
        return int(self.distributed.rank)

    def get_distributed_size(self) -> int:
        return int(self.distributed.size)

    def to_device(self, data: Any, warned_types: Optional[Set[type]] = None) -> Any:
        """`data` with its tensors on the slot's device."""
        return _data.to_device(data, self.device)

    def prepare_model_for_inference(self, model: torch.nn.Module) -> torch.nn.Module:
        """The model on the slot's device, in evaluation mode."""
        return model.to(self.device).eval()

    def get_tensorboard_path(self) -> pathlib.Path:
        """A folder for event files, which are kept beside the checkpoints."""
        return pathlib.Path(self._core.train.get_tensorboard_path())

    def report_metrics(self, group: str, steps_completed: int, metrics: Mapping[str, Any]) -> None:
        """Of the chief; those of other ranks are dropped."""
        self._core.train.report_metrics(group, steps_completed, metrics)

    @contextlib.contextmanager
    def upload_path(self) -> Iterator[pathlib.Path]:
        """A folder whose files lie beside the checkpoints behind the block, in
        `<cluster>/inference/experiment/<id>/trial/<id>`, off the cluster in `inference`. Give the files
        of each rank and batch names of their own: one of the same name is replaced."""
        with tempfile.TemporaryDirectory(prefix="det-upload-") as folder:
            path = pathlib.Path(folder)
            yield path
            self._core.checkpoint.store_beside(path, self._place())

    def _place(self) -> str:
        info = self._core.info
        if info is None or info.trial is None:
            return "inference"
        trial = info.trial
        return (
            f"{info.cluster_id}/inference/experiment/{trial.experiment_id}/trial/{trial.trial_id}"
        )

    def report_task_using_checkpoint(self, checkpoint: Any) -> None:
        """Notes in the metadata of the progress that this one, of the SDK or its uuid, is used."""
        self._note({"checkpoint": str(getattr(checkpoint, "uuid", checkpoint))})

    def report_task_using_model_version(self, model_version: Any) -> None:
        """The same of a ModelVersion of the SDK."""
        told = {"model_id": model_version.model_id, "model_version": model_version.model_version}
        self._note({**told, "checkpoint": model_version.checkpoint.uuid})

    def _note(self, source: Dict[str, Any]) -> None:
        if source not in self.sources:
            self.sources.append(source)


class TorchBatchProcessor(abc.ABC):
    """Works on the batches of one rank."""

    @abc.abstractmethod
    def __init__(self, context: TorchBatchProcessorContext) -> None: ...

    @abc.abstractmethod
    def process_batch(self, batch: Any, batch_idx: int) -> None:
        """Without gradients. batch_idx: of this rank's batches, counted on in a run that resumes."""

    def on_checkpoint_start(self) -> None:
        """Before the progress is stored, on every rank: what process_batch() has kept is to be safe when
        this returns, as its batches will not come again."""

    def on_finish(self) -> None:
        """After the last batch, behind its on_checkpoint_start(). On every rank."""
