"""What a trial tells of its training."""

from __future__ import annotations

import enum
import pathlib
import sys
import threading
from collections.abc import Mapping
from typing import Any, Callable

from det._errors import MasterError
from det._info import TrialInfo
from det._master import Master
from det.core import _json, _report, _storage
from det.core._report_queue import METRICS, SERVICE, VALIDATION, ReportQueue

_MAX_STEPS = 2**31
Selector = Callable[[pathlib.Path], Any]
Mangler = Callable[[pathlib.Path, int], pathlib.Path]


class EarlyExitReason(enum.Enum):
    """Why a trial ends before its time; it is not started again."""

    INVALID_HP = "EXITED_REASON_INVALID_HP"
    # Known to users; a trial that ends so has just finished.
    USER_REQUESTED_STOP = "EXITED_REASON_USER_REQUESTED_STOP"


class TrainContext:
    """Reports of the chief; those of other ranks are dropped.

    A report returns as soon as it is safe on this machine's disk. Metrics are numbers by name
    (also of numpy and torch, nan and inf too), texts, or lists and dicts of them. Raises
    MasterError once the master has refused an earlier one.
    """

    def report_metrics(
        self,
        group: str,
        steps_completed: int,
        metrics: Mapping[str, Any],
        *,
        batch_metrics: list[Mapping[str, Any]] | None = None,
    ) -> None:
        """Of a group of any name without '.'. One report per steps_completed: the master keeps the
        first, so what belongs together is reported together.
        """
        _check(group, steps_completed, metrics)
        self._report(group, steps_completed, metrics, batch_metrics)

    def report_training_metrics(
        self,
        steps_completed: int,
        metrics: Mapping[str, Any],
        batch_metrics: list[Mapping[str, Any]] | None = None,
    ) -> None:
        self.report_metrics("training", steps_completed, metrics, batch_metrics=batch_metrics)

    def report_validation_metrics(
        self, steps_completed: int, metrics: Mapping[str, Any], *, ask_best: bool = False
    ) -> bool:
        """With ask_best waits up to a second for the master's word on whether this is the best
        validation of the experiment; True where it does not say, and without ask_best.
        """
        _check("validation", steps_completed, metrics)
        return self._report("validation", steps_completed, metrics, None, ask_best)

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: Mapping[str, Any],
        batch_metrics: list[Mapping[str, Any]] | None,
        ask_best: bool = False,
    ) -> bool:
        raise NotImplementedError

    def report_progress(self, progress: float) -> None:
        """How much of the training is done, 0 to 1."""
        raise NotImplementedError

    def report_early_exit(self, reason: EarlyExitReason, message: str = "") -> None:
        """The trial is about to end and another start would be useless. Any rank."""
        raise NotImplementedError

    def set_status(self, status: str) -> None:
        """A word for people: "training", "validating"."""
        raise NotImplementedError

    def get_experiment_best_validation(self) -> float | None:
        """The best of the searcher's metric in the experiment; None before the first."""
        raise NotImplementedError

    def get_metadata(self) -> dict[str, Any] | None:
        """What was said of this run by set_metadata."""
        raise NotImplementedError

    def set_metadata(self, metadata: dict[str, Any]) -> None:
        """Replaces it: any JSON of at most 64 KiB."""
        raise NotImplementedError

    def get_tensorboard_path(self) -> pathlib.Path:
        """A folder of this rank's own for event files."""
        raise NotImplementedError

    def upload_tensorboard_files(
        self, selector: Selector | None = None, mangler: Mangler | None = None
    ) -> None:
        """Copies event files that have changed beside the checkpoints: those for which
        selector(path) holds, as mangler(path, rank). Both paths are relative to the folder of
        get_tensorboard_path(); ranks must not bring different files under one name.

        Raises:
            ValueError: the mangler gave a path that leads elsewhere.
        """
        raise NotImplementedError

    def flush(self) -> None:
        """Waits until the master has every report."""
        raise NotImplementedError


