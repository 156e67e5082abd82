"""Checkpoints of a DeepSpeedTrial: DeepSpeed's own files, and the state of the training loop."""

from __future__ import annotations

import torch

from det._types import Json
from det.pytorch.deepspeed._context import DeepSpeedTrialContext
from det.pytorch.deepspeed._trial import DeepSpeedTrial
from det.pytorch.metrics.accumulators import TrainingMetrics
from det.pytorch.state.checkpoint import write_load_data
from det.pytorch.state.rank_state import collect_reports, rank_file_name
from det.pytorch.state.snapshot import Snapshot
from det.pytorch.trial.callbacks import CallbackList
from det.pytorch.trial.progress import Progress
from det.pytorch.utilities.types import StateDict


class DeepSpeedSaver:
    """Saves on the training thread, because engines cannot save while they train. Collective."""

    def __init__(
        self, context: DeepSpeedTrialContext, trial: DeepSpeedTrial, callbacks: CallbackList
    ) -> None:
        self._context, self._trial, self._callbacks = context, trial, callbacks

    def prepare(self) -> None:
        """Does nothing: no memory for a copy is needed."""

    def save(
        self,
        progress: Progress,
        metrics: TrainingMetrics,
        local_state: StateDict,
        code_version: str,
    ) -> None:
        """Saves and stores a checkpoint; see det.pytorch.trainer.checkpoint_saver.Saver."""
        context = self._context
        process_group = context._process_group
        metadata: dict[str, Json] = {
            "steps_completed": progress.steps_completed,
            "framework": f"torch-{torch.__version__}",
            "format": "deepspeed",
            "determined_version": code_version,
        }
        snapshot = Snapshot()
        snapshot.begin()
        own = collect_reports(context, metrics)
        snapshot.take_tree(rank_file_name(process_group.rank), own)
        if process_group.is_chief:
            rest: StateDict = {"callbacks": self._callbacks.state_dict()}
            self._callbacks.call("on_checkpoint_save_start", rest)
            snapshot.take_tree("training.safetensors", rest)
            snapshot.take_text("state.json", progress.to_json() + "\n")
        snapshot.end()
        with context._core.checkpoint.store_path(metadata, shard=True) as (path, uuid):
            self._trial.save(context, path)
            snapshot.write(path)
            if process_group.is_chief:
                write_load_data(path, context, self._trial, "DeepSpeedTrial")
                self._callbacks.call("on_checkpoint_write_end", str(path))
                self._callbacks.call("on_checkpoint_end", str(path))
        if process_group.is_chief:
            self._callbacks.call("on_checkpoint_upload_end", uuid)

    def poll(self) -> None:
        """Does nothing: save() has stored the checkpoint."""

    def finish(self) -> str | None:
        """Returns None: save() has stored the checkpoint."""
        return None
