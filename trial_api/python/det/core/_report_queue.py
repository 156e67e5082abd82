"""Sends the reports of an attempt to the master, in the order in which they were made."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from typing import Callable

from det._errors import MasterError, RunIsOver
from det._info import ClusterInfo, connect_to_master
from det._master import Master
from det._types import Json
from det.core import _report
from det.core._outbox import Outbox

SERVICE = "/det.trial.v1.TrialRuntime/"
_BATCH_RECORDS, _BATCH_BYTES = 1000, 1 << 20
# The kinds of records. Metrics and validations are packed by _report; checkpoints are JSON.
METRICS, VALIDATION, CHECKPOINT = b"m", b"v", b"c"
_LINGER = 0.05  # Seconds to wait for more reports of a batch.
_FULL_PAUSE = 0.1
_BEST_TIMEOUT = 1.0  # Seconds to wait for the master's answer to a validation.
_CLOSE_TIMEOUT = 5.0
_KILL_TIMEOUT = 10.0  # Seconds until a killed process has exited.
_INVALID_ARGUMENT = 3  # gRPC's status code of a refused report.
_JOIN_TIMEOUT = 5.0  # Seconds; a thread that is connecting does not notice that it should stop.


class ReportQueue:
    """Sends reports to the master on a thread of its own.

    Reports that earlier attempts of the trial have left are sent first, under their run IDs. Any
    thread may call. Calls raise MasterError after the master has refused a report; the reports that
    it does not refuse are still sent.

    Args:
        master: A connection for the use of this queue only.
        allocation_id: The allocation of the reports.
        trial_id: The trial of the reports.
        folder: The directory of all outboxes of the trial, one directory for each attempt.
        run: The number of this attempt.
        limit: The maximum size on disk in bytes.
        on_over: Called on the sending thread if the master has ended this attempt.
        close_timeout: The seconds for which close() tries to send without `wait`.
        on_sent: Called on the sending thread with the metrics that the master has received, packed,
            and whether they are an earlier attempt's; empty after a checkpoint.
    """

    def __init__(
        self,
        master: Master,
        allocation_id: str,
        trial_id: int,
        folder: str,
        run: int,
        limit: int = 64 << 20,
        on_over: Callable[[RunIsOver], None] | None = None,
        close_timeout: float = _CLOSE_TIMEOUT,
        on_sent: Callable[[list[bytes], bool], None] | None = None,
    ) -> None:
        self._master = master
        master.retry_proxy_errors = True  # An answer of a proxy says nothing about the reports.
        self._allocation, self._trial = allocation_id, trial_id
        self._folder, self._run, self._limit = folder, run, limit
        self._on_over, self._close_timeout = on_over, close_timeout
        self._on_sent = on_sent
        self._outbox = Outbox(os.path.join(folder, str(run)), limit)
        self._adding = threading.Lock()
        self._changed = threading.Condition()
        self._wake = threading.Event()
        self._progress: float | None = None
        self._added = len(self._outbox)  # The number of the latest record.
        self._sent = 0
        # A validation's record, and whether it is the best.
        self._best: tuple[int, bool] = (
            0,
            True,
        )
        self._busy = True  # With the reports of earlier attempts.
        # How many of the next records are sent one by one, because the master has refused them together.
        self._singly = 0
        self._urgent = False
        self._stopping = False
        self._failure: MasterError | None = None
        self._ended = False  # Nothing more is sent, because of the failure.
        self._thread = threading.Thread(target=self._send_all, name="det-reports", daemon=True)
        self._thread.start()

    def add(self, kind: bytes, report: bytes) -> int:
        """Adds a report and returns its number as soon as it is on disk.

        Waits if the outbox is full.
        """
        record = kind + report
        with (
            self._adding
        ):  # The sending thread does not take this lock, so it never blocks this call.
            self._raise_failure()
            while not self._outbox.add(record):
                self._wait_for_room()
                self._raise_failure()
            self._added += 1
            number = self._added
        if kind != METRICS:
            self._urgent = True
            self._wake.set()
        elif not self._wake.is_set():
            self._wake.set()
        return number

    def _wait_for_room(self) -> None:
        with self._changed:
            self._urgent = True
            self._wake.set()
            self._changed.wait(_FULL_PAUSE)

    def best(self, number: int) -> bool:
        """Returns whether a validation is the best of the experiment.

        True if the master does not answer in time.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._sent >= number or self._failure or self._master.away, _BEST_TIMEOUT
            )
            return self._best[1] if self._best[0] == number else True

    def set_progress(self, progress: float) -> None:
        """Sets the progress to report when no other report is waiting."""
        with self._changed:
            self._progress = progress
        self._wake.set()

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until the master has everything; returns False on a timeout."""
        with self._changed:
            self._urgent = True
            self._wake.set()
            idle = self._changed.wait_for(lambda: self._ended or self._idle(), timeout)
            self._raise_failure()
            return idle

    def forget(self) -> None:
        """Deletes all reports, because the master has ended the run."""
        with self._adding:
            self._outbox.forget()

    def close(self, wait: bool) -> None:
        """Stops sending.

        Args:
            wait: Whether to wait until the master has everything. If not, what cannot be sent soon
                is left for the next attempt of the trial on this node.
        """
        try:
            self.flush(None if wait else self._close_timeout)
        finally:
            self._stopping = True
            self._master.close()
            self._wake.set()
            # A hanging connect ends much later, by its own timeout. The thread then finds the connection
            # closed and does not touch the outbox.
            self._thread.join(min(self._close_timeout, _JOIN_TIMEOUT))
            self._outbox.close()

    def _idle(self) -> bool:
        return not len(self._outbox) and not self._busy and self._progress is None

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _send_all(self) -> None:
        try:
            self._send_leftovers()
            with self._changed:
                self._busy = False
                self._changed.notify_all()
            while not self._stopping:
                self._wake.wait()
                if not self._urgent:
                    time.sleep(_LINGER)
                self._wake.clear()
                self._urgent = False
                while not self._stopping and self._send_next():
                    pass
        except RunIsOver as error:
            self._end(error)
            self.forget()
            if self._on_over:
                self._on_over(error)
        except MasterError as error:
            if not self._stopping:
                self._end(error)
        except Exception as error:  # Every exception: callers that wait would wait forever.
            self._end(MasterError(f"cannot send reports: {error!r}"))

    def _end(self, error: MasterError) -> None:
        with self._changed:
            self._failure, self._ended = error, True
            self._changed.notify_all()

    def _fail(self, error: MasterError) -> None:
        """Lets later calls raise the first refusal of a report."""
        with self._changed:
            self._failure = self._failure or error
            self._changed.notify_all()

    def _send_next(self) -> bool:
        """Sends the next batch; returns False if nothing is waiting."""
        with self._changed:
            records = self._front(self._outbox)
            progress, self._progress = (None, self._progress) if records else (self._progress, None)
            self._busy = bool(records) or progress is not None
        if records:
            done, best = self._send(records, self._run, self._fail, self._tell_sent)
            if not done:
                return True
        elif progress is not None:
            self._post("ReportProgress", {"progress": progress})
        with self._changed:
            if records:
                self._outbox.remove_front(len(records))
                self._sent += len(records)
                if records[-1][:1] == VALIDATION:
                    self._best = (self._sent, best)
            self._busy = False
            self._changed.notify_all()
        return bool(records)

    def _tell_sent(self, records: list[bytes], earlier: bool = False) -> None:
        if self._on_sent is not None:
            metrics = [record[1:] for record in records if record[:1] != CHECKPOINT]
            self._on_sent(metrics, earlier)

    def _front(self, outbox: Outbox) -> list[bytes]:
        """Returns the records to send in the next call."""
        records = outbox.front(1 if self._singly else _BATCH_RECORDS, _BATCH_BYTES)
        return records[: _count_batch(records)]

    def _send(
        self,
        records: list[bytes],
        run: int,
        on_refused: Callable[[MasterError], None],
        on_sent: Callable[[list[bytes]], None],
    ) -> tuple[bool, bool]:
        """Sends records that _front() has returned.

        If the master refuses several records, it may have stored some, all but one, or none: the
        next calls send them one by one, and the master ignores those that it has.

        Returns:
            Whether the records can be removed, and whether the last is the best validation.
        """
        try:
            best = self._call(records, run)
        except MasterError as error:
            if error.code != _INVALID_ARGUMENT:
                raise
            if len(records) > 1:
                self._singly = len(records)
                return False, False
            on_refused(error)
            best = False
        else:
            on_sent(records)
        self._singly = max(self._singly - len(records), 0)
        return True, best

    def _call(self, records: list[bytes], run: int) -> bool:
        if records[0][:1] == CHECKPOINT:
            self._post("ReportCheckpoint", json.loads(records[0][1:]))
            return False
        answer = self._master.post(SERVICE + "ReportMetrics", self._batch(records, run))
        return bool(answer.get("bestSoFar", False))

    def _batch(self, records: list[bytes], run: int) -> bytes:
        head = json.dumps(
            {"allocationId": self._allocation, "trialId": self._trial, "trialRunId": run}
        ).encode()
        reports = b",".join(_report.unpack(record[1:]) for record in records)
        return head[:-1] + b',"reports":[' + reports + b"]}"

    def _post(self, method: str, body: Mapping[str, Json]) -> None:
        self._master.post(
            SERVICE + method, {"allocationId": self._allocation, "trialId": self._trial, **body}
        )

    def _send_leftovers(self) -> None:
        runs = sorted(int(name) for name in os.listdir(self._folder) if name.isdigit())
        for run in runs:
            if run >= self._run or self._stopping:
                continue
            try:
                left = Outbox(os.path.join(self._folder, str(run)), self._limit)
            except BlockingIOError:
                continue  # Its process is still running; the master will end it.
            self._send_leftover(left, run)

    def _send_leftover(self, left: Outbox, run: int) -> None:
        count, refused = len(left), 0

        def warn(error: MasterError) -> None:
            nonlocal refused
            refused += 1
            _log(f"WARNING: the master refused a report of run {run}: {error}")

        try:
            while len(left) and not self._stopping:
                records = self._front(left)
                if self._send(records, run, warn, lambda sent: self._tell_sent(sent, True))[0]:
                    left.remove_front(len(records))
        except RunIsOver:
            raise
        except MasterError as error:
            if not error.code:  # It is not the master that refused them.
                raise
            _log(f"WARNING: unsent reports of run {run} are lost: {error}")
            left.forget()
        finally:
            self._singly = 0
            left.close()
        if count > refused:
            _log(f"INFO: sent {count - refused} reports of run {run}")


def _count_batch(records: list[bytes]) -> int:
    """Returns how many of the first records are sent in one call."""
    count = 0
    for record in records:
        if record[:1] == CHECKPOINT:
            return count or 1
        count += 1
        if record[:1] == VALIDATION:
            break  # The answer refers to the last record.
    return count


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def get_trial_owner(info: ClusterInfo) -> str:
    """Returns a name that is unique to the trial, also among clusters."""
    assert info.trial is not None
    return f"{info.cluster_id or 'cluster'}-trial-{info.trial.trial_id}"


def get_trial_folder(info: ClusterInfo) -> str:
    """Returns the directory of a trial's outboxes on this node; it has a directory per attempt."""
    return os.path.join(info.cache_dir or info.run_dir or ".", "outbox", get_trial_owner(info))