class ClusterTrain(TrainContext):
    """The twin on the cluster. `queue`: None on ranks other than the chief. `upload`: brings what has
    changed in the folder of event files beside the checkpoints, to the place that is said.
    """

    def __init__(
        self,
        trial: TrialInfo,
        allocation_id: str,
        master: Master,
        queue: ReportQueue | None,
        tensorboard: pathlib.Path,
        rank: int,
        upload: Callable[[pathlib.Path, _storage.Place], None],
    ) -> None:
        self._trial, self._allocation = trial, allocation_id
        self._master, self._queue = master, queue
        self._tensorboard, self._rank, self._upload = tensorboard, rank, upload
        self._uploading = threading.Lock()  # Also beside training.
        self._status = ""
        self._last: dict[str, int] = {}  # Group -> steps of its newest report.

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: Mapping[str, Any],
        batch_metrics: list[Mapping[str, Any]] | None,
        ask_best: bool = False,
    ) -> bool:
        if self._queue is None:
            return True
        self._warn_of_repetition(group, steps_completed)
        kind = VALIDATION if group == "validation" else METRICS
        number = self._queue.add(kind, _report.pack(group, steps_completed, metrics, batch_metrics))
        return self._queue.best(number) if ask_best else True

    def _warn_of_repetition(self, group: str, steps_completed: int) -> None:
        if self._last.get(group) == steps_completed:
            print(
                f"WARNING: {group} metrics are reported at {steps_completed} steps once more; the "
                "master keeps the first: report them together, or as another group",
                file=sys.stderr,
                flush=True,
            )
        self._last[group] = steps_completed

    def report_progress(self, progress: float) -> None:
        _check_progress(progress)
        if self._queue:
            self._queue.set_progress(float(progress))

    def report_early_exit(self, reason: EarlyExitReason, message: str = "") -> None:
        _check_reason(reason)
        if reason is EarlyExitReason.INVALID_HP:
            self._master.post(
                SERVICE + "ReportEarlyExit",
                {
                    "allocationId": self._allocation,
                    "reason": "INVALID_HP",
                    # The master takes a later report, the launcher's say, for one without words.
                    "message": message or "invalid hyperparameters",
                },
            )

    def set_status(self, status: str) -> None:
        if self._queue and status != self._status:
            self._status = status
            try:
                self._master.post(
                    f"/api/v1/trials/{self._trial.trial_id}/runner/metadata", {"state": status}
                )
            except MasterError as error:
                print(f"WARNING: {error}", file=sys.stderr)

    def get_experiment_best_validation(self) -> float | None:
        if self._queue:
            self._queue.flush()
        try:
            best = self._master.get(
                f"/api/v1/experiments/{self._trial.experiment_id}/searcher"
                "/best_searcher_validation_metric"
            )
        except MasterError as error:
            if error.status == 404:
                return None
            raise
        return float(best["metric"])

    def get_metadata(self) -> dict[str, Any] | None:
        return self._master.get(f"/api/v1/runs/{self._trial.trial_id}/metadata").get("metadata")

    def set_metadata(self, metadata: dict[str, Any]) -> None:
        self._master.post(
            f"/api/v1/runs/{self._trial.trial_id}/metadata",
            {"runId": self._trial.trial_id, "metadata": metadata},
        )

    def get_tensorboard_path(self) -> pathlib.Path:
        self._tensorboard.mkdir(parents=True, exist_ok=True)
        return self._tensorboard

    def upload_tensorboard_files(
        self, selector: Selector | None = None, mangler: Mangler | None = None
    ) -> None:
        def place(path: pathlib.Path) -> pathlib.Path | None:
            if selector is not None and not selector(path):
                return None
            return path if mangler is None else _inside(pathlib.Path(mangler(path, self._rank)))

        with self._uploading:
            self._upload(self._tensorboard, place)

    def flush(self) -> None:
        if self._queue:
            self._queue.flush()


class PrintedTrain(TrainContext):
    """The twin off the cluster: metrics are lines of the chief."""

    def __init__(self, chief: bool, rank: int) -> None:
        self._chief = chief
        self._tensorboard = pathlib.Path("tensorboard", f"rank-{rank}")
        self._metadata: dict[str, Any] = {}

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: Mapping[str, Any],
        batch_metrics: list[Mapping[str, Any]] | None,
        ask_best: bool = False,
    ) -> bool:
        if self._chief:
            print(f"{group} steps={steps_completed} {_json.encode(metrics)}", flush=True)
        return True

    def report_progress(self, progress: float) -> None:
        _check_progress(progress)

    def report_early_exit(self, reason: EarlyExitReason, message: str = "") -> None:
        _check_reason(reason)
        print(f"early exit: {reason.name} {message}".rstrip(), file=sys.stderr)

    def set_status(self, status: str) -> None:
        pass

    def get_experiment_best_validation(self) -> float | None:
        return None

    def get_metadata(self) -> dict[str, Any] | None:
        return self._metadata

    def set_metadata(self, metadata: dict[str, Any]) -> None:
        self._metadata = dict(metadata)

    def get_tensorboard_path(self) -> pathlib.Path:
        self._tensorboard.mkdir(parents=True, exist_ok=True)
        return self._tensorboard

    def upload_tensorboard_files(
        self, selector: Selector | None = None, mangler: Mangler | None = None
    ) -> None:
        pass

    def flush(self) -> None:
        pass


def _inside(path: pathlib.Path) -> pathlib.Path:
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"the mangler gave {path}: give a path within the folder of event files")
    return path


def _check(group: str, steps_completed: int, metrics: Mapping[str, Any]) -> None:
    if not group or "." in group:
        raise ValueError(f"{group!r} is no group of metrics: give a name without '.'")
    if type(metrics) is not dict and not isinstance(metrics, Mapping):
        raise TypeError(f"the metrics of {group} are {metrics!r}: give a dictionary, by name")
    _check_number("steps_completed", steps_completed)
    if not 0 <= steps_completed < _MAX_STEPS:
        raise ValueError(f"steps_completed is {steps_completed}, and must be 0 or more")


def _check_number(name: str, value: Any) -> None:
    """Also of numpy and torch."""
    if type(value) is not int and (isinstance(value, str) or not hasattr(value, "__float__")):
        raise TypeError(f"{name} is {value!r}: give a number")


def _check_reason(reason: Any) -> None:
    if not isinstance(reason, EarlyExitReason):
        raise TypeError(f"the reason is {reason!r}: give one of det.core.EarlyExitReason")


def _check_progress(progress: float) -> None:
    _check_number("progress", progress)
    if not 0 <= progress <= 1:
        raise ValueError(f"progress is {progress}, and must be from 0 to 1")
