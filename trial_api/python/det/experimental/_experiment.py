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
from typing import Any

from det._errors import MasterError
from det.experimental._checkpoint import Checkpoint, best_of
from det.experimental._order import in_order, of_checkpoints
from det.experimental._session import Session


class ExperimentState(enum.Enum):
    """As the API names it, without STATE_."""

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
    def of(cls, told: str) -> ExperimentState:
        return cls(told.replace("STATE_", "", 1))

    @property
    def is_over(self) -> bool:
        return self.value in ("COMPLETED", "CANCELED", "ERROR", "DELETED")


TrialState = ExperimentState  # The same words.


@dataclasses.dataclass
class TrialMetrics:
    """One report of a trial."""

    trial_id: int
    trial_run_id: int
    group: str
    steps_completed: int
    end_time: str
    metrics: dict[str, Any]


class Trial:
    """One trial; what it is at the time of reload()."""

    def __init__(self, session: Session, told: dict[str, Any]) -> None:
        self._session = session
        self.id = int(told["id"])
        self._take(told)

    def _take(self, told: dict[str, Any]) -> None:
        self.experiment_id = int(told.get("experimentId") or 0)
        self.state = TrialState.of(told.get("state") or "STATE_UNSPECIFIED")
        self.hparams: dict[str, Any] = told.get("hparams") or {}
        self.restarts = int(told.get("restarts") or 0)

    @property
    def summary_metrics(self) -> dict[str, Any]:
        """Of what it has reported by now: by group and name the count, sum, min, max, last and such."""
        own = {"kind": "field", "columnName": "id", "operator": "=", "value": self.id}
        group = {"kind": "group", "conjunction": "and", "children": [own]}
        body = {"limit": 1, "filter": json.dumps({"filterGroup": group, "showArchived": True})}
        runs = self._session.post("/api/v1/runs", body).get("runs") or [{}]
        return dict(runs[0].get("summaryMetrics") or {})

    def reload(self) -> Trial:
        self._take(self._session.get(f"/api/v1/trials/{self.id}")["trial"])
        return self

    def kill(self) -> None:
        self._session.post(f"/api/v1/trials/{self.id}/kill")

    def iter_logs(self, follow: bool = False, **filters: Any) -> Iterator[str]:
        """Lines with their ends. filters: those of TrialLogs, such as rankIds=[0]."""
        for line in self._session.lines(
            f"/api/v1/trials/{self.id}/logs", follow=follow or None, **filters
        ):
            message = str(line.get("message", ""))
            yield message if message.endswith("\n") else message + "\n"

    logs = iter_logs

    def iter_metrics(self, group: str | None = None) -> Iterator[TrialMetrics]:
        """All reports, or those of a group, in their order."""
        yield from iter_metrics(self._session, [self.id], group)

    def list_metrics(self, group: str | None = None) -> list[TrialMetrics]:
        return list(self.iter_metrics(group))

    def list_checkpoints(
        self, sort_by: Any = None, order_by: Any = None, max_results: int | None = None
    ) -> list[Checkpoint]:
        """The complete ones; without sort_by (a CheckpointSortBy, or a validation metric's name)
        oldest first.
        """
        path = f"/api/v1/trials/{self.id}/checkpoints"
        return _checkpoints(self._session, path, sort_by, order_by, max_results)

    def top_checkpoint(
        self, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> Checkpoint:
        """The best by a validation metric, or the searcher's. Raises ValueError without one."""
        smaller = smaller_is_better
        if smaller is None:
            smaller = get_experiment(self._session, self.experiment_id).smaller_is_better
        return best_of(self.list_checkpoints(), sort_by, smaller)

    def __repr__(self) -> str:
        return f"Trial(id={self.id})"


class Experiment:
    """One experiment; what it is at the time of reload()."""

    def __init__(self, session: Session, told: dict[str, Any]) -> None:
        self._session = session
        self.id = int(told["id"])
        self._take(told)

    def _take(self, told: dict[str, Any]) -> None:
        self.name = str(told.get("name") or "")
        self.description = str(told.get("description") or "")
        self.labels: list[str] = told.get("labels") or []
        self.notes = str(told.get("notes") or "")
        self.archived = bool(told.get("archived"))
        self.config: dict[str, Any] = told.get("config") or {}
        self.state = ExperimentState.of(told.get("state") or "STATE_UNSPECIFIED")
        self.state_reason = str(told.get("stateReason") or "")
        self.progress = float(told.get("progress") or 0)
        self.project_id = int(told.get("projectId") or 0)

    @property
    def smaller_is_better(self) -> bool:
        return bool((self.config.get("searcher") or {}).get("smaller_is_better", True))

    def reload(self) -> Experiment:
        told = self._session.get(f"/api/v1/experiments/{self.id}")
        self._take({"config": told.get("config"), **told["experiment"]})
        return self

    def wait(self, interval: float = 5.0) -> ExperimentState:
        """Until it is over; interval: seconds after which a broken connection is tried again."""
        while not self.reload().state.is_over:
            try:
                for told in self._session.lines(f"/api/v1/experiments/{self.id}/watch"):
                    if "experiment" not in told:
                        continue  # news of metrics alone
                    state = ExperimentState.of(told["experiment"].get("state", ""))
                    if state.is_over:
                        break
            except MasterError as error:
                if error.status not in (0, 503):
                    raise
                time.sleep(interval)
        return self.state

    def await_first_trial(self, interval: float = 0.1) -> Trial:
        """Waits until there is one. Raises ValueError where the experiment ends without."""
        while True:
            trials = self.list_trials()
            if trials:
                return trials[0]
            if self.reload().state.is_over:
                raise ValueError(f"experiment {self.id} is {self.state.value} and has no trial")
            time.sleep(interval)

    def list_trials(self, sort_by: Any = None, order_by: Any = None) -> list[Trial]:
        """sort_by: a TrialSortBy; order_by: an OrderBy."""
        path = f"/api/v1/experiments/{self.id}/trials"
        found = self._session.pages(path, "trials", sortBy=sort_by, orderBy=order_by)
        return [Trial(self._session, told) for told in found]

    get_trials = list_trials

    def list_checkpoints(
        self, sort_by: Any = None, order_by: Any = None, max_results: int | None = None
    ) -> list[Checkpoint]:
        """The complete ones of all trials; sort_by: a CheckpointSortBy, or a validation metric's
        name.
        """
        path = f"/api/v1/experiments/{self.id}/checkpoints"
        return _checkpoints(self._session, path, sort_by, order_by, max_results)

    def top_checkpoint(
        self, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> Checkpoint:
        """The best by a validation metric, or the searcher's. Raises ValueError without one."""
        return self.top_n_checkpoints(1, sort_by, smaller_is_better)[0]

    def top_n_checkpoints(
        self, limit: int, sort_by: str | None = None, smaller_is_better: bool | None = None
    ) -> list[Checkpoint]:
        smaller = self.smaller_is_better if smaller_is_better is None else smaller_is_better
        left = self.list_checkpoints()
        found: list[Checkpoint] = []
        while len(found) < limit and (left or not found):
            best = best_of(left, sort_by, smaller)
            found.append(best)
            left.remove(best)
            if not any(c.value(sort_by) is not None for c in left):
                break
        return found

    def activate(self) -> None:
        self._act("activate")

    def pause(self) -> None:
        self._act("pause")

    def cancel(self) -> None:
        self._act("cancel")

    def kill(self) -> None:
        self._act("kill")

    def archive(self) -> None:
        self._act("archive")

    def unarchive(self) -> None:
        self._act("unarchive")

    def delete(self) -> None:
        self._session.delete(f"/api/v1/experiments/{self.id}")

    def set_name(self, name: str) -> None:
        self._patch(name=name)

    def set_description(self, description: str) -> None:
        self._patch(description=description)

    def set_notes(self, notes: str) -> None:
        self._patch(notes=notes)

    def set_labels(self, labels: Collection[str]) -> None:
        self._patch(labels=in_order(labels))

    def add_label(self, label: str) -> None:
        if label not in self.labels:
            self.set_labels([*self.labels, label])

    def remove_label(self, label: str) -> None:
        self.set_labels([known for known in self.labels if known != label])

    def download_code(self, output_dir: str | None = None) -> str:
        """The files that it was created with, as a .tgz in that folder, or here; its path."""
        told = self._session.get(f"/api/v1/experiments/{self.id}/model_def")
        path = pathlib.Path(output_dir or ".", f"experiment_{self.id}_model_def.tgz")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(told.get("b64Tgz") or ""))
        return str(path)

    def delete_tensorboard_files(self) -> None:
        self._session.delete(f"/api/v1/experiments/{self.id}/tensorboard-files")

    def move_to_project(self, project_id: int) -> None:
        self._session.post(
            f"/api/v1/experiments/{self.id}/move", {"destinationProjectId": project_id}
        )

    def _act(self, verb: str) -> None:
        self._session.post(f"/api/v1/experiments/{self.id}/{verb}")

    def _patch(self, **changes: Any) -> None:
        self._session.patch(f"/api/v1/experiments/{self.id}", {"id": self.id, **changes})
        self.reload()

    def __repr__(self) -> str:
        return f"Experiment(id={self.id})"


def get_experiment(session: Session, experiment_id: int) -> Experiment:
    return Experiment(session, {"id": experiment_id}).reload()


def iter_metrics(
    session: Session, trial_ids: list[int], group: str | None
) -> Iterator[TrialMetrics]:
    for told in session.lines(
        "/api/v1/trials/metrics/trial_metrics", trialIds=trial_ids, group=group
    ):
        for report in told.get("metrics") or []:
            yield TrialMetrics(
                trial_id=int(report["trialId"]),
                trial_run_id=int(report.get("trialRunId") or 0),
                group=str(report.get("group") or ""),
                steps_completed=int(report.get("totalBatches") or 0),
                end_time=str(report.get("endTime") or ""),
                metrics=report.get("metrics") or {},
            )


def _checkpoints(
    session: Session, path: str, sort_by: Any, order_by: Any, most: int | None
) -> list[Checkpoint]:
    found = session.pages(path, "checkpoints", **of_checkpoints(sort_by, order_by))
    complete = (told for told in found if told.get("state") == "STATE_COMPLETED")
    return [Checkpoint(session, told) for told in itertools.islice(complete, most)]
