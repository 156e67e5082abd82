"""Everything that a run reports of its training, in one order, until the master has it."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any, Callable

from det._errors import MasterError, RunIsOver
from det._info import ClusterInfo, connect_to_master
from det._master import Master
from det.core import _report
from det.core._outbox import Outbox

SERVICE = "/det.trial.v1.TrialRuntime/"
_BATCH_RECORDS, _BATCH_BYTES = 1000, 1 << 20
# Kinds of records: metrics and a validation as _report packs them, a checkpoint as JSON.
METRICS, VALIDATION, CHECKPOINT = b"m", b"v", b"c"
_LINGER = 0.05  # Seconds in which more reports join a batch.
_FULL_PAUSE = 0.1
_WORD = 1.0  # Seconds that a validation waits for the master's word.
_LAST_TRY = 5.0
_END_OF_OTHERS = 10.0  # Seconds for a process that was killed.
_JOIN = 5.0  # Seconds for a thread whose connection was closed; one that connects does not notice.


class ReportQueue:
    """Sends first what earlier runs of the trial have left beside its outbox, each as that run.

    Any thread. A call raises MasterError once the master has refused a report.

    Args:
        master: a connection of its own.
        allocation_id, trial_id: of the reports.
        folder: of all outboxes of the trial; one folder per run lies in it.
        run: number of this run.
        limit: bytes on disk.
        on_over: the master no longer knows this run. On the sending thread.
        last_try: seconds that close() tries without `wait`.
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
        last_try: float = _LAST_TRY,
    ) -> None:
        self._master = master
        self._allocation, self._trial = allocation_id, trial_id
        self._folder, self._run, self._limit = folder, run, limit
        self._on_over, self._last_try = on_over, last_try
        self._outbox = Outbox(os.path.join(folder, str(run)), limit)
        self._adding = threading.Lock()
        self._changed = threading.Condition()
        self._wake = threading.Event()
        self._progress: float | None = None
        self._added = len(self._outbox)  # The number of the newest record.
        self._sent = 0
        self._best: tuple[int, bool] = (0, True)  # The master's word: of which record, what.
        self._busy = True  # With what earlier runs have left.
        self._urgent = False
        self._stopping = False
        self._failure: MasterError | None = None
        self._thread = threading.Thread(target=self._send_all, name="det-reports", daemon=True)
        self._thread.start()

    def add(self, kind: bytes, report: bytes) -> int:
        """Returns as soon as the disk has it; waits where the outbox is full. Its number."""
        record = kind + report
        with self._adding:  # The thread that sends takes no part: neither waits for the other.
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
        """Whether that validation is the best that the experiment has seen; True where the master
        does not say so in time.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._sent >= number or self._failure or self._master.away, _WORD
            )
            return self._best[1] if self._best[0] == number else True

    def set_progress(self, progress: float) -> None:
        """Sent when nothing else waits; only the newest counts."""
        with self._changed:
            self._progress = progress
        self._wake.set()

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until the master has everything; False when the time is over."""
        with self._changed:
            self._urgent = True
            self._wake.set()
            return self._changed.wait_for(self._idle, timeout)

    def forget(self) -> None:
        """The run was given up: nothing of it is to be sent any more."""
        with self._adding:
            self._outbox.forget()

    def close(self, wait: bool) -> None:
        """With wait: until the master has everything. Else tries briefly; what is left is for the
        trial's next run on this node.
        """
        try:
            self.flush(None if wait else self._last_try)
        finally:
            self._stopping = True
            self._master.close()
            self._wake.set()
            # A connect that hangs ends by its own timeout, much later; what follows it finds the
            # connection closed and leaves the outbox alone.
            self._thread.join(min(self._last_try, _JOIN))
            self._outbox.close()

    def _idle(self) -> bool:
        self._raise_failure()
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
            self._fail(error)
            self.forget()
            if self._on_over:
                self._on_over(error)
        except MasterError as error:
            if not self._stopping:
                self._fail(error)
        except Exception as error:  # Any: whoever waits for this thread would wait for ever.
            self._fail(MasterError(f"reports cannot be sent: {error!r}"))

    def _fail(self, error: MasterError) -> None:
        with self._changed:
            self._failure = error
            self._changed.notify_all()

    def _send_next(self) -> bool:
        """False when nothing waits."""
        with self._changed:
            records = self._outbox.front(_BATCH_RECORDS, _BATCH_BYTES)
            progress, self._progress = (None, self._progress) if records else (self._progress, None)
            self._busy = bool(records) or progress is not None
        if records:
            count, best = self._send(records, self._run)
        elif progress is not None:
            self._post("ReportProgress", {"progress": progress})
        with self._changed:
            if records:
                self._outbox.remove_front(count)
                self._sent += count
                if records[count - 1][:1] == VALIDATION:
                    self._best = (self._sent, best)
            self._busy = False
            self._changed.notify_all()
        return bool(records)

    def _send(self, records: list[bytes], run: int) -> tuple[int, bool]:
        """Sends the first ones; how many, and the master's word to the last of them."""
        if records[0][:1] == CHECKPOINT:
            self._post("ReportCheckpoint", json.loads(records[0][1:]))
            return 1, False
        count = 0
        for record in records:
            if record[:1] == CHECKPOINT:
                break
            count += 1
            if record[:1] == VALIDATION:
                break  # The answer is to be of this one.
        answer = self._master.post(SERVICE + "ReportMetrics", self._batch(records[:count], run))
        return count, bool(answer.get("bestSoFar", False))

    def _batch(self, records: list[bytes], run: int) -> bytes:
        head = json.dumps(
            {"allocationId": self._allocation, "trialId": self._trial, "trialRunId": run}
        ).encode()
        reports = b",".join(_report.unpack(record[1:]) for record in records)
        return head[:-1] + b',"reports":[' + reports + b"]}"

    def _post(self, method: str, body: Any) -> None:
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
                continue  # Its process is still there; it will hear that its run is over.
            self._send_leftover(left, run)

    def _send_leftover(self, left: Outbox, run: int) -> None:
        count = len(left)
        try:
            while len(left) and not self._stopping:
                sent, _ = self._send(left.front(_BATCH_RECORDS, _BATCH_BYTES), run)
                left.remove_front(sent)
        except RunIsOver:
            raise
        except MasterError as error:
            if error.status == 0:
                raise
            _say(f"WARNING: reports that run {run} had left are lost: {error}")
            left.forget()
        finally:
            left.close()
        if count:
            _say(f"INFO: sent {count} reports that run {run} had left")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def owner_of_trial(info: ClusterInfo) -> str:
    """A name that no other trial has, of this cluster or another."""
    assert info.trial is not None
    return f"{info.cluster_id or 'cluster'}-trial-{info.trial.trial_id}"


