"""Event files of a Trial for TensorBoard.

On the cluster the Core API writes the reported metrics. A failure is only a warning, once in a run:
training does not depend on these files.
"""

from __future__ import annotations

import contextlib
import sys

from det._errors import CheckpointError
from det.core._metric_events import get_tag
from det.pytorch.trial.context import PyTorchTrialContext
from det.pytorch.utilities.types import MetricDict
from det.tensorboard import EventWriter


class TensorBoardLogger:
    """The event files of one run. Only the chief writes metrics. Any thread may call upload()."""

    def __init__(self, context: PyTorchTrialContext) -> None:
        self._context = context
        self._writer: EventWriter | None = None
        self._warned = False

    def add(self, group: str, steps: int, metrics: MetricDict) -> None:
        """Writes the numbers among the metrics off the cluster, and flushes them to the file."""
        enabled = self._context.get_enable_tensorboard_logging()
        if self._context._core._events is not None or not enabled:
            return
        if not self._context._process_group.is_chief:
            return
        try:
            if self._writer is None:
                folder = self._context.get_tensorboard_path()
                self._writer = EventWriter(folder, self._context.first_untrained_step())
            self._writer.add_scalars(
                {get_tag(group, name): value for name, value in metrics.items()}, steps
            )
            self._writer.flush()
        except OSError as error:
            # A partial event ends the file. The next report starts another file.
            self.close()
            self._warn(f"metrics are not written for TensorBoard: {error}; training continues")

    def upload(self) -> None:
        """Stores this rank's changed files beside the checkpoints."""
        try:
            self._context._core._store_event_files()
        except (CheckpointError, OSError) as error:
            self._warn(
                f"TensorBoard files were not stored: {error}; the next checkpoint tries again"
            )

    def close(self) -> None:
        """Closes the file."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(OSError):
                writer.close()

    def _warn(self, message: str) -> None:
        if not self._warned:
            self._warned = True
            print(f"WARNING: {message}", file=sys.stderr, flush=True)
