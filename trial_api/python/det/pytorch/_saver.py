"""Saves checkpoints beside training."""

from __future__ import annotations

import pathlib
from typing import Any, Dict, Optional

import torch

from det.pytorch import _parts, _rank_state, _state, _strategy
from det.pytorch._callback import Callbacks
from det.pytorch._context import PyTorchTrialContext
from det.pytorch._events import Events
from det.pytorch._metrics import Unreported
from det.pytorch._schedule import Progress
from det.pytorch._snapshot import Snapshot


class Saver:
    """Of one run. On the training thread; save() and finish() are collective."""

    def __init__(
        self, context: PyTorchTrialContext, trial: Any, callbacks: Callbacks, events: Events
    ) -> None:
        self._context = context
        self._trial = trial
        self._callbacks = callbacks
        self._events = events
        self._snapshot = Snapshot()
        self._pending: Any = None

    def prepare(self) -> None:
        """After the first step, with which optimizers get their state. The first save then stalls
        training as little as the others."""
        context, divided = self._context, _parts.divides(self._context, self._callbacks)
        sharded = any(_strategy.is_sharded(optimizer) for optimizer in context.optimizers)
        if context._strategy.in_parts or (sharded and not divided):
            return  # What the chief saves, it has to gather first.
        if divided or context._ranks.is_chief:
            self._snapshot.reserve(lambda: _state.take_tensors(self._snapshot, context, divided))

    def save(
        self,
        progress: Progress,
        metrics: Unreported,
        kept: Dict[str, Any],
        code_version: str,
    ) -> None:
        """Stalls training for the copy of its state; kept: what the strategy's keep() gave. Raises
        what failed of the save before."""
        self.finish()
        context, snapshot = self._context, self._snapshot
        chief, divided = context._ranks.is_chief, _parts.divides(context, self._callbacks)
        if not divided:
            context._strategy.gather()
        snapshot.begin()
        if chief:
            state = _state.collect(context, self._callbacks, divided)
            _state.take(snapshot, context, state, progress)
        elif divided:
            _state.take_tensors(snapshot, context, divided)
        _rank_state.take(snapshot, context, metrics, kept)
        snapshot.end()
        context._strategy.saved()

        def write(folder: pathlib.Path) -> None:
            snapshot.write(folder)
            if chief:
                _state.write_origin(folder, context, self._trial)
                self._callbacks.call("on_checkpoint_write_end", str(folder))
                self._callbacks.call("on_checkpoint_end", str(folder))
                self._events.upload()

        metadata = {
            "steps_completed": progress.steps_completed,
            "framework": f"torch-{torch.__version__}",
            "format": "safetensors",
            "determined_version": code_version,
        }
        self._pending = context._core.checkpoint.start_save(metadata, write, shard=True)

    def poll(self) -> None:
        """Tells callbacks of a checkpoint that is stored by now; raises what failed."""
        if self._pending is not None and self._pending.done():
            self.finish()

    def finish(self) -> Optional[str]:
        """Waits for the checkpoint under way, if there is one; its uuid."""
        if self._pending is None:
            return None
        pending, self._pending = self._pending, None
        uuid = str(pending.result())
        if self._context._ranks.is_chief:
            self._callbacks.call("on_checkpoint_upload_end", uuid)
        return uuid
