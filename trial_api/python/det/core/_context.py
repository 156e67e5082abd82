"""The door of the Core API."""

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
from typing import Any

from det._errors import CheckpointError, InvalidHP, RunIsOver
from det._info import ClusterInfo, connect_to_master, get_cluster_info
from det._master import Master
from det.core._bucket_storage import BucketStorage
from det.core._checkpoint import CheckpointContext
from det.core._distributed import DistributedContext
from det.core._object_store import is_object_store
from det.core._preempt import PreemptContext, PreemptionWatch, PreemptMode
from det.core._profiler import ProfilerContext
from det.core._registry import ClusterRegistry, Registry
from det.core._report_queue import ReportQueue, owner_of_trial, queue_of_run
from det.core._searcher import SearcherContext
from det.core._storage import FolderStorage, Storage
from det.core._train import ClusterTrain, EarlyExitReason, PrintedTrain, TrainContext

_DEFAULT_CHECKPOINTS = "checkpoints"
_OFF_CLUSTER = {"searcher": {"max_length": {"epochs": 1}}}  # Enough to see that a script runs.
_LEVELS = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")  # Of an alert.
_FOLDER_KEYS = {"shared_fs": "host_path", "directory": "container_path"}


class TensorboardMode(enum.Enum):
    """AUTO: event files are uploaded when the context closes. MANUAL: the script does it."""

    AUTO = "AUTO"
    MANUAL = "MANUAL"


