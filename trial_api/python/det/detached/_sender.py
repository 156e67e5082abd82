"""Sends the spool of a process to the master, in order, so that nothing arrives twice."""

from __future__ import annotations

import json
import pathlib
import shutil
import sys
import time
import urllib.parse
from typing import Callable, cast

from det._errors import MasterError
from det._types import Json, JsonObject
from det.core._context import make_storage
from det.core._report import format_time
from det.core._storage import Storage
from det.detached._spool import Spool
from det.experimental._session import Session

_BATCH_RECORDS, _BATCH_BYTES = 1000, 1 << 20
_START_PAUSE = 0.5  # Seconds between requests of other ranks for a trial that rank 0 starts.
_ARTIFACT = "artifact"
# The master will not accept such a record later either. 404 is not among them: then the trial is gone, or
# another server has answered.
_PERMANENT = (400, 409, 413)

ERROR, COMPLETED, RUNNING = "STATE_ERROR", "STATE_COMPLETED", "STATE_RUNNING"


class Sender:
    """Sends one spool. All methods are called on one thread.

    Args:
        spool: The spool.
        session: The user who reports.
    """

    def __init__(self, spool: Spool, session: Session) -> None:
        self._spool, self._session = spool, session
        self._storage: Storage | None = None

    def start(self, should_stop: Callable[[], bool] = lambda: False) -> None:
        """Creates the experiment and the trial, or finds them, and starts an attempt of the trial.

        A repeated call has no further effect. On other ranks than 0 it waits until rank 0 has
        started the attempt.

        Args:
            should_stop: Ends the waiting.

        Raises:
            MasterError: The master refused a request, or does not answer.
        """
        if self._spool.ids:
            return
        trial, run_id = None, 0  # 0: the current attempt.
        if self._spool.rank:
            while (trial := self._find_trial()) is None:
                if should_stop():
                    raise MasterError(
                        f"rank 0 of run {self._spool.run_id} has not started it; send rank 0 first"
                    )
                time.sleep(_START_PAUSE)
        else:
            trial = self._put_trial()
            answer = self._session.post(
                f"/api/v1/trials/{trial['id']}/start", {"trialId": trial["id"], "resume": True}
            )
            run_id = int(answer["trialRunId"])
            trial["latestCheckpoint"] = answer.get("latestCheckpoint")
            trial["stepsCompleted"] = answer.get("stepsCompleted") or 0
        storage = self._session.post(
            "/api/v1/runs/start",
            {"runId": trial["id"], "checkpointStorage": self._spool.run["checkpoint_storage"]},
        )
        self._spool.set_ids(
            {
                "experiment_id": trial["experimentId"],
                "trial_id": trial["id"],
                "task_id": trial["taskId"],
                "trial_run_id": run_id,
                "storage_id": storage.get("storageId"),
                "latest_checkpoint": trial.get("latestCheckpoint"),
                "steps_completed": trial.get("stepsCompleted") or 0,
                "cluster_id": self._get_cluster(),
            }
        )

    def check_cluster(self) -> None:
        """Checks that the run was not started at another cluster.

        Raises:
            MasterError: It was, so its IDs belong to another trial here.
        """
        known = self._spool.ids.get("cluster_id")
        if known is not None and known != self._get_cluster():
            run = self._spool.run
            raise MasterError(
                f"run {run['run_id']} was started at another cluster; send it with "
                f"DET_MASTER={run['master']}"
            )

    def _get_cluster(self) -> str:
        return str(self._session.get("/api/v1/master").get("clusterId") or "")

    def _put_trial(self) -> JsonObject:
        run = self._spool.run
        body: JsonObject = {"config": run["config"], "unmanaged": True}
        experiment = self._session.put(
            f"/api/v1/experiments/by-external-id/{_quote(run['external_experiment_id'])}", body
        )["experiment"]
        request = {
            "createTrialRequest": {
                "experimentId": experiment["id"],
                "hparams": run["hparams"],
                "unmanaged": True,
            },
            "externalTrialId": run["external_trial_id"],
        }
        trial = self._session.put("/api/v1/trials", request)["trial"]
        return {**trial, "experimentId": experiment["id"]}

    def _find_trial(self) -> JsonObject | None:
        """Returns the trial if rank 0 has started it."""
        run = self._spool.run
        path = f"{_quote(run['external_experiment_id'])}/{_quote(run['external_trial_id'])}"
        try:
            trial = dict(self._session.get(f"/api/v1/trials/by-external-id/{path}")["trial"])
        except MasterError as error:
            if error.status == 404:
                return None
            raise
        return None if trial.get("state") == "STATE_PAUSED" else trial

    def send(self) -> bool:
        """Sends the next records.

        A record that the master cannot accept is dropped with a warning.

        Returns:
            Whether there were any.

        Raises:
            MasterError: The master does not answer, or refuses the user.
            CheckpointError: The files of an artifact cannot be stored.
        """
        records = self._spool.records.front(_BATCH_RECORDS, _BATCH_BYTES)
        decoded: list[JsonObject] = [json.loads(record) for record in records]
        position = 0
        while position < len(decoded):
            count = max(_count_lines(decoded, position), 1)
            self._send_or_drop(decoded[position : position + count])
            self._spool.records.remove_front(count)
            position += count
            self._remove_artifacts(decoded[position - 1])
        return bool(records)

    def _send_or_drop(self, records: list[JsonObject]) -> None:
        try:
            self._send(records)
        except MasterError as error:
            if error.status not in _PERMANENT:
                raise
            if len(records) == 1:
                kind = records[0]["kind"]
                warn(f"a record ({kind}) of run {self._spool.run_id} is dropped: {error}")
                return
            for record in records:  # Not all of them are the cause.
                self._send_or_drop([record])

    def _remove_artifacts(self, record: JsonObject) -> None:
        if record["kind"] == _ARTIFACT:
            shutil.rmtree(self._spool.get_artifact_folder(record["uuid"]), ignore_errors=True)

    def _send(self, records: list[JsonObject]) -> None:
        record, ids = records[0], self._spool.ids
        kind, trial = record["kind"], ids["trial_id"]
        if kind == "metrics":
            self._session.post(
                f"/api/v1/trials/{trial}/metrics",
                {
                    "group": record["group"],
                    "metrics": {
                        "trialId": trial,
                        "trialRunId": ids["trial_run_id"],
                        "stepsCompleted": record["stepsCompleted"],
                        "reportTime": record["reportTime"],
                        "metrics": {
                            "avgMetrics": record["metrics"],
                            "batchMetrics": record.get("batchMetrics"),
                        },
                    },
                },
            )
        elif kind == "progress":
            body = {"trialId": trial, "progress": record["progress"], "isRaw": True}
            self._session.post(f"/api/v1/trials/{trial}/progress", body)
        elif kind == "log":
            self._session.post("/api/v1/task/logs", {"logs": [self._to_line(r) for r in records]})
        elif kind == "early_exit":
            body = {"trialId": trial, "reason": record["reason"]}
            self._session.post(f"/api/v1/trials/{trial}/early_exit", body)
        elif kind == _ARTIFACT:
            # Without the files, it was reported, but the disk did not take that it was.
            if self._spool.get_artifact_folder(record["uuid"]).is_dir():
                self._report_checkpoint(record, self._store(record))
        elif kind == "checkpoint":
            self._report_checkpoint(record, record["resources"])
        else:
            warn(f"a record of the unknown kind {kind!r} is dropped; update det")

    def _to_line(self, record: JsonObject) -> Json:
        line: JsonObject = {
            "taskId": self._spool.ids["task_id"],
            "rankId": self._spool.rank,
            "timestamp": record["time"],
            "log": record["line"],
            "stdtype": record["stdtype"],
        }
        # The master stores a line with this number of this process once.
        process, number = self._spool.run.get("process"), record.get("number")
        if process and number:
            line.update(allocationId=process, sequence=str(number))
        return line

    def _store(self, record: JsonObject) -> dict[str, int]:
        """Copies the files of an artifact to the checkpoint storage; returns their sizes."""
        if self._storage is None:
            self._storage = make_storage(
                self._spool.run["checkpoint_storage"], f"run-{self._spool.run_id}".replace(".", "-")
            )
        uuid = record["uuid"]
        # An earlier attempt may have stored it without reporting it.
        self._storage.remove(uuid)
        folder = self._storage.begin(uuid, 0)
        copy_tree(self._spool.get_artifact_folder(uuid), folder)
        files = self._storage.end(uuid, 0)
        published = self._storage.publish(uuid, [files], record["metadata"])
        return {file["path"]: file["size"] for file in published}

    def _report_checkpoint(self, record: JsonObject, resources: dict[str, int]) -> None:
        self._session.post(
            "/api/v1/checkpoints",
            {
                "uuid": record["uuid"],
                "taskId": self._spool.ids["task_id"],
                "allocationId": None,
                "reportTime": record["time"],
                "resources": cast(Json, {name: str(size) for name, size in resources.items()}),
                "metadata": record["metadata"],
                "state": COMPLETED,
                "storageId": self._spool.ids["storage_id"],
            },
        )

    def beat(self) -> None:
        """Tells the master that the process is alive."""
        trial = self._spool.ids["trial_id"]
        self._session.patch(f"/api/v1/trials/{trial}", {"trialId": trial})

    def end(self, state: str) -> None:
        """Reports how the run ended. Only rank 0 calls."""
        trial = self._spool.ids["trial_id"]
        self._session.patch(f"/api/v1/trials/{trial}", {"trialId": trial, "state": state})


