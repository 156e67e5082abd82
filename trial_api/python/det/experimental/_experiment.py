"""Experiments and trials of the SDK."""

from __future__ import annotations

import base64
import dataclasses
import enum
import itertools
import json
import pathlib
import time
from collections.abc import Collection, Iterator

from det._errors import MasterError
from det._types import Json, JsonObject
from det.experimental._checkpoint import Checkpoint, find_best
from det.experimental._order import (
    CheckpointSortBy,
    OrderBy,
    TrialSortBy,
    in_order,
    make_checkpoint_query,
)
from det.experimental._session import Session


class ExperimentState(enum.Enum):
    """The state of an experiment or trial, without the API's prefix STATE_."""

    ACTIVE = "ACTIVE"
    QUEUED = "QUEUED"
    PULLING = "PULLING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPING_COMPLETED = "STOPPING_COMPLETED"
    STOPPING_CANCELED = "STOPPING_CANCELED"
    STOPPING_ERROR = "STOPPING_ERROR"
    STOPPING_KILLED = "STOPPING_KILLED"
    COMPLETED = "COMPLETED"
    CANCELED = "CANCELED"
    ERROR = "ERROR"
    DELETED = "DELETED"
    DELETING = "DELETING"
    DELETE_FAILED = "DELETE_FAILED"
    UNSPECIFIED = "UNSPECIFIED"

    @classmethod
    def of(cls, name: str) -> ExperimentState:
        """Converts the API's name of a state.

        Args:
            name: The name, with or without the prefix STATE_.

        Returns:
            The state.

        Raises:
            ValueError: There is no such state.
        """
        return cls(name.replace("STATE_", "", 1))

    @property
    def is_over(self) -> bool:
        """Whether the state is final."""
        return self.value in ("COMPLETED", "CANCELED", "ERROR", "DELETED")


TrialState = ExperimentState  # The API has the same names.


@dataclasses.dataclass
class TrialMetrics:
    """A metric report of a trial.

    Attributes:
        trial_id: The ID of the trial.
        trial_run_id: The number of the attempt that reported.
        group: The group of the metrics.
        steps_completed: The number of batches trained so far.
        end_time: When it was reported.
        metrics: The metrics by name.
    """

    trial_id: int
    trial_run_id: int
    group: str
    steps_completed: int
    end_time: str
    metrics: JsonObject

    @property
    def total_batches(self) -> int:
        """The older name of steps_completed."""
        return self.steps_completed