class Context:
    """What a training process knows and says; made by init(), used as `with init() as context:`,
    else closed by close() or at the exit of the process.

    At the end of the block the master has every report and checkpoint. A block that raises
    InvalidHP tells the master so and exits with 0. One that raises anything else waits for the
    master, too, unless other ranks wait for this process to end: then the launcher sends what is
    left.
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
    ) -> None:
        self.info = info
        self.distributed = distributed
        self.train = train
        self.searcher = searcher
        self.preempt = preempt
        self.checkpoint = checkpoint
        self.profiler = ProfilerContext(train, enabled=queue is not None)
        self._tensorboard_mode = tensorboard_mode
        self._master, self._queue = master, queue
        self._process = os.getpid()
        self._closed = False

    def alert(
        self,
        title: str | None = None,
        description: str | None = None,
        level: Any = "info",
    ) -> None:
        """Tells the webhooks with a trigger of type CUSTOM. level: "debug", "info", "warning",
        "error", "critical", or an enumeration's member of such a name.
        """
        name = str(getattr(level, "name", level)).upper().replace("LOG_LEVEL_", "")
        if name not in _LEVELS:
            levels = ", ".join(known.lower() for known in _LEVELS)
            raise ValueError(f"the level of an alert is {level!r}: give one of {levels}")
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

    def __enter__(self) -> Context:
        return self

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
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
            except Exception as second:  # What has failed first is what counts.
                print(f"WARNING: {second}", file=sys.stderr, flush=True)
        if isinstance(error, InvalidHP):
            sys.exit(0)

    def close(self) -> None:
        """As the end of the block: waits until the master has everything. Once."""
        self._close(wait=True)

    def _close_at_exit(self) -> None:
        if os.getpid() != self._process:  # A copy of the process has none of its threads.
            return
        try:
            failed = hasattr(sys, "last_value")  # The exception that ends the process.
            self._close(wait=not failed or self.distributed.size == 1)
        except BaseException:
            traceback.print_exc()
            sys.stdout.flush()
            os._exit(1)  # Of an exception at the exit nobody would hear.

    def _close(self, wait: bool) -> None:
        atexit.unregister(self._close_at_exit)
        if self._closed:
            return
        self._closed = True
        self.profiler.off()
        try:
            if wait:
                self.checkpoint.close()
                if self._tensorboard_mode is TensorboardMode.AUTO:
                    self._upload_event_files()
        finally:
            if self._queue is not None:
                self._queue.close(wait)
            self.preempt.close()
            if wait:  # Else at the process' end: the ranks that notice it are not those to blame.
                self.distributed.close()

    def _upload_event_files(self) -> None:
        """Another start of a trial that has trained to its end would not bring them."""
        try:
            self.train.upload_tensorboard_files()
        except (CheckpointError, OSError) as error:
            print(f"WARNING: event files were not stored: {error}", file=sys.stderr, flush=True)


def init(
    *,
    distributed: DistributedContext | None = None,
    checkpoint_storage: str | Mapping[str, Any] | None = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> Context:
    """The context of this process. Collective.

    Args:
        distributed: the ranks. None: those of the launcher's environment, else one.
        checkpoint_storage: off the cluster, a folder or {"type": "shared_fs", "host_path": ...}, or
            {"type": "s3", "bucket": ...} as in a configuration;
            None: ./checkpoints. On the cluster the configuration's.

    Raises:
        TypeError, ValueError: arguments that make no sense.
    """
    for name, mode, kind in (
        ("preempt_mode", preempt_mode, PreemptMode),
        ("tensorboard_mode", tensorboard_mode, TensorboardMode),
    ):
        if not isinstance(mode, kind):
            raise TypeError(f"{name} is {mode!r}: give one of det.core.{kind.__name__}")
    if isinstance(checkpoint_storage, os.PathLike):
        checkpoint_storage = os.fspath(checkpoint_storage)
    if checkpoint_storage is not None and not isinstance(checkpoint_storage, (str, Mapping)):
        raise TypeError(
            f"checkpoint_storage is {checkpoint_storage!r}: give a folder, or what a configuration says"
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
            "python3 -m det.launch.torch_distributed, or give init() its `distributed`"
        )
    return DistributedContext.single()


def storage_folder(config: str | Mapping[str, Any]) -> pathlib.Path:
    """Of a folder's path or a configuration's checkpoint_storage."""
    if isinstance(config, str):
        return pathlib.Path(config)
    kind = config.get("type")
    key = _FOLDER_KEYS.get(str(kind))
    if key is None or not config.get(key):
        raise ValueError(
            f"checkpoint_storage of type {kind!r} is not known here: shared_fs with a host_path, "
            "directory with a container_path, s3, gcs and azure are"
        )
    return pathlib.Path(config[key], config.get("storage_path") or "")


def make_storage(
    config: str | Mapping[str, Any], owner: str = "", scratch: pathlib.Path | None = None
) -> Storage:
    """Of a folder's path or a configuration's checkpoint_storage. scratch: where files of a bucket
    are on their way; None: a folder of the system's.
    """
    if not isinstance(config, str) and is_object_store(config):
        return BucketStorage(config, owner, scratch)
    return FolderStorage(storage_folder(config), owner)


def off_cluster(
    info: ClusterInfo | None,
    distributed: DistributedContext,
    checkpoint_storage: str | Mapping[str, Any] | None,
    preempt_mode: PreemptMode,
    tensorboard_mode: TensorboardMode,
) -> Context:
    """The twin that speaks with no master. See init()."""
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
    checkpoint_storage: str | Mapping[str, Any] | None,
    preempt_mode: PreemptMode,
    tensorboard_mode: TensorboardMode,
) -> Context:
    trial = info.trial
    assert trial is not None
    master = connect_to_master(info)
    owner = owner_of_trial(info)
    storage = make_storage(
        checkpoint_storage or trial.checkpoint_dir or trial.config["checkpoint_storage"],
        owner,
        pathlib.Path(info.run_dir, "checkpoints") if info.run_dir else None,
    )
    queue = _queue(info) if distributed.is_chief else None
    tensorboard = (
        f"{info.cluster_id}/tensorboard/experiment/{trial.experiment_id}/trial/{trial.trial_id}"
    )
    train = ClusterTrain(
        trial,
        info.allocation_id,
        master,
        queue,
        pathlib.Path(info.run_dir or ".", "tensorboard", f"rank-{distributed.rank}"),
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
    )


def _queue(info: ClusterInfo) -> ReportQueue:
    try:
        return queue_of_run(info, _end)
    except BlockingIOError:
        raise RuntimeError(
            "another context of this run is open: one process of a trial is rank 0, and calls "
            "det.core.init() once at a time; start several with det.launch.torch_distributed"
        ) from None


def _end(why: RunIsOver) -> None:
    """Of a run that the master has given up. Not by sys.exit(): other threads are in the middle of
    things.
    """
    sys.stdout.flush()
    print(f"ERROR: {why}; this process ends", file=sys.stderr, flush=True)
    os._exit(1)


__all__: list[str] = ["Context", "TensorboardMode", "init", "storage_folder"]
