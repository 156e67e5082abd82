"""Reports checkpoints to the master. Only the chief calls."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from det._errors import CheckpointError
from det._master import Master
from det._types import Json
from det.core import _json
from det.core._report import format_time
from det.core._report_queue import CHECKPOINT, ReportQueue
from det.core._storage import Files


class Registry:
    """Prints checkpoints, for runs off the cluster."""

    def __init__(self, base: str) -> None:
        self._base = base

    def saved(self, uuid: str, metadata: Mapping[str, Json], files: Files) -> None:
        """Reports a complete checkpoint."""
        print(f"checkpoint steps={metadata['steps_completed']} {self._base}/{uuid}", flush=True)

    def damaged(self, uuid: str, why: str, instead: str, steps: int) -> None:
        """Reports that the files of a checkpoint are not those that were saved.

        Args:
            uuid: The damaged checkpoint.
            why: The damage.
            instead: The checkpoint from which the trial resumes.
            steps: The steps of that checkpoint.
        """
        print(f"WARNING: {why}; resuming from {instead}", flush=True)

    def deleted(self, uuid: str) -> None:
        """Announces that the files of a checkpoint are about to be deleted.

        Raises:
            CheckpointError: The checkpoint is in use.
        """


class ClusterRegistry(Registry):
    """Reports through the queue of the metrics, so that a checkpoint follows the metrics before it."""

    def __init__(self, base: str, master: Master, queue: ReportQueue | None) -> None:
        super().__init__(base)
        self._master, self._queue = master, queue

    def saved(self, uuid: str, metadata: Mapping[str, Json], files: Files) -> None:
        self._add(
            {
                "uuid": uuid,
                "stepsCompleted": metadata["steps_completed"],
                "resources": {file["path"]: file["size"] for file in files},
                "metadata": json.loads(_json.encode(metadata)),
            }
        )

    def damaged(self, uuid: str, why: str, instead: str, steps: int) -> None:
        super().damaged(uuid, why, instead, steps)
        self._add({"uuid": uuid, "damage": why, "instead": instead, "stepsCompleted": steps})

    def deleted(self, uuid: str) -> None:
        if self._queue is not None:
            self._queue.flush()  # The report of the checkpoint may still be in the queue.
        self._master.call(
            "PATCH",
            "/api/v1/checkpoints",
            {"checkpoints": [{"uuid": uuid, "resources": {"resources": {}}}]},
        )
        # The master ignores checkpoints that are in use, without an error.
        found = self._master.call("GET", f"/api/v1/checkpoints/{uuid}")
        state = dict(found.get("checkpoint") or {}).get("state")
        if state != "STATE_DELETED":
            raise CheckpointError(
                f"cannot delete checkpoint {uuid}: a version of a model uses it, or a trial that resumes "
                "from it"
            )

    def _add(self, report: Mapping[str, object]) -> None:
        if self._queue is not None:
            timed = {**report, "reportTime": format_time(time.time_ns())}
            self._queue.add(CHECKPOINT, _json.encode(timed).encode())
