"""What a trial reports about its training."""

from __future__ import annotations

import enum
import logging
import pathlib
import sys
import threading
from collections.abc import Mapping
from typing import Callable, cast

from det._errors import MasterError
from det._info import TrialInfo
from det._master import Master
from det._types import JsonObject, Metrics
from det.core import _json, _report, _storage
from det.core._log import log
from det.core._report_queue import METRICS, SERVICE, VALIDATION, ReportQueue

_MAX_STEPS = 2**31
Selector = Callable[[pathlib.Path], object]
Mangler = Callable[[pathlib.Path, int], pathlib.Path]


class EarlyExitReason(enum.Enum):
    """Why a trial ends early. It is not restarted."""

    INVALID_HP = "EXITED_REASON_INVALID_HP"
    # Existing scripts use it; such a trial counts as completed.
    USER_REQUESTED_STOP = "EXITED_REASON_USER_REQUESTED_STOP"


class TrainContext:
    """Reports metrics and progress to the master.

    Reports of other ranks than the chief are ignored.

    On the cluster each report leaves a line of level INFO in the trial's log, for example
    `report_training_metrics(steps_completed=10, metrics={'loss': 0.1})`. It is written with the
    logger `determined.core`, or printed if the script does not configure logging. The environment
    variable DET_LOG_LEVEL, for example WARNING, sets the level that is printed.

    A report returns as soon as it is on the disk of this machine. Metrics are numbers by name (also
    of numpy and torch, NaN and infinity included), strings, or lists and dicts of them.

    Every report raises MasterError after the master has refused an earlier one.
    """

    def report_metrics(
        self,
        group: str,
        steps_completed: int,
        metrics: Metrics,
        *,
        batch_metrics: list[Metrics] | None = None,
    ) -> None:
        """Reports metrics of a group.

        A second report of a group at the same `steps_completed` adds its metrics to the first one.
        The master refuses it if it changes the value of a metric, or the `batch_metrics`.

        Args:
            group: The name of the group, without ".".
            steps_completed: The number of batches trained so far.
            metrics: The metrics by name.
            batch_metrics: The metrics of each batch since the previous report.

        Raises:
            ValueError: The group or the number of steps is invalid.
            TypeError: The metrics are not a mapping, or contain a value that is not JSON.
            MasterError: The master has refused an earlier report.
        """
        _check(group, steps_completed, metrics)
        self._report(group, int(steps_completed), metrics, batch_metrics)

    def report_training_metrics(
        self,
        steps_completed: int,
        metrics: Metrics,
        batch_metrics: list[Metrics] | None = None,
    ) -> None:
        """Reports metrics of the group "training". See report_metrics().

        Args:
            steps_completed: The number of batches trained so far.
            metrics: The metrics by name.
            batch_metrics: The metrics of each batch since the previous report.

        Raises:
            ValueError: The number of steps is negative or too large.
            TypeError: The metrics are not a mapping, or contain a value that is not JSON.
            MasterError: The master has refused an earlier report.
        """
        self.report_metrics("training", steps_completed, metrics, batch_metrics=batch_metrics)

    def report_validation_metrics(
        self, steps_completed: int, metrics: Metrics, *, ask_best: bool = False
    ) -> bool:
        """Reports metrics of the group "validation". See report_metrics().

        Args:
            steps_completed: The number of batches trained so far.
            metrics: The metrics by name; the searcher's metric among them.
            ask_best: Whether to wait, for up to a second, until the master has compared this
                validation with the others of the experiment.

        Returns:
            Whether this is the best validation of the experiment; True without `ask_best`, and if
            the master does not answer in time.

        Raises:
            ValueError: The number of steps is negative or too large.
            TypeError: The metrics are not a mapping, or contain a value that is not JSON.
            MasterError: The master has refused an earlier report.
        """
        _check("validation", steps_completed, metrics)
        return self._report("validation", int(steps_completed), metrics, None, ask_best)

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: Metrics,
        batch_metrics: list[Metrics] | None,
        ask_best: bool = False,
    ) -> bool:
        raise NotImplementedError

    def report_progress(self, progress: float) -> None:
        """Reports the completed fraction of the training, from 0 to 1.

        Args:
            progress: The fraction.

        Raises:
            ValueError: The fraction is less than 0 or greater than 1.
            TypeError: It is not a number.
        """
        raise NotImplementedError

    def report_early_exit(self, reason: EarlyExitReason, message: str = "") -> None:
        """Reports that the trial is about to exit and that a restart would be useless.

        Any rank may call.

        Args:
            reason: The reason.
            message: A description for users.

        Raises:
            TypeError: The reason is not an EarlyExitReason.
        """
        raise NotImplementedError

    def set_status(self, status: str) -> None:
        """Sets a description of what the trial is doing, for users: "training", "validating".

        Args:
            status: The description.
        """
        raise NotImplementedError

    def get_experiment_best_validation(self) -> float | None:
        """Returns the best value of the searcher's metric in the experiment; None before the first.

        Raises:
            MasterError: The master refused the request, or does not answer.
        """
        raise NotImplementedError

    def get_metadata(self) -> JsonObject | None:
        """Returns the metadata of this trial.

        Returns:
            The JSON object; None if there is none.

        Raises:
            MasterError: The master refused the request, or does not answer.
        """
        raise NotImplementedError

    def set_metadata(self, metadata: JsonObject) -> None:
        """Replaces the metadata of this trial: a JSON object of at most 64 KiB.

        Args:
            metadata: The JSON object.

        Raises:
            MasterError: The master refused the metadata, or does not answer.
        """
        raise NotImplementedError

    def get_tensorboard_path(self) -> pathlib.Path:
        """Returns the directory for the event files of this rank.

        Returns:
            The directory, which exists.
        """
        raise NotImplementedError

    def upload_tensorboard_files(
        self, selector: Selector | None = None, mangler: Mangler | None = None
    ) -> None:
        """Copies event files that have changed to the checkpoint storage.

        Paths are relative to the directory of get_tensorboard_path(). Two ranks must not upload
        different files under one name.

        Args:
            selector: Returns whether to upload a file, given its path. None: all files.
            mangler: Returns the path to upload a file to, given its path and the rank.

        Raises:
            ValueError: The mangler returned a path outside the directory.
            CheckpointError: The files cannot be stored.
        """
        raise NotImplementedError

    def flush(self) -> None:
        """Waits until the master has every report.

        Raises:
            MasterError: The master has refused a report.
        """
        raise NotImplementedError