def folder_of_trial(info: ClusterInfo) -> str:
    """Where the reports of a trial's runs on this node wait, each run's in a folder of its number."""
    return os.path.join(info.cache_dir or info.run_dir or ".", "outbox", owner_of_trial(info))


def queue_of_run(
    info: ClusterInfo, on_over: Callable[[RunIsOver], None] | None = None
) -> ReportQueue:
    """Of the task that this process belongs to. Raises BlockingIOError when another has it."""
    assert info.trial is not None
    return ReportQueue(
        connect_to_master(info),
        info.allocation_id,
        info.trial.trial_id,
        folder_of_trial(info),
        info.trial.trial_run_id,
        int(os.environ.get("DET_OUTBOX_LIMIT") or 64 << 20),
        on_over,
    )


def send_unsent(info: ClusterInfo) -> None:
    """What this run's processes have reported, but not sent before they ended, one that was killed
    while the master was away among them. Waits for the master as long as the user is patient; what
    cannot be sent stays for the trial's next run on this node, with a warning.
    """
    if info.trial is None:
        return
    if not os.path.isdir(os.path.join(folder_of_trial(info), str(info.trial.trial_run_id))):
        return
    try:
        _when_free(info).close(wait=True)
    except (BlockingIOError, MasterError) as error:
        print(
            f"WARNING: reports have not reached the master: {error}; the trial's next run on this "
            "node sends them",
            file=sys.stderr,
            flush=True,
        )


def _when_free(info: ClusterInfo) -> ReportQueue:
    """A process that was killed may take a while to be gone. Raises BlockingIOError when another has
    it for longer.
    """
    until = time.monotonic() + _END_OF_OTHERS
    while True:
        try:
            return queue_of_run(info)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
