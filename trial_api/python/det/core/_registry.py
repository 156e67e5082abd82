"""Who is told of checkpoints, by the chief."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from det._errors import CheckpointError
from det._master import Master
from det.core import _json
from det.core._report import time_text
from det.core._report_queue import CHECKPOINT, ReportQueue
from det.core._storage import Files


class Registry:
    """The twin off the cluster: says it."""

    def __init__(self, base: str) -> None:
        self._base = base

    def saved(self, uuid: str, metadata: Mapping[str, Any], files: Files) -> None:
        """It is complete."""
        print(f"checkpoint steps={metadata['steps_completed']} {self._base}/{uuid}", flush=True)

    def damaged(self, uuid: str, why: str, instead: str, steps: int) -> None:
        """Its files are not what was saved; the trial goes on from `instead`, of so many steps."""
        print(f"WARNING: {why}; goes on from {instead}", flush=True)

    def deleted(self, uuid: str) -> None:
        """Its files are about to go. Raises CheckpointError when something holds it."""


class ClusterRegistry(Registry):
    """Through the queue of reports, so that a checkpoint comes after the metrics before it."""

    def __init__(self, base: str, master: Master, queue: ReportQueue | None) -> None:
        super().__init__(base)
        self._master, self._queue = master, queue

    def saved(self, uuid: str, metadata: Mapping[str, Any], files: Files) -> None:
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
            self._queue.flush()  # It may be on its way still.
        self._master.call(
            "PATCH",
            "/api/v1/checkpoints",
            {"checkpoints": [{"uuid": uuid, "resources": {"resources": {}}}]},
        )
        # What is held the master passes over without a word.
        found = self._master.call("GET", f"/api/v1/checkpoints/{uuid}")
        state = dict(found.get("checkpoint") or {}).get("state")
        if state != "STATE_DELETED":
            raise CheckpointError(
                f"checkpoint {uuid} stays: a version of a model holds it, or a trial that goes on "
                "from it"
            )

    def _add(self, report: dict[str, Any]) -> None:
        if self._queue is not None:
            told = {**report, "reportTime": time_text(time.time_ns())}
            self._queue.add(CHECKPOINT, _json.encode(told).encode())