class ClusterTrain(TrainContext):
    """Reports to the master.

    Args:
        trial: The trial.
        allocation_id: The ID of its allocation.
        master: The connection to the master.
        queue: The queue of the reports; None on other ranks than the chief.
        tensorboard: The directory for event files.
        rank: The rank of this process.
        upload: Copies the changed files of a directory to the checkpoint storage, to the path that
            a function returns.
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
        self._uploading = threading.Lock()  # Other threads than the training's may upload too.
        self._status = ""
        self._validated = -1  # Steps of the latest validation with the searcher's metric.
        self._searcher_metric = (trial.config.get("searcher") or {}).get("metric")

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: Metrics,
        batch_metrics: list[Metrics] | None,
        ask_best: bool = False,
    ) -> bool:
        if self._queue is None:
            return True
        _log_report(group, steps_completed, metrics)
        if group == "validation" and self._searcher_metric is not None:
            self._warn_about_missing_metric(steps_completed, metrics)
        kind = VALIDATION if group == "validation" else METRICS
        number = self._queue.add(kind, _report.pack(group, steps_completed, metrics, batch_metrics))
        return self._queue.best(number) if ask_best else True

    def _warn_about_missing_metric(self, steps_completed: int, metrics: Metrics) -> None:
        """Warns once: the search cannot use such validations, and the trial continues."""
        problem = _report.describe_missing_metric(str(self._searcher_metric), metrics)
        if problem is None:
            self._validated = steps_completed
        elif self._validated != steps_completed:  # Otherwise a part of a validation.
            self._searcher_metric = None
            print(f"WARNING: {problem}", file=sys.stderr, flush=True)

    def report_progress(self, progress: float) -> None:
        _check_progress(progress)
        if self._queue:
            log(logging.DEBUG, "report_progress(%s)", progress)
            self._queue.set_progress(float(progress))

    def report_early_exit(self, reason: EarlyExitReason, message: str = "") -> None:
        _check_reason(reason)
        log(logging.INFO, "report_early_exit(%s)", reason)
        if reason is EarlyExitReason.INVALID_HP:
            self._master.post(
                SERVICE + "ReportEarlyExit",
                {
                    "allocationId": self._allocation,
                    "reason": "INVALID_HP",
                    # A later report, for example the launcher's, replaces one without a message.
                    "message": message or "invalid hyperparameters",
                },
            )

    def set_status(self, status: str) -> None:
        if self._queue and status != self._status:
            self._status = status
            log(logging.DEBUG, "set_status(%s)", status)
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

    def get_metadata(self) -> JsonObject | None:
        return self._master.get(f"/api/v1/runs/{self._trial.trial_id}/metadata").get("metadata")

    def set_metadata(self, metadata: JsonObject) -> None:
        body: JsonObject = {"runId": self._trial.trial_id}
        body["metadata"] = cast(JsonObject, _json.to_json(metadata))
        self._master.post(f"/api/v1/runs/{self._trial.trial_id}/metadata", body)

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
    """Prints metrics, for runs off the cluster."""

    def __init__(self, chief: bool, rank: int) -> None:
        self._chief = chief
        self._tensorboard = pathlib.Path("tensorboard", f"rank-{rank}")
        self._metadata: JsonObject = {}

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: Metrics,
        batch_metrics: list[Metrics] | None,
        ask_best: bool = False,
    ) -> bool:
        if self._chief:
            self._write(group, steps_completed, metrics, batch_metrics)
        return True

    def _write(
        self, group: str, steps: int, metrics: Metrics, batch_metrics: list[Metrics] | None
    ) -> None:
        print(f"{group} steps={steps} {_json.encode(metrics)}", flush=True)

    def report_progress(self, progress: float) -> None:
        _check_progress(progress)

    def report_early_exit(self, reason: EarlyExitReason, message: str = "") -> None:
        _check_reason(reason)
        print(f"early exit: {reason.name} {message}".rstrip(), file=sys.stderr)

    def set_status(self, status: str) -> None:
        pass

    def get_experiment_best_validation(self) -> float | None:
        return None

    def get_metadata(self) -> JsonObject | None:
        return self._metadata

    def set_metadata(self, metadata: JsonObject) -> None:
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


def _log_report(group: str, steps_completed: int, metrics: Metrics) -> None:
    """Writes the line for which existing users search the log."""
    if group in ("training", "validation"):
        text = "report_%s_metrics(steps_completed=%s, metrics=%s)"
    else:
        text = "report_metrics(group=%s, steps_completed=%s, metrics=%s)"
    log(logging.INFO, text, group, steps_completed, metrics)


def _inside(path: pathlib.Path) -> pathlib.Path:
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(
            f"the mangler returned {path}; expected a path inside the directory of event files"
        )
    return path


def _check(group: str, steps_completed: int, metrics: Metrics) -> None:
    if not group or "." in group:
        raise ValueError(
            f"{group!r} is not a valid name of a group of metrics; expected a name without '.'"
        )
    if type(metrics) is not dict and not isinstance(metrics, Mapping):
        raise TypeError(f"the metrics of {group} are {metrics!r}; expected a dictionary")
    _json.check_metrics(metrics)
    _check_number("steps_completed", steps_completed)
    if not 0 <= steps_completed < _MAX_STEPS:
        raise ValueError(
            f"steps_completed is {steps_completed}, but must be from 0 to {_MAX_STEPS - 1}"
        )
    if steps_completed != int(steps_completed):
        raise ValueError(f"steps_completed is {steps_completed}, but must be a whole number")


def _check_number(name: str, value: object) -> None:
    """Accepts numbers of numpy and torch too."""
    if type(value) is not int and (isinstance(value, str) or not hasattr(value, "__float__")):
        raise TypeError(f"{name} is {value!r}; expected a number")


def _check_reason(reason: object) -> None:
    if not isinstance(reason, EarlyExitReason):
        raise TypeError(f"the reason is {reason!r}; expected a member of det.core.EarlyExitReason")


def _check_progress(progress: float) -> None:
    _check_number("progress", progress)
    if not 0 <= progress <= 1:
        raise ValueError(f"progress is {progress}, but must be from 0 to 1")