def open_queue(
    info: ClusterInfo,
    on_over: Callable[[RunIsOver], None] | None = None,
    on_sent: Callable[[list[bytes], bool], None] | None = None,
) -> ReportQueue:
    """Opens the queue of the run of this process.

    Raises:
        BlockingIOError: Another process has opened it.
    """
    assert info.trial is not None
    return ReportQueue(
        connect_to_master(info),
        info.allocation_id,
        info.trial.trial_id,
        get_trial_folder(info),
        info.trial.trial_run_id,
        int(os.environ.get("DET_OUTBOX_LIMIT") or 64 << 20),
        on_over,
        on_sent=on_sent,
    )


def send_unsent(info: ClusterInfo) -> None:
    """Sends the reports that the processes of this attempt have left.

    They exited or were killed before they could send them. Waits for the master up to its retry
    timeout. Reports that cannot be sent are left, with a warning, for the trial's next attempt on
    this node.
    """
    if info.trial is None:
        return
    if not os.path.isdir(os.path.join(get_trial_folder(info), str(info.trial.trial_run_id))):
        return
    try:
        _when_free(info).close(wait=True)
    except (BlockingIOError, MasterError) as error:
        print(
            f"WARNING: cannot send reports to the master: {error}; the trial's next attempt on "
            "this node sends them",
            file=sys.stderr,
            flush=True,
        )


def _when_free(info: ClusterInfo) -> ReportQueue:
    """Opens the queue when a killed process has released it.

    Raises:
        BlockingIOError: Another process keeps it for longer.
    """
    until = time.monotonic() + _KILL_TIMEOUT
    while True:
        try:
            return open_queue(info)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
