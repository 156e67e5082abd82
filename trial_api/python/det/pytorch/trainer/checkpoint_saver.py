"""Saves checkpoints while training continues."""

from __future__ import annotations

import pathlib
from typing import Protocol

import torch

from det._types import Json
from det.core import PendingCheckpoint
from det.pytorch.metrics.accumulators import TrainingMetrics
from det.pytorch.state.checkpoint import (
    collect_state,
    take_chief_files,
    take_tensors,
    write_load_data,
)
from det.pytorch.state.optimizer_partition import partitions_optimizer_state
from det.pytorch.state.rank_state import take_rank_file
from det.pytorch.state.snapshot import Snapshot
from det.pytorch.strategies.zero import is_zero_optimizer
from det.pytorch.trainer.tensorboard_logger import TensorBoardLogger
from det.pytorch.trial.callbacks import CallbackList
from det.pytorch.trial.context import PyTorchTrialContext
from det.pytorch.trial.progress import Progress
from det.pytorch.trial.trial import PyTorchTrial
from det.pytorch.utilities.types import StateDict


class Saver(Protocol):
    """What the training loop uses of a saver. It calls the methods on the training thread."""

    def prepare(self) -> None:
        """Called after the first batch of a run."""

    def save(
        self,
        progress: Progress,
        metrics: TrainingMetrics,
        local_state: StateDict,
        code_version: str,
    ) -> None:
        """Saves a checkpoint, or starts to do so. Collective.

        Args:
            progress: How far training is.
            metrics: Those of the batches since the last report.
            local_state: What the strategy's save_local_state() returned.
            code_version: The version of this package.

        Raises:
            CheckpointError: If this or the previous checkpoint could not be saved.
        """

    def poll(self) -> None:
        """Calls callbacks if a checkpoint is stored by now.

        Raises:
            CheckpointError: If it could not be saved.
        """

    def finish(self) -> str | None:
        """Waits for the pending checkpoint, and returns its UUID; None without one. Collective.

        Raises:
            CheckpointError: If it could not be saved.
        """


class CheckpointSaver:
    """Copies the state on the training thread, and writes and stores it on another."""

    def __init__(
        self,
        context: PyTorchTrialContext,
        trial: PyTorchTrial,
        callbacks: CallbackList,
        tensorboard: TensorBoardLogger,
    ) -> None:
        self._context = context
        self._trial = trial
        self._callbacks = callbacks
        self._tensorboard = tensorboard
        self._snapshot = Snapshot()
        self._pending: PendingCheckpoint | None = None

    def prepare(self) -> None:
        """Allocates memory, after the first step, with which optimizers create their state.

        So the first checkpoint stalls training as little as the others.
        """
        context = self._context
        partitioned = partitions_optimizer_state(context, self._callbacks)
        has_zero = any(is_zero_optimizer(optimizer) for optimizer in context.optimizers)
        if context._strategy.is_sharded or (has_zero and not partitioned):
            return  # The chief must gather first what it saves.
        if partitioned or context._process_group.is_chief:
            self._snapshot.allocate(lambda: take_tensors(self._snapshot, context, partitioned))

    def save(
        self,
        progress: Progress,
        metrics: TrainingMetrics,
        local_state: StateDict,
        code_version: str,
    ) -> None:
        """Copies the state, and starts to save it; see Saver."""
        self.finish()
        context, snapshot = self._context, self._snapshot
        is_chief = context._process_group.is_chief
        partitioned = partitions_optimizer_state(context, self._callbacks)
        if not partitioned:
            context._strategy.gather_full_state()
        snapshot.begin()
        if is_chief:
            state = collect_state(context, self._callbacks, partitioned)
            take_chief_files(snapshot, context, state, progress)
        elif partitioned:
            take_tensors(snapshot, context, partitioned)
        take_rank_file(snapshot, context, metrics, local_state)
        snapshot.end()
        context._strategy.release_full_state()

        def write(folder: pathlib.Path) -> None:
            snapshot.write(folder)
            if is_chief:
                write_load_data(folder, context, self._trial)
                self._callbacks.call("on_checkpoint_write_end", str(folder))
                self._callbacks.call("on_checkpoint_end", str(folder))
                self._tensorboard.upload()

        metadata: dict[str, Json] = {
            "steps_completed": progress.steps_completed,
            "framework": f"torch-{torch.__version__}",
            "format": "safetensors",
            "determined_version": code_version,
        }
        self._pending = context._core.checkpoint.start_save(metadata, write, shard=True)

    def poll(self) -> None:
        """Calls callbacks if a checkpoint is stored by now; see Saver."""
        if self._pending is not None and self._pending.done():
            self.finish()

    def finish(self) -> str | None:
        """Waits for the pending checkpoint; see Saver."""
        if self._pending is None:
            return None
        pending, self._pending = self._pending, None
        uuid = str(pending.result())
        if self._context._process_group.is_chief:
            self._callbacks.call("on_checkpoint_upload_end", uuid)
        return uuid