class Trial:
    """A trial, as it was at the last reload()."""

    def __init__(self, session: Session, data: JsonObject) -> None:
        self._session = session
        self.id = int(data["id"])
        self._take(data)

    def _take(self, data: JsonObject) -> None:
        self.experiment_id = int(data.get("experimentId") or 0)
        self.state = TrialState.of(data.get("state") or "STATE_UNSPECIFIED")
        self.hparams: JsonObject = data.get("hparams") or {}
        self.restarts = int(data.get("restarts") or 0)

    @property
    def summary_metrics(self) -> JsonObject:
        """The count, sum, min, max, last and so on of each metric, by group and name."""
        own = {"kind": "field", "columnName": "id", "operator": "=", "value": self.id}
        group = {"kind": "group", "conjunction": "and", "children": [own]}
        body: Json = {
            "limit": 1,
            "filter": json.dumps({"filterGroup": group, "showArchived": True}),
        }
        runs = self._session.post("/api/v1/runs", body).get("runs") or [{}]
        return dict(runs[0].get("summaryMetrics") or {})

    def reload(self) -> Trial:
        """Asks the master again."""
        self._take(self._session.get(f"/api/v1/trials/{self.id}")["trial"])
        return self

    def kill(self) -> None:
        """Kills the trial."""
        self._session.post(f"/api/v1/trials/{self.id}/kill")

    def iter_logs(self, follow: bool = False, **filters: object) -> Iterator[str]:
        """Yields the lines of the log, with their line ends.

        Args:
            follow: Whether to wait for new lines until the trial ends.
            **filters: The filters of TrialLogs, for example rankIds=[0].
        """
        for line in self._session.lines(
            f"/api/v1/trials/{self.id}/logs", follow=follow or None, **filters
        ):
            rank = line.get("rankId")
            # The line of a progress bar ends in \r.
            text = str(line.get("log", "")).removesuffix("\n").removesuffix("\r")
            yield text + "\n" if rank is None else f"[rank={rank}] {text}\n"

    logs = iter_logs

    def iter_metrics(self, group: str | None = None) -> Iterator[TrialMetrics]:
        """Yields the metric reports in order.

        Args:
            group: The group of the metrics; None: all groups.
        """
        yield from iter_metrics(self._session, [self.id], group)

    def list_metrics(self, group: str | None = None) -> list[TrialMetrics]:
        """Returns the metric reports. See iter_metrics()."""
        return list(self.iter_metrics(group))

    def list_checkpoints(
        self,
        sort_by: CheckpointSortBy | str | None = None,
        order_by: OrderBy | None = None,
        max_results: int | None = None,
    ) -> list[Checkpoint]:
        """Returns the complete checkpoints.

        Args:
            sort_by: A CheckpointSortBy, or the name of a validation metric. Default: by age, oldest
                first.
            order_by: An OrderBy.
            max_results: The maximum number.
        """
        path = f"/api/v1/trials/{self.id}/checkpoints"
        return _checkpoints(self._session, path, sort_by, order_by, max_results)

    def top_checkpoint(
        self, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> Checkpoint:
        """Returns the best checkpoint.

        Args:
            sort_by: The name of a validation metric. Default: the metric of the searcher.
            smaller_is_better: Whether small values are good. Default: as the searcher is
                configured.

        Raises:
            ValueError: No checkpoint has the metric.
        """
        smaller = smaller_is_better
        if smaller is None:
            smaller = get_experiment(self._session, self.experiment_id).smaller_is_better
        return find_best(self.list_checkpoints(), sort_by, smaller)

    def __repr__(self) -> str:
        return f"Trial(id={self.id})"


class Experiment:
    """An experiment, as it was at the last reload()."""

    def __init__(self, session: Session, data: JsonObject) -> None:
        self._session = session
        self.id = int(data["id"])
        self._take(data)

    def _take(self, data: JsonObject) -> None:
        self.name = str(data.get("name") or "")
        self.description = str(data.get("description") or "")
        self.labels: list[str] = data.get("labels") or []
        self.notes = str(data.get("notes") or "")
        self.archived = bool(data.get("archived"))
        self.config: JsonObject = data.get("config") or {}
        self.state = ExperimentState.of(data.get("state") or "STATE_UNSPECIFIED")
        self.state_reason = str(data.get("stateReason") or "")
        self.progress = float(data.get("progress") or 0)
        self.project_id = int(data.get("projectId") or 0)

    @property
    def smaller_is_better(self) -> bool:
        """Whether the searcher minimizes its metric."""
        return bool((self.config.get("searcher") or {}).get("smaller_is_better", True))

    def reload(self) -> Experiment:
        """Asks the master again."""
        data = self._session.get(f"/api/v1/experiments/{self.id}")
        experiment = data["experiment"]
        self._take({**experiment, "config": experiment.get("config") or data.get("config")})
        return self

    def wait(self, interval: float = 5.0) -> ExperimentState:
        """Waits until the experiment has ended.

        Args:
            interval: The seconds after which to try again if the connection breaks.

        Returns:
            The final state.
        """
        while not self.reload().state.is_over:
            try:
                for data in self._session.lines(f"/api/v1/experiments/{self.id}/watch"):
                    experiment = data.get("experiment")
                    if experiment is None:
                        continue  # An update of metrics only.
                    state = ExperimentState.of(experiment.get("state", ""))
                    if state.is_over:
                        break
            except MasterError as error:
                if error.status not in (0, 503):
                    raise
                time.sleep(interval)
        return self.state

    def await_first_trial(self, interval: float = 0.1) -> Trial:
        """Waits until the experiment has a trial.

        Args:
            interval: The seconds between requests.

        Raises:
            ValueError: The experiment ended without a trial.
        """
        while True:
            trials = self.list_trials()
            if trials:
                return trials[0]
            if self.reload().state.is_over:
                raise ValueError(f"experiment {self.id} is {self.state.value} and has no trial")
            time.sleep(interval)

    def list_trials(
        self, sort_by: TrialSortBy | None = None, order_by: OrderBy | None = None
    ) -> list[Trial]:
        """Returns the trials.

        Args:
            sort_by: A TrialSortBy.
            order_by: An OrderBy.
        """
        path = f"/api/v1/experiments/{self.id}/trials"
        found = self._session.pages(path, "trials", sortBy=sort_by, orderBy=order_by)
        return [Trial(self._session, data) for data in found]

    get_trials = list_trials

    def list_checkpoints(
        self,
        sort_by: CheckpointSortBy | str | None = None,
        order_by: OrderBy | None = None,
        max_results: int | None = None,
    ) -> list[Checkpoint]:
        """Returns the complete checkpoints of all trials.

        Args:
            sort_by: A CheckpointSortBy, or the name of a validation metric. Default: by age, oldest
                first.
            order_by: An OrderBy.
            max_results: The maximum number.
        """
        path = f"/api/v1/experiments/{self.id}/checkpoints"
        return _checkpoints(self._session, path, sort_by, order_by, max_results)

    def top_checkpoint(
        self, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> Checkpoint:
        """Returns the best checkpoint. See Trial.top_checkpoint()."""
        return self.top_n_checkpoints(1, sort_by, smaller_is_better)[0]

    def top_n_checkpoints(
        self, limit: int, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> list[Checkpoint]:
        """Returns the best checkpoints, the best one first. See Trial.top_checkpoint().

        Args:
            limit: The maximum number.
            sort_by: The name of a validation metric. Default: the metric of the searcher.
            smaller_is_better: Whether small values are good. Default: as the searcher is
                configured.
        """
        smaller = self.smaller_is_better if smaller_is_better is None else smaller_is_better
        left = self.list_checkpoints()
        found: list[Checkpoint] = []
        while len(found) < limit and (left or not found):
            best = find_best(left, sort_by, smaller)
            found.append(best)
            left.remove(best)
            if not any(c.value(sort_by) is not None for c in left):
                break
        return found

    def activate(self) -> None:
        """Starts or resumes the experiment."""
        self._act("activate")

    def pause(self) -> None:
        """Pauses the experiment: its trials save checkpoints and exit."""
        self._act("pause")

    def cancel(self) -> None:
        """Cancels the experiment: its trials save checkpoints and exit."""
        self._act("cancel")

    def kill(self) -> None:
        """Kills the experiment."""
        self._act("kill")

    def archive(self) -> None:
        """Archives the experiment."""
        self._act("archive")

    def unarchive(self) -> None:
        """Restores an archived experiment."""
        self._act("unarchive")

    def delete(self) -> None:
        """Deletes the experiment with its checkpoints."""
        self._session.delete(f"/api/v1/experiments/{self.id}")

    def set_name(self, name: str) -> None:
        """Sets the name.

        Args:
            name: The new name.
        """
        self._patch(name=name)

    def set_description(self, description: str) -> None:
        """Sets the description.

        Args:
            description: The new description.
        """
        self._patch(description=description)

    def set_notes(self, notes: str) -> None:
        """Sets the notes.

        Args:
            notes: The new notes, in Markdown.
        """
        self._patch(notes=notes)

    def set_labels(self, labels: Collection[str]) -> None:
        """Replaces the labels.

        Args:
            labels: The labels. Those of a set are stored in alphabetical order.

        Raises:
            TypeError: The labels are a string.
        """
        self._patch(labels=in_order(labels))

    def add_label(self, label: str) -> None:
        """Adds a label.

        Args:
            label: The label. Nothing changes if the experiment has it.
        """
        if label not in self.labels:
            self.set_labels([*self.labels, label])

    def remove_label(self, label: str) -> None:
        """Removes a label.

        Args:
            label: The label. Nothing changes if the experiment does not have it.
        """
        self.set_labels([known for known in self.labels if known != label])

    def download_code(self, output_dir: str | None = None) -> str:
        """Downloads the context directory as a .tgz file.

        Args:
            output_dir: The directory of the file. Default: the current directory.

        Returns:
            The path of the file.
        """
        data = self._session.get(f"/api/v1/experiments/{self.id}/model_def")
        path = pathlib.Path(output_dir or ".", f"experiment_{self.id}_model_def.tgz")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data.get("b64Tgz") or ""))
        return str(path)

    def delete_tensorboard_files(self) -> None:
        """Deletes the event files of the trials."""
        self._session.delete(f"/api/v1/experiments/{self.id}/tensorboard-files")

    def move_to_project(self, project_id: int) -> None:
        """Moves the experiment to another project.

        Args:
            project_id: The ID of the project.

        Raises:
            MasterError: The project does not exist, or the user may not change it.
        """
        self._session.post(
            f"/api/v1/experiments/{self.id}/move", {"destinationProjectId": project_id}
        )

    def _act(self, verb: str) -> None:
        self._session.post(f"/api/v1/experiments/{self.id}/{verb}")

    def _patch(self, **changes: Json) -> None:
        self._session.patch(f"/api/v1/experiments/{self.id}", {"id": self.id, **changes})
        self.reload()

    def __repr__(self) -> str:
        return f"Experiment(id={self.id})"


def get_experiment(session: Session, experiment_id: int) -> Experiment:
    """Returns an experiment by its ID."""
    return Experiment(session, {"id": experiment_id}).reload()


def iter_metrics(
    session: Session, trial_ids: list[int], group: str | None
) -> Iterator[TrialMetrics]:
    """Yields the metric reports of trials."""
    for data in session.lines(
        "/api/v1/trials/metrics/trial_metrics", trialIds=trial_ids, group=group
    ):
        for report in data.get("metrics") or []:
            yield TrialMetrics(
                trial_id=int(report["trialId"]),
                trial_run_id=int(report.get("trialRunId") or 0),
                group=str(report.get("group") or ""),
                steps_completed=int(report.get("totalBatches") or 0),
                end_time=str(report.get("endTime") or ""),
                metrics=_get_values(report.get("metrics") or {}),
            )


def _get_values(metrics: JsonObject) -> JsonObject:
    """Returns the metrics of a report by name, without those of single batches."""
    return metrics.get("validation_metrics") or metrics.get("avg_metrics") or {}


def _checkpoints(
    session: Session,
    path: str,
    sort_by: CheckpointSortBy | str | None,
    order_by: OrderBy | None,
    most: int | None,
) -> list[Checkpoint]:
    found = session.pages(path, "checkpoints", **make_checkpoint_query(sort_by, order_by))
    complete = (data for data in found if data.get("state") == "STATE_COMPLETED")
    return [Checkpoint(session, data) for data in itertools.islice(complete, most)]
