"""The metrics of a PyTorchTrial as event files for TensorBoard. People look at them: what fails here is
said once, and costs no training."""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Mapping, Optional

from det._errors import CheckpointError
from det.pytorch._context import PyTorchTrialContext
from det.tensorboard import EventWriter


class Events:
    """Of one run; other ranks than the chief write none. upload() may be called on any thread."""

    def __init__(self, context: PyTorchTrialContext) -> None:
        self._context = context
        self._writer: Optional[EventWriter] = None
        self._said = False

    def add(self, group: str, steps: int, metrics: Mapping[str, Any]) -> None:
        """The numbers among the metrics, as `group/name`; in the file when this returns."""
        wanted = self._context.get_enable_tensorboard_logging()
        if not wanted or not self._context._ranks.is_chief:
            return
        try:
            if self._writer is None:
                folder = self._context.get_tensorboard_path()
                self._writer = EventWriter(folder, self._context.first_untrained_step())
            self._writer.add_scalars(
                {f"{group}/{name}": value for name, value in metrics.items()}, steps
            )
            self._writer.flush()
        except OSError as error:
            # What it has half written ends that file; the next report begins another.
            self.close()
            self._say(f"metrics are not written for TensorBoard: {error}; training goes on")

    def upload(self) -> None:
        """What has changed in this rank's folder, beside the checkpoints."""
        try:
            self._context._core.train.upload_tensorboard_files()
        except (CheckpointError, OSError) as error:
            self._say(f"event files were not stored: {error}; the next checkpoint brings them")

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(OSError):
                writer.close()

    def _say(self, words: str) -> None:
        if not self._said:
            self._said = True
            print(f"WARNING: {words}", file=sys.stderr, flush=True)
