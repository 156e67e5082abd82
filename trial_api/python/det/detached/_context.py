"""The Core API outside of the cluster, for experiments that the cluster records."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import threading
import uuid as uuids
from collections.abc import Mapping

from det._errors import CheckpointError, MasterError
from det._info import ClusterInfo, TrialInfo
from det._types import CheckpointStorage, Json, JsonObject, Metrics
from det.core import (
    Context,
    DistributedContext,
    EarlyExitReason,
    PreemptContext,
    PreemptMode,
    SearcherContext,
    TensorboardMode,
    _json,
    _report,
)
from det.core._checkpoint import CheckpointContext
from det.core._context import make_storage
from det.core._metric_events import MetricEvents
from det.core._registry import Registry
from det.core._storage import Files, Storage
from det.core._train import Mangler, PrintedTrain, Selector
from det.detached import _run, _spool
from det.detached._run import DetachedRun
from det.detached._sender import now
from det.experimental._session import Session, connect

_START_TIMEOUT = 60.0  # Seconds for which a master may be away at the start.
# Without a length in the configuration of the searcher, an operation has one epoch.
_LENGTH = {"max_length": {"epochs": 1}}


@dataclasses.dataclass
class Config:
    """The experiment that records a run outside of the cluster; ignored in a task of the cluster.

    Attributes:
        name: The name of the experiment.
        hparams: The hyperparameters.
        data: The data section.
        description: The description.
        labels: The labels.
        workspace: The workspace.
        project: The project.
        checkpoint_storage: A directory, a URL or a section checkpoint_storage.
        searcher: The searcher section.
        external_experiment_id: The ID of the experiment in another system. Runs with the same ID
            are trials of one experiment.
        external_trial_id: The ID of the trial in another system. A run with the same IDs continues
            the trial.
    """

    name: str | None = None
    hparams: JsonObject | None = None
    data: JsonObject | None = None
    description: str | None = None
    labels: list[str] | None = None
    workspace: str | None = None
    project: str | None = None
    checkpoint_storage: str | JsonObject | None = None
    searcher: JsonObject | None = None
    external_experiment_id: str | None = None
    external_trial_id: str | None = None


def open_context(
    config: Config,
    distributed: DistributedContext,
    checkpoint_storage: CheckpointStorage | None,
    preempt_mode: PreemptMode,
    tensorboard_mode: TensorboardMode,
) -> Context:
    """Creates or continues the experiment, and returns a context that reports to it. Collective.

    Raises:
        MasterError: The master refused the experiment, or does not answer.
        ValueError: There is an external ID of the trial but none of the experiment.
    """
    if config.external_trial_id is not None and config.external_experiment_id is None:
        raise ValueError("external_trial_id needs external_experiment_id")
    section = _run.to_checkpoint_storage(checkpoint_storage or config.checkpoint_storage)
    run_id = distributed.broadcast(_make_run_id(config))
    experiment: JsonObject = {
        "name": config.name or f"unmanaged-{run_id[:8]}",
        "data": config.data,
        "description": config.description,
        "labels": config.labels,
        "workspace": config.workspace,
        "project": config.project,
        "searcher": config.searcher or {"name": "single", "metric": "unmanaged"},
        "checkpoint_storage": section,
    }
    run = _run.start(
        experiment,
        config.hparams or {},
        run_id=run_id,
        rank=distributed.rank,
        online=True,
        root=_spool.get_default_folder(),
        master=None,
        capture_output=True,
        timeout=_START_TIMEOUT,
        external_experiment_id=config.external_experiment_id,
        external_trial_id=config.external_trial_id,
    )
    if not run.spool.ids:
        run.discard()
        raise MasterError(f"the master at {run.spool.run['master']} does not answer")
    session = connect()
    info = _make_info(run, session, experiment)
    storage = make_storage(section, f"detached-{run.trial_id}-{info.cluster_id}")
    train = DetachedTrain(run, session, info, distributed, storage, tensorboard_mode)
    return DetachedContext(
        run,
        info,
        distributed,
        train,
        SearcherContext(
            {"searcher": {**_LENGTH, **(config.searcher or {})}}, distributed, [], train
        ),
        PreemptContext(distributed, preempt_mode),
        CheckpointContext(
            distributed,
            storage,
            DetachedRegistry(storage.place, run, session),
            info.latest_checkpoint,
            run.steps_completed,
        ),
        tensorboard_mode,
    )


def _make_run_id(config: Config) -> str:
    """Returns the same ID for the same external IDs, so that a later process sends what is left."""
    if config.external_trial_id is None:
        return uuids.uuid4().hex
    both = json.dumps([config.external_experiment_id, config.external_trial_id])
    return uuids.uuid5(uuids.NAMESPACE_URL, both).hex


def _make_info(run: DetachedRun, session: Session, config: JsonObject) -> ClusterInfo:
    ids = run.spool.ids
    return ClusterInfo(
        master_url=str(run.spool.run["master"]),
        cluster_id=str(session.get("/api/v1/master").get("clusterId", "")),
        agent_id="unmanaged",
        slot_ids=[],
        task_id=str(ids["task_id"]),
        allocation_id=str(ids["task_id"]),
        session_token="",
        task_type="TRIAL",
        latest_checkpoint=run.latest_checkpoint,
        trial=TrialInfo(
            trial_id=int(ids["trial_id"]),
            experiment_id=int(ids["experiment_id"]),
            trial_run_id=int(ids["trial_run_id"]),
            trial_seed=0,
            hparams=run.config,
            config=config,
            steps_completed=run.steps_completed,
        ),
        gpu_uuids=[],
    )


class DetachedContext(Context):
    """A context whose reports go through a run. See det.core.Context."""

    def __init__(
        self,
        run: DetachedRun,
        info: ClusterInfo,
        distributed: DistributedContext,
        train: DetachedTrain,
        searcher: SearcherContext,
        preempt: PreemptContext,
        checkpoint: CheckpointContext,
        tensorboard_mode: TensorboardMode,
    ) -> None:
        super().__init__(
            info,
            distributed,
            train,
            searcher,
            preempt,
            checkpoint,
            tensorboard_mode,
            events=train.events,
        )
        self._run, self._state = run, ""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        clean = error is None or (isinstance(error, SystemExit) and not error.code)
        self._state = "COMPLETED" if clean else "ERROR"
        super().__exit__(kind, error, trace)

    def _close(self, wait: bool) -> None:
        if self._closed:
            return
        state = self._state or ("ERROR" if _run.has_failed() else "COMPLETED")
        try:
            super()._close(wait)
        finally:
            self._run.finish(state)


class DetachedTrain(PrintedTrain):
    """Reports through a run.

    Attributes:
        events: Writes the reported metrics to event files; None if that is not wanted.
    """

    def __init__(
        self,
        run: DetachedRun,
        session: Session,
        info: ClusterInfo,
        distributed: DistributedContext,
        storage: Storage,
        tensorboard_mode: TensorboardMode,
    ) -> None:
        super().__init__(distributed.is_chief, distributed.rank)
        assert info.trial is not None
        self._run, self._session, self._trial = run, session, info.trial
        self._storage, self._rank = storage, distributed.rank
        trial = info.trial
        self._place = (
            f"{info.cluster_id}/tensorboard/experiment/{trial.experiment_id}/trial/{trial.trial_id}"
        )
        # Several processes of a machine must not share it.
        self._tensorboard = pathlib.Path(run.spool.folder, "tensorboard")
        self._uploading = threading.Lock()
        self.events: MetricEvents | None = None
        if tensorboard_mode is TensorboardMode.AUTO and distributed.is_chief:
            resumed_at = trial.steps_completed if trial.trial_run_id > 1 else None
            self.events = MetricEvents(
                self._tensorboard, lambda: self.upload_tensorboard_files(), resumed_at
            )

    def _write(
        self, group: str, steps: int, metrics: Metrics, batch_metrics: list[Metrics] | None
    ) -> None:
        self._run.add_metrics(group, steps, metrics, batch_metrics)
        if self.events is not None:
            self.events.add([_report.pack(group, steps, metrics, batch_metrics)])

    def report_progress(self, progress: float) -> None:
        if self._chief:
            self._run.progress(progress)

    def report_early_exit(self, reason: EarlyExitReason, message: str = "") -> None:
        super().report_early_exit(reason, message)
        if reason is EarlyExitReason.INVALID_HP:
            self._run.add({"kind": "early_exit", "reason": reason.value})

    def get_experiment_best_validation(self) -> float | None:
        self.flush()
        path = f"/api/v1/experiments/{self._trial.experiment_id}/searcher"
        try:
            return float(self._session.get(path + "/best_searcher_validation_metric")["metric"])
        except MasterError as error:
            if error.status == 404:
                return None
            raise

    def get_metadata(self) -> JsonObject | None:
        found = self._session.get(f"/api/v1/runs/{self._trial.trial_id}/metadata").get("metadata")
        return dict(found) if found is not None else None

    def set_metadata(self, metadata: JsonObject) -> None:
        self._session.post(
            f"/api/v1/runs/{self._trial.trial_id}/metadata",
            {"runId": self._trial.trial_id, "metadata": metadata},
        )

    def upload_tensorboard_files(
        self, selector: Selector | None = None, mangler: Mangler | None = None
    ) -> None:
        def place(path: pathlib.Path) -> pathlib.Path | None:
            if selector is not None and not selector(path):
                return None
            return path if mangler is None else pathlib.Path(mangler(path, self._rank))

        with self._uploading:
            self._storage.copy_beside(self._tensorboard, self._place, place)

    def flush(self) -> None:
        self._run.flush()


class DetachedRegistry(Registry):
    """Reports checkpoints through a run."""

    def __init__(self, base: str, run: DetachedRun, session: Session) -> None:
        super().__init__(base)
        self._run, self._session = run, session

    def saved(self, uuid: str, metadata: Mapping[str, Json], files: Files) -> None:
        self._run.add(
            {
                "kind": "checkpoint",
                "uuid": uuid,
                "time": now(),
                "resources": {file["path"]: file["size"] for file in files},
                "metadata": json.loads(_json.encode(metadata)),
            }
        )

    def deleted(self, uuid: str) -> None:
        self._run.flush()
        empty: dict[str, Json] = {"uuid": uuid, "resources": {"resources": {}}}
        self._session.patch("/api/v1/checkpoints", {"checkpoints": [empty]})
        found = self._session.get(f"/api/v1/checkpoints/{uuid}")
        if dict(found.get("checkpoint") or {}).get("state") != "STATE_DELETED":
            raise CheckpointError(f"cannot delete checkpoint {uuid}: a version of a model uses it")
