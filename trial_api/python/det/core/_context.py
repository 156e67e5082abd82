"""`init()`, and the context that it returns."""

from __future__ import annotations

import atexit
import enum
import faulthandler
import os
import pathlib
import signal
import sys
import traceback
from collections.abc import Mapping

from det._errors import CheckpointError, InvalidHP, RunIsOver
from det._info import ClusterInfo, connect_to_master, get_cluster_info
from det._master import Master
from det._types import CheckpointStorage, JsonMapping
from det.core._bucket_storage import BucketStorage
from det.core._checkpoint import CheckpointContext
from det.core._distributed import DistributedContext
from det.core._metric_events import MetricEvents
from det.core._object_store import is_object_store
from det.core._preempt import PreemptContext, PreemptionWatch, PreemptMode
from det.core._profiler import ProfilerContext
from det.core._registry import ClusterRegistry, Registry
from det.core._report_queue import ReportQueue, get_trial_owner, open_queue
from det.core._searcher import SearcherContext
from det.core._storage import FolderStorage, Storage, parse_storage_url
from det.core._train import ClusterTrain, EarlyExitReason, PrintedTrain, Selector, TrainContext
from det.tensorboard._rank_files import add_rank

_DEFAULT_CHECKPOINTS = "checkpoints"
_OFF_CLUSTER = {"searcher": {"max_length": {"epochs": 1}}}  # Enough to test that a script runs.
_LEVELS = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")  # The levels of an alert.
_CLOSE_TIMEOUT = 5.0  # Seconds for the event files of a failed script.
_FOLDER_KEYS = {"shared_fs": "host_path", "directory": "container_path"}


class TensorboardMode(enum.Enum):
    """When event files are uploaded.

    AUTO: after reports, at most once per second, and when the context closes; reported metrics are
        written to event files.
    MANUAL: when the script calls upload_tensorboard_files().
    """

    AUTO = "AUTO"
    MANUAL = "MANUAL"


class Context:
    """The trial as a training process sees it. init() returns one.

    Use it as `with init() as context:`, or call close(). A context that is still open is closed
    when the process exits.

    When the block ends, the context waits until the master has every report and checkpoint. If the
    block raises InvalidHP, the context reports that to the master and the process exits with 0. If
    it raises another exception, the context waits for the master too, unless other ranks wait for
    this process to exit; the launcher then sends the remaining reports.

    Attributes:
        info: The task (ClusterInfo); None off the cluster.
        distributed: The ranks of the trial (DistributedContext).
        train: Reports metrics and progress (TrainContext).
        searcher: The length of the training (SearcherContext).
        preempt: Whether the trial should stop (PreemptContext).
        checkpoint: Saves and restores checkpoints (CheckpointContext).
        profiler: Reports how busy this machine is (ProfilerContext).
    """

    def __init__(
        self,
        info: ClusterInfo | None,
        distributed: DistributedContext,
        train: TrainContext,
        searcher: SearcherContext,
        preempt: PreemptContext,
        checkpoint: CheckpointContext,
        tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
        master: Master | None = None,
        queue: ReportQueue | None = None,
        events: MetricEvents | None = None,
    ) -> None:
        self.info = info
        self.distributed = distributed
        self.train = train
        self.searcher = searcher
        self.preempt = preempt
        self.checkpoint = checkpoint
        self.profiler = ProfilerContext(train, enabled=queue is not None)
        self._tensorboard_mode = tensorboard_mode
        self._selects_event_file: Selector | None = None  # None: all files are stored.
        self._master, self._queue, self._events = master, queue, events
        self._process = os.getpid()
        self._closed = False

    def alert(
        self,
        title: str | None = None,
        description: str | None = None,
        level: str | enum.Enum = "info",
    ) -> None:
        """Sends an event to the webhooks that have a trigger of type CUSTOM.

        Off the cluster it is printed.

        Args:
            title: The title.
            description: The text.
            level: "debug", "info", "warning", "error" or "critical", or a member of an enumeration
                with such a name.

        Raises:
            ValueError: The level is unknown.
        """
        name = str(getattr(level, "name", level)).upper().replace("LOG_LEVEL_", "")
        if name not in _LEVELS:
            levels = ", ".join(known.lower() for known in _LEVELS)
            raise ValueError(f"unknown level of an alert: {level!r}; expected one of {levels}")
        if self._master is None or self.info is None or self.info.trial is None:
            print(f"alert {name}: {title}: {description}", flush=True)
            return
        trial = self.info.trial
        self._master.post(
            "/api/v1/webhooks/custom",
            {
                "data": {
                    "title": title or "",
                    "description": description or "",
                    "level": "LOG_LEVEL_" + name,
                },
                "experimentId": trial.experiment_id,
                "trialId": trial.trial_id,
            },
        )

    def _mirror_metrics(self, enabled: bool) -> None:
        """Chooses whether reported metrics are written to event files, on the cluster."""
        if self._events is not None:
            self._events.enabled = enabled

    def __enter__(self) -> Context:
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, InvalidHP):
            print(f"ERROR: invalid hyperparameters: {error}", file=sys.stderr, flush=True)
            self.train.report_early_exit(EarlyExitReason.INVALID_HP, str(error))
        clean = error is None or isinstance(error, InvalidHP)
        clean = clean or (isinstance(error, SystemExit) and not error.code)
        if clean:
            self._close(wait=True)
        else:
            try:
                self._close(wait=self.distributed.size == 1)
            except Exception as second:  # The first exception is the one to raise.
                print(f"WARNING: {second}", file=sys.stderr, flush=True)
        if isinstance(error, InvalidHP):
            sys.exit(0)

    def close(self) -> None:
        """Waits until the master has every report and checkpoint. Further calls do nothing."""
        self._close(wait=True)

    def _close_at_exit(self) -> None:
        if os.getpid() != self._process:  # A forked process has none of the threads.
            return
        try:
            failed = hasattr(sys, "last_value")  # The exception that ends the process.
            self._close(wait=not failed or self.distributed.size == 1)
        except BaseException:
            traceback.print_exc()
            sys.stdout.flush()
            os._exit(1)  # An exception in an atexit function does not change the exit code.

    def _close(self, wait: bool) -> None:
        atexit.unregister(self._close_at_exit)
        if self._closed:
            return
        self._closed = True
        self.profiler.off()
        try:
            if wait:
                self.checkpoint.close()
        finally:
            try:
                if self._queue is not None:
                    self._queue.close(wait)
            finally:
                # What was sent is then in an event file, also if the script has failed.
                self._close_event_files(wait)
            self.preempt.close()
            if wait:  # Else the exit of the process closes them: the ranks that notice it are not the cause.
                self.distributed.close()

    def _close_event_files(self, wait: bool) -> None:
        if self._events is not None:
            self._events.close(None if wait else _CLOSE_TIMEOUT)
        if self._tensorboard_mode is not TensorboardMode.AUTO or not wait:
            return
        try:
            self._store_event_files()
        except (CheckpointError, OSError) as error:
            # The training is complete, and a restart of the trial would not help.
            print(f"WARNING: cannot store event files: {error}", file=sys.stderr, flush=True)

    def _store_event_files(self) -> None:
        """Stores the changed event files of this rank.

        Raises:
            CheckpointError: The files cannot be stored.
        """
        mangler = add_rank if self.distributed.rank else None
        self.train.upload_tensorboard_files(self._selects_event_file, mangler)


