"""Event files of reported metrics, for TensorBoard, stored beside the checkpoints."""

from __future__ import annotations

import contextlib
import math
import pathlib
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Callable

from det._types import Metrics
from det.core import _report
from det.tensorboard import EventWriter

_GROUPS = {"training": "", "validation": "val_"}  # Prefixes that existing dashboards expect.
_PERIOD = 1.0  # Seconds between the beginnings of two passes.
_MESSAGE_PERIOD = 10.0
# A changed file is uploaded as a whole, so a new file is started after this size.
_MAX_FILE_BYTES = 256 << 10
# How _json.encode() writes what JSON cannot express.
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def get_tag(group: str, name: str) -> str:
    """Returns the name of the series of a metric."""
    return "Determined/" + ("" if name.startswith("val") else _GROUPS[group]) + name


class MetricEvents:
    """Writes training and validation metrics to event files and uploads them, on its own thread.

    A pass writes what was added since the last one and uploads the changed files. A failure is only
    a warning, printed once: training does not depend on these files.

    Args:
        folder: The directory of the event files, which is created with the first number.
        upload: Uploads the changed files of the directory.
        resumed_at: The steps of the checkpoint from which this attempt continues; None: it does not
            continue an earlier attempt. What earlier attempts wrote for later steps is hidden.

    Attributes:
        enabled: Whether add() has an effect. Any thread may change it.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        upload: Callable[[], None],
        resumed_at: int | None = None,
    ) -> None:
        self.enabled = True
        self._folder, self._upload, self._resumed_at = folder, upload, resumed_at
        self._lock = threading.Lock()
        self._added: list[bytes] = []  # Guarded by _lock.
        self._used = False  # Whether anything was added.
        self._wake = threading.Event()
        self._closing = threading.Event()
        # State of the thread.
        self._writer: EventWriter | None = None
        self._wrote = False
        self._warned: set[str] = set()
        # The names that were written at the latest step of a group.
        self._latest: dict[str, tuple[int, set[str]]] = {}
        # Not started later: an interpreter that exits may start no thread.
        self._thread = threading.Thread(target=self._run, name="det-events", daemon=True)
        self._thread.start()

    def add(self, reports: Sequence[bytes], earlier: bool = False) -> None:
        """Adds packed reports, and lets the files be uploaded. Any thread; does not wait.

        Args:
            reports: The reports; see _report.pack().
            earlier: Whether an earlier attempt made them. Those that this attempt repeats are
                ignored.
        """
        if earlier:
            resumed_at = self._resumed_at or 0
            reports = [each for each in reports if _report.read(each)[1] <= resumed_at]
        with self._lock:
            if self.enabled:
                self._added += reports
            self._used = True
        self._wake.set()

    def close(self, timeout: float | None = None) -> None:
        """Waits for a last pass, if there was any report.

        Args:
            timeout: The maximum number of seconds; None: no limit.
        """
        self._closing.set()
        self._wake.set()
        end = math.inf if timeout is None else time.monotonic() + timeout
        while self._thread.is_alive():
            left = end - time.monotonic()
            if left <= 0:
                return
            self._thread.join(min(left, _MESSAGE_PERIOD))
            if self._thread.is_alive() and timeout is None:
                print("waiting until the event files are stored", file=sys.stderr, flush=True)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            is_last = self._closing.is_set()
            begin = time.monotonic()
            if not self._used:
                return
            self._attempt("metrics are not written for TensorBoard", self._write_added)
            self._attempt("cannot store event files", self._upload)
            if is_last:
                self._close_file()
                return
            self._closing.wait(max(begin + _PERIOD - time.monotonic(), 0))

    def _attempt(self, problem: str, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # Every exception: the libraries of buckets raise many.
            if problem not in self._warned:
                self._warned.add(problem)
                text = f"WARNING: {problem}: {error}; training continues"
                print(text, file=sys.stderr, flush=True)

    def _write_added(self) -> None:
        with self._lock:
            reports, self._added = self._added, []
        try:
            for packed in reports:
                self._write(*_report.read(packed))
            if self._writer is not None:
                self._writer.flush()
                if self._writer.path.stat().st_size > _MAX_FILE_BYTES:
                    self._close_file()
        except OSError:
            self._close_file()  # A partial event ends the file. The next report starts another one.
            raise

    def _write(
        self, group: str, steps: int, seconds: float, metrics: Metrics, batches: Sequence[Metrics]
    ) -> None:
        if group not in _GROUPS:
            return
        known = self._latest.get(group, (-1, set()))
        written = known[1] if known[0] == steps else set()
        self._latest[group] = (steps, written)
        new = {name: value for name, value in metrics.items() if name not in written}
        by_batch = {name for batch in batches for name in batch}
        if not by_batch <= written:  # Otherwise they are repeated.
            for number, batch in enumerate(batches, steps - len(batches)):
                self._write_scalars(group, batch, number, seconds)
        written |= by_batch
        rest = {name: value for name, value in new.items() if name not in by_batch}
        self._write_scalars(group, rest, steps, seconds)
        written |= set(new)

    def _write_scalars(
        self, group: str, metrics: Mapping[str, object], steps: int, seconds: float
    ) -> None:
        scalars: dict[str, float] = {}
        for name, value in metrics.items():
            number = _NOT_FINITE.get(value) if isinstance(value, str) else value
            if isinstance(number, (int, float)) and not isinstance(number, bool):
                scalars[get_tag(group, name)] = number
        if scalars:
            self._open().add_scalars(scalars, steps, seconds)

    def _open(self) -> EventWriter:
        if self._writer is None:
            purge_step = None
            if not self._wrote and self._resumed_at is not None:
                purge_step = self._resumed_at + 1
            self._writer = EventWriter(self._folder, purge_step)
            self._wrote = True
        return self._writer

    def _close_file(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with contextlib.suppress(OSError):
                writer.close()
