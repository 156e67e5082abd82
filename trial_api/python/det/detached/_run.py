"""The short form: `det.init()` turns any script into a run that the cluster records."""

from __future__ import annotations

import atexit
import collections
import itertools
import json
import os
import pathlib
import shutil
import sys
import threading
import time
import types
import uuid as uuids
from collections.abc import Mapping, Sequence
from typing import Callable, cast

from det._errors import CheckpointError, MasterError, NotFoundError
from det._info import get_cluster_info
from det._types import CheckpointStorage, Json, JsonMapping, JsonObject, Metrics
from det.core import Context, DistributedContext, _json, _report
from det.core import init as init_context
from det.core._storage import describe, parse_storage_url
from det.detached import _spool
from det.detached._output import Output
from det.detached._sender import Sender, copy_tree, now, send_all, warn
from det.experimental._session import Session, canonical_url, connect

HEARTBEAT = 60.0  # Seconds; the master waits for five minutes.
_FIRST_ANSWER = 10.0  # Seconds for which init() waits for the master.
_AWAY_PAUSE = 2.0
_STOP_TIMEOUT = 5.0
_LINGER = 0.05  # Seconds to wait for more records of a batch.
_MEMORY = 1000  # Records to keep in memory while the disk is full and a master may take them.
_TRANSIENT = (0, 429, 500, 502, 503, 504)
_MODES = ("online", "offline")


class Run:
    """A run of a script. init() returns one.

    Use it as `with det.init() as run:`, or call finish(). A run that is still open is finished when
    the process exits; it becomes ERROR if the process ends with an exception or an exit code.

    Attributes:
        id: The ID of the run, which init() accepts to continue it.
        config: The hyperparameters.
        rank: The number of this process in the run.
        folder: The directory with the reports that the master does not have yet; None in a task of
            the cluster.
    """

    def __init__(self, run_id: str, config: JsonObject, rank: int) -> None:
        self.id, self.config, self.rank = run_id, config, rank
        self.folder: pathlib.Path | None = None
        self._process = os.getpid()
        self._last: dict[str, int] = {}  # The latest step of each group.
        self._finished = False

    @property
    def experiment_id(self) -> int | None:
        """The ID of the experiment; None while the master has not given one."""
        raise NotImplementedError

    @property
    def trial_id(self) -> int | None:
        """The ID of the trial; None while the master has not given one."""
        raise NotImplementedError

    @property
    def latest_checkpoint(self) -> str | None:
        """The UUID of the latest artifact of the run that this process continues; None: none."""
        raise NotImplementedError

    @property
    def steps_completed(self) -> int:
        """The step of the latest artifact of the run that this process continues."""
        raise NotImplementedError

    def log(self, metrics: Metrics, step: int | None = None, group: str | None = None) -> None:
        """Reports metrics. Returns as soon as they are on the disk of this machine.

        Args:
            metrics: The metrics by name: numbers, also of NumPy and torch, strings, or lists and
                dicts of them.
            step: The number of the step, which must not decrease within a group. Default: one more
                than in the previous call. Further metrics of the same step are added to it.
            group: The name of the group, without ".". Default: "training" for rank 0, "rank-N" for
                rank N. In a task of the cluster only rank 0 reports.

        Raises:
            ValueError: The group or the step is invalid.
            TypeError: The metrics are not a mapping, or contain a value that is not JSON.
            RuntimeError: The run is finished, belongs to another process, or the disk is full.

        Example:
            run.log({"loss": 0.5})
            run.log({"accuracy": 0.9}, step=100, group="validation")
        """
        self._require_open()
        name = group or ("training" if self.rank == 0 else f"rank-{self.rank}")
        if "." in name:
            raise ValueError(f"group is {name!r}; expected a name without '.'")
        if not isinstance(metrics, Mapping):
            raise TypeError(f"metrics is a {type(metrics).__name__}; expected a mapping")
        _json.check_metrics(metrics)
        before = self._last.get(name, self.steps_completed)
        number = before + 1 if step is None else int(step)
        if not 0 <= number < 2**31 or step is not None and step != number:
            raise ValueError(f"step is {step}; expected a whole number from 0 to {2**31 - 1}")
        if name in self._last and number < before:
            raise ValueError(
                f"step is {number}, but the previous step of the group {name!r} was {before}; a step must "
                "not decrease"
            )
        self._report(name, number, metrics)
        self._last[name] = number

    def _report(self, group: str, step: int, metrics: Metrics) -> None:
        raise NotImplementedError

    def progress(self, fraction: float) -> None:
        """Reports the completed fraction of the work, from 0 to 1.

        Args:
            fraction: The fraction.

        Raises:
            ValueError: The fraction is less than 0 or greater than 1.
            RuntimeError: The run is finished, or belongs to another process.
        """
        raise NotImplementedError

    def log_artifact(
        self,
        path: str | os.PathLike[str],
        name: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        step: int | None = None,
    ) -> str:
        """Stores a file or a directory in the checkpoint storage, as a checkpoint of the run.

        Returns as soon as a copy is on the disk of this machine.

        Args:
            path: The file, or the directory whose files to store.
            name: The name of the artifact. Default: the last part of the path.
            metadata: Further metadata. It may contain `name` and `steps_completed` instead of the
                arguments.
            step: The step that it belongs to. Default: the latest step of all groups.

        Returns:
            The UUID of the checkpoint.

        Raises:
            CheckpointError: The path does not exist or cannot be copied.
            ValueError: `metadata` has another name or step than the arguments.
            RuntimeError: The run is finished, or belongs to another process.
        """
        self._require_open()
        source = pathlib.Path(path)
        if not source.exists():
            raise CheckpointError(f"artifact {source} does not exist")
        latest = max(self._last.values(), default=self.steps_completed)
        described: JsonObject = {
            "steps_completed": latest,
            "name": source.resolve().name,
            **(metadata or {}),
        }
        for key, given in (("steps_completed", step), ("name", name)):
            if given is not None:
                if (metadata or {}).get(key, given) != given:
                    raise ValueError(
                        f"metadata[{key!r}] is {described[key]!r}, but the argument is {given!r}; pass "
                        "one of them"
                    )
                described[key] = given
        return self._store(source, described)

    def _store(self, source: pathlib.Path, metadata: JsonObject) -> str:
        raise NotImplementedError

    def finish(self, state: str = "COMPLETED", timeout: float = 60.0) -> None:
        """Finishes the run. Further calls do nothing.

        Args:
            state: "COMPLETED", "CANCELED" or "ERROR".
            timeout: The seconds to wait until the master has everything. What remains is kept for
                `det sync`, and for a later process that continues the run on this machine.

        Raises:
            ValueError: The state is unknown.
        """
        raise NotImplementedError

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        clean = error is None or (isinstance(error, SystemExit) and not error.code)
        self.finish("COMPLETED" if clean else "ERROR")

    def _require_open(self) -> None:
        if self._finished:
            raise RuntimeError(f"run {self.id} is finished; call det.init() to start another")
        if os.getpid() != self._process:
            raise RuntimeError(
                f"run {self.id} belongs to another process; call det.init(run_id={self.id!r}, rank=...) "
                "in this process, with another rank"
            )