def init(
    *,
    distributed: DistributedContext | None = None,
    checkpoint_storage: CheckpointStorage | None = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> Context:
    """Creates the context of this process. Collective: all ranks call it.

        with det.core.init() as context:
            context.train.report_training_metrics(steps_completed=10, metrics={"loss": 0.1})

    Args:
        distributed: The ranks of the trial. None: as the launcher has set in the environment, else
            one rank.
        checkpoint_storage: The checkpoint storage: a directory; a URL, such as s3://BUCKET/PREFIX,
            gs://BUCKET/PREFIX, azure://CONTAINER/PREFIX or file:///PATH; or a mapping as in a
            configuration, for example {"type": "s3", "bucket": "checkpoints"}. None: the
            configuration's; off the cluster, ./checkpoints.
        preempt_mode: Which ranks ask whether to stop.
        tensorboard_mode: When event files are uploaded.

    Returns:
        The context.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: The task has several slots and was not started by a launcher, or the storage is
            unknown, for example a URL with another scheme.
        CheckpointError: The library for the checkpoint storage is not installed.
    """
    for name, mode, kind in (
        ("preempt_mode", preempt_mode, PreemptMode),
        ("tensorboard_mode", tensorboard_mode, TensorboardMode),
    ):
        if not isinstance(mode, kind):
            raise TypeError(f"{name} is {mode!r}; expected a member of det.core.{kind.__name__}")
    if isinstance(checkpoint_storage, os.PathLike):
        checkpoint_storage = os.fspath(checkpoint_storage)
    if checkpoint_storage is not None and not isinstance(checkpoint_storage, (str, Mapping)):
        raise TypeError(
            f"checkpoint_storage is {checkpoint_storage!r}; expected a directory or a mapping"
        )
    info = get_cluster_info()
    distributed = distributed or _ranks(info)
    modes = (preempt_mode, tensorboard_mode)
    if info is None or info.trial is None:
        context = off_cluster(info, distributed, checkpoint_storage, *modes)
    else:
        faulthandler.register(signal.SIGUSR1, chain=False)
        context = _on_cluster(info, distributed, checkpoint_storage, *modes)
    atexit.register(context._close_at_exit)
    return context


def _ranks(info: ClusterInfo | None) -> DistributedContext:
    if os.environ.get("RANK") and os.environ.get("LOCAL_WORLD_SIZE"):
        return DistributedContext.from_torch_distributed()
    if info is not None and len(info.slot_ids) > 1:
        raise ValueError(
            f"this task has {len(info.slot_ids)} slots and one process: start the script with "
            "python3 -m det.launch.torch_distributed, or pass `distributed` to init()"
        )
    return DistributedContext.single()


def storage_folder(config: str | JsonMapping) -> pathlib.Path:
    """Returns the directory of a path or of a checkpoint_storage of a configuration."""
    if isinstance(config, str):
        return pathlib.Path(config)
    kind = config.get("type")
    key = _FOLDER_KEYS.get(str(kind))
    if key is None or not config.get(key):
        raise ValueError(
            f"unknown checkpoint_storage type {kind!r}; expected shared_fs with a host_path, directory "
            "with a container_path, s3, gcs or azure"
        )
    return pathlib.Path(config[key], config.get("storage_path") or "")


def make_storage(
    config: str | JsonMapping, owner: str = "", scratch: pathlib.Path | None = None
) -> Storage:
    """Opens a checkpoint storage.

    Args:
        config: The path of a directory, a URL, or a checkpoint_storage of a configuration.
        owner: The run that saves; see Storage.
        scratch: A directory for files on their way to or from a bucket; None: a temporary one.
    """
    if isinstance(config, str):
        config = parse_storage_url(config) or config
    if not isinstance(config, str) and is_object_store(config):
        return BucketStorage(config, owner, scratch)
    return FolderStorage(storage_folder(config), owner)


def off_cluster(
    info: ClusterInfo | None,
    distributed: DistributedContext,
    checkpoint_storage: str | JsonMapping | None,
    preempt_mode: PreemptMode,
    tensorboard_mode: TensorboardMode,
) -> Context:
    """Creates a context that does not talk to a master. See init()."""
    storage = make_storage(checkpoint_storage or _DEFAULT_CHECKPOINTS)
    train = PrintedTrain(distributed.is_chief, distributed.rank)
    return Context(
        info,
        distributed,
        train,
        SearcherContext(_OFF_CLUSTER, distributed, [], train),
        PreemptContext(distributed, preempt_mode),
        CheckpointContext(distributed, storage, Registry(storage.place)),
        tensorboard_mode,
    )


def _on_cluster(
    info: ClusterInfo,
    distributed: DistributedContext,
    checkpoint_storage: str | JsonMapping | None,
    preempt_mode: PreemptMode,
    tensorboard_mode: TensorboardMode,
) -> Context:
    trial = info.trial
    assert trial is not None
    master = connect_to_master(info)
    owner = get_trial_owner(info)
    storage = make_storage(
        checkpoint_storage or trial.checkpoint_dir or trial.config["checkpoint_storage"],
        owner,
        pathlib.Path(info.run_dir, "checkpoints") if info.run_dir else None,
    )
    event_files = pathlib.Path(info.run_dir or ".", "tensorboard", f"rank-{distributed.rank}")
    tensorboard = (
        f"{info.cluster_id}/tensorboard/experiment/{trial.experiment_id}/trial/{trial.trial_id}"
    )
    events = None
    if tensorboard_mode is TensorboardMode.AUTO and distributed.is_chief:
        resumed_at = trial.steps_completed if trial.trial_run_id > 1 else None
        events = MetricEvents(event_files, lambda: train.upload_tensorboard_files(), resumed_at)
    try:
        queue = _queue(info, events) if distributed.is_chief else None
    except BaseException:
        if events is not None:
            events.close(0)  # Ends its thread.
        raise
    train = ClusterTrain(
        trial,
        info.allocation_id,
        master,
        queue,
        event_files,
        distributed.rank,
        lambda folder, place: storage.copy_beside(folder, tensorboard, place),
    )
    watches = distributed.is_chief or preempt_mode is PreemptMode.WorkersAskMaster

    def on_over(why: RunIsOver) -> None:
        if queue is not None:
            queue.forget()
        _end(why)

    watch = (
        PreemptionWatch(connect_to_master(info), info.allocation_id, on_over) if watches else None
    )
    return Context(
        info,
        distributed,
        train,
        SearcherContext(trial.config, distributed, trial.validate_at, train),
        PreemptContext(distributed, preempt_mode, watch, master),
        CheckpointContext(
            distributed,
            storage,
            ClusterRegistry(storage.place, master, queue),
            info.latest_checkpoint,
            None if trial.warm_start else trial.steps_completed,
        ),
        tensorboard_mode,
        master,
        queue,
        events,
    )


def _queue(info: ClusterInfo, events: MetricEvents | None) -> ReportQueue:
    try:
        return open_queue(info, _end, events.add if events else None)
    except BlockingIOError:
        raise RuntimeError(
            "another context of this attempt is open: rank 0 is one process, which may have one "
            "open context; start several ranks with det.launch.torch_distributed"
        ) from None


def _end(why: RunIsOver) -> None:
    """Ends this process because the master has ended the run.

    sys.exit() would not do: other threads are at work.
    """
    sys.stdout.flush()
    print(f"ERROR: {why}; this process exits", file=sys.stderr, flush=True)
    os._exit(1)


__all__: list[str] = ["Context", "TensorboardMode", "init", "storage_folder"]
