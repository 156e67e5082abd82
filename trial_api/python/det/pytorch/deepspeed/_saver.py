"""Checkpoints of a DeepSpeedTrial: DeepSpeed's own files, and beside them what the training is."""

from __future__ import annotations

from typing import Any, Dict, Optional

import torch

from det.pytorch import _rank_state, _state
from det.pytorch._callback import Callbacks
from det.pytorch._metrics import Unreported
from det.pytorch._schedule import Progress
from det.pytorch._snapshot import Snapshot
from det.pytorch.deepspeed._context import DeepSpeedTrialContext


class DeepSpeedSaver:
    """Of one run, on the training thread: engines save while nobody trains. Collective."""

    def __init__(self, context: DeepSpeedTrialContext, trial: Any, callbacks: Callbacks) -> None:
        self._context, self._trial, self._callbacks = context, trial, callbacks

    def prepare(self) -> None:
        """Nothing is copied, so nothing is reserved."""

    def save(
        self,
        progress: Progress,
        metrics: Unreported,
        kept: Dict[str, Any],
        code_version: str,
    ) -> None:
        context = self._context
        chief = context._ranks.is_chief
        metadata = {
            "steps_completed": progress.steps_completed,
            "framework": f"torch-{torch.__version__}",
            "format": "deepspeed",
            "determined_version": code_version,
        }
        snapshot = Snapshot()
        snapshot.begin()
        own = _rank_state.reports(context, metrics)
        snapshot.take_tree(_rank_state.file_of(context._ranks.rank), own)
        if chief:
            rest: Dict[str, Any] = {"callbacks": self._callbacks.state_dict()}
            self._callbacks.call("on_checkpoint_save_start", rest)
            snapshot.take_tree("training.safetensors", rest)
            snapshot.take_text("state.json", progress.to_json() + "\n")
        snapshot.end()
        with context._core.checkpoint.store_path(metadata, shard=True) as (path, uuid):
            self._trial.save(context, path)
            snapshot.write(path)
            if chief:
                _state.write_origin(path, context, self._trial, "DeepSpeedTrial")
                self._callbacks.call("on_checkpoint_write_end", str(path))
                self._callbacks.call("on_checkpoint_end", str(path))
        if chief:
            self._callbacks.call("on_checkpoint_upload_end", uuid)

    def poll(self) -> None:
        """Nothing is under way."""

    def finish(self) -> Optional[str]:
        return None
