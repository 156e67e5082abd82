"""Copies of reported metrics in event files, for TensorBoard."""

from __future__ import annotations

import json
import numbers
import pathlib
from collections.abc import Sequence

from det.core import _report
from det.tensorboard import EventWriter

_GROUPS = {"training": "", "validation": "val_"}  # Prefixes that existing dashboards expect.


class MetricEvents:
    """Writes the numbers of training and validation metrics. All methods are called on one thread.

    Args:
        folder: The directory of the event file, which is created with the first number.

    Attributes:
        enabled: Whether write() has an effect. Any thread may change it.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.enabled = True
        self._folder = folder
        self._writer: EventWriter | None = None

    def write(self, reports: Sequence[bytes]) -> None:
        """Adds packed reports; see _report.pack().

        Raises:
            OSError: The file cannot be written.
        """
        for packed in reports if self.enabled else ():
            report = json.loads(_report.unpack(packed))
            prefix = _GROUPS.get(report["group"])
            if prefix is None:
                continue
            for name, value in report["metrics"].items():
                if isinstance(value, numbers.Real) and not isinstance(value, bool):
                    tag = name if name.startswith("val") else prefix + name
                    self._open().add_scalar(f"Determined/{tag}", value, report["stepsCompleted"])
        if self._writer is not None:
            self._writer.flush()

    def _open(self) -> EventWriter:
        if self._writer is None:
            self._writer = EventWriter(self._folder)
        return self._writer