def send_all(spool: Spool, session: Session, is_last: Callable[[], bool]) -> int:
    """Sends a spool whose process has ended, and removes it.

    Args:
        spool: The spool.
        session: The user who reports.
        is_last: Returns whether no later attempt of the process exists now. If such a process was
            killed, the trial becomes ERROR.

    Returns:
        The number of records.

    Raises:
        MasterError: The master refused a request, or does not answer.
        CheckpointError: The files of an artifact cannot be stored.
    """
    count, sender = len(spool.records), Sender(spool, session)
    sender.check_cluster()
    sender.start(should_stop=lambda: True)
    while sender.send():
        pass
    if spool.rank == 0 and is_last():
        sender.end(str(spool.end.get("state") or ERROR))
    spool.remove()
    return count


def _quote(name: str) -> str:
    return urllib.parse.quote(name, safe="")


def _count_lines(records: list[JsonObject], position: int) -> int:
    """Returns how many records from a position on are log lines, which one request can send."""
    count = 0
    while position + count < len(records) and records[position + count]["kind"] == "log":
        count += 1
    return count


def copy_tree(source: pathlib.Path, to: pathlib.Path) -> None:
    """Copies a file or the content of a directory into a directory."""
    if source.is_dir():
        shutil.copytree(source, to, dirs_exist_ok=True)
    else:
        to.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, to)


def now() -> str:
    """Returns the time for a record."""
    return format_time(time.time_ns())


def warn(text: str) -> None:
    """Prints a warning."""
    print(f"WARNING: {text}", file=sys.__stderr__, flush=True)