class DetachedRun(Run):
    """A run outside of the cluster. Reports go through a spool on disk to the master."""

    def __init__(self, spool: _spool.Spool, online: bool, capture_output: bool) -> None:
        super().__init__(spool.run_id, dict(spool.run["hparams"]), spool.rank)
        self.folder = spool.folder
        self.spool, self._online = spool, online
        # A signal handler may add a record while its thread adds another.
        self._adding = threading.RLock()
        self._is_adding = False
        self._to_add: collections.deque[bytes] = collections.deque()
        self._line_numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._refusal: MasterError | None = None
        self._away = False
        self._warned: set[str] = set()  # What was warned about.
        self._starting = online  # Until init() returns.
        self._session: Session | None = None
        self._heart: threading.Thread | None = None
        self._thread: threading.Thread | None = None
        self._state: str | None = None
        if online:
            self._thread = threading.Thread(target=self._send_all, name="det-run", daemon=True)
            self._thread.start()
        self._output = Output(self._add_line) if capture_output else None

    @property
    def experiment_id(self) -> int | None:
        return self.spool.ids.get("experiment_id")

    @property
    def trial_id(self) -> int | None:
        return self.spool.ids.get("trial_id")

    @property
    def latest_checkpoint(self) -> str | None:
        return self.spool.ids.get("latest_checkpoint")

    @property
    def steps_completed(self) -> int:
        return int(self.spool.ids.get("steps_completed") or 0)

    def wait_for_start(self, timeout: float | None) -> None:
        """Waits until the master has started the run.

        Raises:
            MasterError: The master refused it.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.spool.ids or self._refusal or self._away, timeout)
            self._starting = False
        if self._refusal is not None:
            raise self._refusal

    def _report(self, group: str, step: int, metrics: Metrics) -> None:
        self.add_metrics(group, step, metrics)

    def add_metrics(
        self,
        group: str,
        step: int,
        metrics: Metrics,
        batch_metrics: list[Metrics] | None = None,
    ) -> None:
        """Adds metrics of a group."""
        record: dict[str, object] = {
            "kind": "metrics",
            "group": group,
            "stepsCompleted": step,
            "reportTime": _report.format_time(time.time_ns()),
            "metrics": metrics,
        }
        if batch_metrics:
            record["batchMetrics"] = batch_metrics
        self.add(record)

    def progress(self, fraction: float) -> None:
        self._require_open()
        if not 0 <= fraction <= 1:
            raise ValueError(f"progress is {fraction}, but must be from 0 to 1")
        self.add({"kind": "progress", "progress": float(fraction)})

    def _store(self, source: pathlib.Path, metadata: JsonObject) -> str:
        uuid = str(uuids.uuid4())
        folder = self.spool.get_artifact_folder(uuid)
        try:
            copy_tree(source, folder)
            describe(folder)  # Syncs the files.
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise CheckpointError(f"artifact {source} cannot be copied: {error}") from error
        self.add({"kind": "artifact", "uuid": uuid, "time": now(), "metadata": metadata})
        return uuid

    def _add_line(self, stdtype: str, line: str) -> None:
        if os.getpid() != self._process or self._finished:
            return
        try:
            self.add(
                {
                    "kind": "log",
                    "time": now(),
                    "stdtype": stdtype,
                    "line": line,
                    "number": next(self._line_numbers),
                }
            )
        except (OSError, RuntimeError) as error:  # print() must not fail.
            self._warn_once("lines", f"printed lines are not recorded: {error}")

    def add(self, record: Mapping[str, object]) -> None:
        """Adds a record to the spool.

        Raises:
            RuntimeError: The disk is full, or the run is finished.
        """
        data = _json.encode(record).encode()
        with self._adding:
            self._require_open()
            self._to_add.append(data)
            if self._is_adding:
                return  # The call that this one interrupts adds it.
            self._is_adding = True
            try:
                while self._to_add:
                    if not self.spool.records.add(self._to_add.popleft()):
                        raise RuntimeError(f"the disk of {self.folder} is full; free some space")
            finally:
                self._to_add.clear()
                self._is_adding = False
        if not self._wake.is_set():
            self._wake.set()

    def finish(self, state: str = "COMPLETED", timeout: float = 60.0) -> None:
        _check_state(state)
        if self._finished or os.getpid() != self._process:
            return
        if self._output is not None:
            self._output.close()
        with self._adding:
            self._finished = True  # Nothing is added from now on.
        atexit.unregister(self._finish_at_exit)
        try:
            self.spool.set_end("STATE_" + state)
        except OSError as error:
            warn(f"cannot write how run {self.id} ended: {error}")
        self._state = "STATE_" + state
        complete = False
        if self._thread is not None:
            self._wake.set()
            self._thread.join(timeout)
            complete = not self._thread.is_alive() and self._refusal is None
            self._stop_sending()
        if not complete:
            if self._thread is None or not self._thread.is_alive():
                self.spool.close()
            level = "WARNING" if self._online else "INFO"
            text = f"run {self.id} is kept in {self.folder}; to send it: det sync {self.folder}"
            if self.spool.records.unwritten:
                text += f"; {self.spool.records.unwritten} reports are lost: the disk was full"
            print(f"{level}: {text}", file=sys.__stderr__, flush=True)

    def _stop_sending(self) -> None:
        self._stopping.set()
        self._wake.set()
        if self._session is not None:
            self._session.close()
        if self._thread is not None:
            self._thread.join(_STOP_TIMEOUT)

    def discard(self) -> None:
        """Ends a run that the master has not started, without a trace."""
        if self._output is not None:
            self._output.close()
        self._finished = True
        atexit.unregister(self._finish_at_exit)
        self._stop_sending()
        self.spool.records.forget()
        self.spool.remove()

    def _finish_at_exit(self) -> None:
        self.finish("ERROR" if has_failed() else "COMPLETED")

    def flush(self, timeout: float = 60.0) -> None:
        """Waits until the master has everything that was reported so far.

        Raises:
            MasterError: It has not everything within the timeout.
        """
        until = time.monotonic() + timeout
        while len(self.spool.records):
            self._wake.set()
            if self._refusal is not None or time.monotonic() > until:
                raise MasterError(
                    f"the master does not have all reports: {self._refusal or 'timeout'}"
                )
            time.sleep(0.01)

    # ---- on the sending thread

    def _send_all(self) -> None:
        while not self._stopping.is_set():
            try:
                if self._send_until_finished():
                    return
            except (MasterError, CheckpointError, OSError) as error:
                if self._stopping.is_set():
                    return
                if isinstance(error, MasterError) and error.status not in _TRANSIENT:
                    self._refuse(error)
                    return
                if isinstance(error, CheckpointError):
                    text = f"{error}; the artifact is stored as soon as that succeeds"
                    self._warn_once("storage", text)
                if isinstance(error, OSError):
                    text = f"{self.folder}: {error}; reports are sent as soon as that is solved"
                    self._warn_once("disk", text)
                with self._changed:
                    self._away = True
                    self._changed.notify_all()
                self._stopping.wait(_AWAY_PAUSE)
            except Exception as error:  # Every exception: a caller of flush() would wait for it.
                self._refuse(MasterError(f"cannot send reports: {error!r}"))
                return

    def _warn_once(self, about: str, text: str) -> None:
        if about not in self._warned:
            self._warned.add(about)
            warn(text)

    def _refuse(self, error: MasterError) -> None:
        with self._changed:
            silent = self._starting  # init() raises it.
            self._refusal = error
            self._changed.notify_all()
        if not silent:
            warn(f"{error}; this run is recorded in {self.folder} only")

    def _connect(self) -> Session:
        return connect(str(self.spool.run["master"]))

    def _send_until_finished(self) -> bool:
        """Returns True when the master has everything and the run is finished."""
        if self._session is not None:
            self._session.close()  # After an outage.
        self._session = session = self._connect()
        self._send_earlier(session)
        sender = Sender(self.spool, session)
        sender.start(self._stopping.is_set)
        with self._changed:
            self._away = False
            self._changed.notify_all()
        if self.rank == 0 and self._heart is None:
            self._heart = threading.Thread(target=self._beat, name="det-heartbeat", daemon=True)
            self._heart.start()
        while not self._stopping.is_set():
            self._wake.wait()
            if self._state is None:
                time.sleep(_LINGER)
            self._wake.clear()
            finished = self._state  # Read it first: nothing is added after it is set.
            while not self._stopping.is_set() and sender.send():
                pass
            if finished is not None and not len(self.spool.records):
                if self.rank == 0:
                    sender.end(finished)
                self.spool.remove()
                return True
        return False

    def _send_earlier(self, session: Session) -> None:
        """Sends what earlier attempts of this process have left."""
        for folder in _spool.find_earlier(self.spool):
            try:
                left = _spool.Spool(folder)
            except BlockingIOError:
                # The master refuses reports of an attempt when a later one has started.
                raise MasterError(f"`det sync` is sending {folder}") from None
            except FileNotFoundError:
                continue  # `det sync` has sent it.
            except ValueError as error:
                self._warn_once(str(folder), f"{error}; it is not sent")
                continue
            try:
                send_all(left, session, is_last=lambda: False)
            except NotFoundError as error:  # Its experiment was deleted.
                left.close()
                self._warn_once(str(folder), f"{error}; {folder} is kept")
            except BaseException:
                left.close()
                raise

    def _beat(self) -> None:
        sender: Sender | None = None
        while not self._stopping.wait(HEARTBEAT) and not self._finished:
            try:
                sender = sender or Sender(self.spool, self._connect())
                sender.beat()
            except MasterError as error:
                if error.status not in _TRANSIENT:
                    return  # The sending thread reports it.


class TaskRun(Run):
    """A run in a task of the cluster: it reports to the trial of the task."""

    def __init__(self, context: Context, config: JsonObject) -> None:
        assert context.info is not None and context.info.trial is not None
        trial = context.info.trial
        super().__init__(str(trial.trial_id), {**config, **trial.hparams}, context.distributed.rank)
        self._context, self._trial = context, trial

    @property
    def experiment_id(self) -> int | None:
        return self._trial.experiment_id

    @property
    def trial_id(self) -> int | None:
        return self._trial.trial_id

    @property
    def latest_checkpoint(self) -> str | None:
        assert self._context.info is not None
        return self._context.info.latest_checkpoint

    @property
    def steps_completed(self) -> int:
        return self._trial.steps_completed

    def _report(self, group: str, step: int, metrics: Metrics) -> None:
        self._context.train.report_metrics(group, step, metrics)

    def progress(self, fraction: float) -> None:
        self._require_open()
        self._context.train.report_progress(fraction)

    def _store(self, source: pathlib.Path, metadata: JsonObject) -> str:
        if self.rank != 0:
            raise CheckpointError(
                f"rank {self.rank} cannot store an artifact in a task; rank 0 can"
            )
        with self._context.checkpoint.store_path(metadata) as (path, uuid):
            copy_tree(source, path)
        return uuid

    def finish(self, state: str = "COMPLETED", timeout: float = 60.0) -> None:
        _check_state(state)
        if not self._finished:
            self._finished = True
            self._context.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        # A rank that fails must not wait for the others, and InvalidHP ends the trial.
        self._finished = True
        self._context.__exit__(kind, error, trace)


def _check_state(state: str) -> None:
    if state not in ("COMPLETED", "CANCELED", "ERROR"):
        raise ValueError(f"state is {state!r}; expected COMPLETED, CANCELED or ERROR")


_exit_code: object = None


def has_failed() -> bool:
    """Returns whether this process is ending with an exception or an exit code."""
    return hasattr(sys, "last_value") or bool(_exit_code)


def _watch_exit() -> None:
    """Remembers the argument of sys.exit(), which functions of atexit do not see."""
    original = sys.exit
    if getattr(original, "watched", False):
        return

    def watched(code: object = None) -> None:
        global _exit_code
        _exit_code = code
        original(cast(str, code))

    watched.watched = True  # type: ignore[attr-defined]
    sys.exit = cast(Callable[[object], object], watched)  # type: ignore[assignment]


def init(
    project: str | None = None,
    config: JsonMapping | None = None,
    *,
    workspace: str | None = None,
    name: str | None = None,
    description: str | None = None,
    labels: Sequence[str] | None = None,
    metric: str | None = None,
    smaller_is_better: bool = True,
    run_id: str | None = None,
    rank: int | None = None,
    mode: str | None = None,
    spool: str | os.PathLike[str] | None = None,
    checkpoint_storage: CheckpointStorage | None = None,
    master: str | None = None,
    capture_output: bool = True,
) -> Run:
    """Starts a run that the cluster records, wherever this script runs.

    The user is that of `det user login`, or DET_USER_TOKEN, or DET_USER and DET_PASS. Reports are
    written to a directory first (`spool`), so the script neither waits for the master nor fails
    while the master is away; nothing is lost if the process is killed.

    In a task of the cluster, the run is the trial of the task; only `config` is used.

    Args:
        project: The project. Default: that of the master's configuration.
        config: The hyperparameters.
        workspace: The workspace of the project.
        name: The name of the experiment. Default: the name of the script.
        description: The description of the experiment.
        labels: The labels of the experiment.
        metric: The metric of the group "validation" that tells which runs are better.
        smaller_is_better: Whether smaller values of it are better.
        run_id: The ID of a run to continue, or to join with another rank. Default: a new run.
        rank: The number of this process in the run. Default: RANK, or 0.
        mode: "online" or "offline": only write to the spool, for `det sync`. Default: DET_MODE, or
            "online".
        spool: The directory of runs that are not sent yet. Default: DET_SPOOL_DIR, or
            ~/.local/share/resolute/runs.
        checkpoint_storage: Where artifacts are stored: a directory, a URL (s3://bucket/prefix,
            gs://bucket/prefix), or a checkpoint_storage of a configuration. Default:
            ~/.local/share/resolute/checkpoints.
        master: The URL of the master. Default: DET_MASTER.
        capture_output: Whether the lines that this process prints go to the log of the run.

    Returns:
        The run.

    Raises:
        MasterError: The master refused the run, or no credentials were found.
        ValueError: An argument is invalid.
        RuntimeError: Another process has opened this rank of the run.

    Example:
        run = det.init(project="demo", config={"lr": 0.1})
        run.log({"loss": 0.5})
        run.log_artifact("model.pt")
        run.finish()
    """
    hparams = dict(config or {})
    info = get_cluster_info()
    if info is not None and info.trial is not None:
        return TaskRun(init_context(), hparams)
    mode = mode or os.environ.get("DET_MODE") or "online"
    if mode not in _MODES:
        raise ValueError(f"mode is {mode!r}; expected online or offline")
    shared_id, number = _join_ranks(run_id, rank)
    storage = to_checkpoint_storage(checkpoint_storage)
    experiment: JsonObject = {
        "name": name or _get_script_name(),
        "description": description,
        "labels": list(labels or []),
        "workspace": workspace,
        "project": project,
        "searcher": {
            "name": "single",
            "metric": metric or "loss",
            "smaller_is_better": smaller_is_better,
        },
        "checkpoint_storage": storage,
    }
    return start(
        experiment,
        hparams,
        run_id=shared_id,
        rank=number,
        online=mode == "online",
        root=pathlib.Path(spool) if spool is not None else _spool.get_default_folder(),
        master=master,
        capture_output=capture_output,
        timeout=_FIRST_ANSWER,
    )


def start(
    config: JsonObject,
    hparams: JsonObject,
    *,
    run_id: str,
    rank: int,
    online: bool,
    root: pathlib.Path,
    master: str | None,
    capture_output: bool,
    timeout: float | None,
    external_experiment_id: str | None = None,
    external_trial_id: str | None = None,
) -> DetachedRun:
    """Starts a run outside of the cluster.

    Args:
        config: The configuration of the experiment.
        hparams: The hyperparameters of the trial.
        run_id: The ID of the run.
        rank: The number of this process.
        online: Whether to send reports.
        root: The directory of the spools.
        master: The URL of the master; None: DET_MASTER.
        capture_output: Whether printed lines are reported.
        timeout: The seconds to wait for the first answer of the master; None: forever.
        external_experiment_id: The external ID of the experiment. Default: the ID of the run.
        external_trial_id: The external ID of the trial. Default: the ID of the run.

    Raises:
        MasterError: The master refused the run.
        RuntimeError: Another process has opened this rank of the run.
    """
    spool = _spool.create(
        root,
        {
            "run_id": run_id,
            "rank": rank,
            "process": str(uuids.uuid4()),
            "master": canonical_url(
                master or os.environ.get("DET_MASTER") or "http://localhost:8080"
            ),
            "external_experiment_id": external_experiment_id or run_id,
            "external_trial_id": external_trial_id or run_id,
            "config": _json.encode(config),  # JSON is YAML.
            "hparams": json.loads(_json.encode(hparams)),
            "checkpoint_storage": config["checkpoint_storage"],
        },
        _MEMORY if online else 0,
    )
    _watch_exit()
    run = DetachedRun(spool, online, capture_output)
    atexit.register(run._finish_at_exit)
    if online:
        try:
            run.wait_for_start(timeout)
        except MasterError:
            run.discard()
            raise
    return run


def _get_script_name() -> str:
    name = pathlib.Path(sys.argv[0]).stem if sys.argv else ""
    return name if name and not name.startswith("-") else "run"


def to_checkpoint_storage(given: CheckpointStorage | None) -> JsonObject:
    """Returns the section checkpoint_storage of a configuration for a path, a URL or a section.

    Raises:
        ValueError: The scheme of a URL is unknown, it names no bucket, or it has a query.
    """
    if isinstance(given, Mapping):
        return dict(given)
    if given is None:
        data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
        given = os.path.join(data, "resolute", "checkpoints")
    text = os.fspath(given)
    directory: JsonObject = {"type": "directory", "container_path": os.path.abspath(text)}
    return parse_storage_url(text) or directory


def _join_ranks(run_id: str | None, rank: int | None) -> tuple[str, int]:
    """Returns the ID of the run and the number of this process in it.

    Ranks that a launcher has started together agree on the ID.
    """
    new_id = uuids.uuid4().hex[:12]
    number = int(os.environ.get("RANK") or 0) if rank is None else int(rank)
    if number < 0:
        raise ValueError(f"rank is {number}, but must be 0 or more")
    if run_id is None and rank is None and int(os.environ.get("WORLD_SIZE") or 1) > 1:
        ranks = DistributedContext.from_torch_distributed()
        new_id = ranks.broadcast(new_id)
        ranks.close()
    elif run_id is None and number:
        raise ValueError(f"rank is {number} without run_id; pass the run_id of rank 0")
    return _spool.check_run_id(run_id or new_id), number
