"""Checkpoints and the model registry of the SDK."""

from __future__ import annotations

import base64
import enum
import hashlib
import json
import os
import pathlib
import shutil
import urllib.parse
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Callable

from det._errors import CheckpointError
from det.core._object_store import get_prefix, is_object_store, open_object_store
from det.experimental._order import in_order
from det.experimental._session import Session

_MASKED = "********"


class CheckpointState(enum.Enum):
    ACTIVE = "ACTIVE"
    COMPLETED = "COMPLETED"
    ERROR = "ERROR"
    DELETED = "DELETED"
    PARTIALLY_DELETED = "PARTIALLY_DELETED"
    UNSPECIFIED = "UNSPECIFIED"


class DownloadMode(enum.Enum):
    """How Checkpoint.download() gets its files."""

    AUTO = "auto"
    DIRECT = "direct"
    MASTER = "master"


class Checkpoint:
    """One checkpoint, as it was when it was asked for."""

    def __init__(self, session: Session, told: dict[str, Any]) -> None:
        self._session = session
        self.uuid = str(told["uuid"])
        self.state = CheckpointState(
            str(told.get("state") or "STATE_UNSPECIFIED").replace("STATE_", "", 1)
        )
        self.metadata: dict[str, Any] = told.get("metadata") or {}
        self.resources = {name: int(size) for name, size in (told.get("resources") or {}).items()}
        self.report_time = str(told.get("reportTime") or "")
        self.storage_path = str(told.get("storagePath") or "")
        self.training: dict[str, Any] = told.get("training") or {}

    def value(self, metric: str | None) -> float | None:
        """Of a validation metric at this checkpoint, or of the searcher's; None without it."""
        if metric is None:
            found: Any = self.training.get("searcherMetric")
        else:
            validation = self.training.get("validationMetrics") or {}
            found = (validation.get("avgMetrics") or {}).get(metric)
        return float(found) if isinstance(found, (int, float, str)) else None

    def download(
        self,
        path: str | os.PathLike[str] | None = None,
        mode: str | DownloadMode = DownloadMode.AUTO,
    ) -> str:
        """Into the folder, `checkpoints/<uuid>` without one; its path. mode: "direct" from the
        storage, a bucket with the credentials that this machine has; "master" through the master;
        "auto": direct where the storage is a folder that is mounted. Files are compared with what was
        saved. Raises ValueError for another mode.
        """
        mode = DownloadMode(mode)
        for name in self.resources:
            _check_inside(name)
        target = pathlib.Path(path or pathlib.Path("checkpoints", self.uuid))
        mounted = mode is DownloadMode.AUTO and os.path.isdir(self.storage_path)
        direct = mode is DownloadMode.DIRECT or mounted
        fetch = self._from_storage() if direct else self._fetch
        for name in sorted(self.resources):
            if name.endswith("/"):
                (target / name).mkdir(parents=True, exist_ok=True)
                continue
            to = target / name
            to.parent.mkdir(parents=True, exist_ok=True)
            aside = to.with_name(f".{to.name}.{os.getpid()}")
            fetch(name, aside)
            os.replace(aside, to)
        self._verify(target)
        return str(target)

    def _from_storage(self) -> Callable[[str, pathlib.Path], None]:
        config = (self.training.get("experimentConfig") or {}).get("checkpoint_storage") or {}
        if not is_object_store(config):
            return self._copy
        # The API shows no secrets: this machine's own are taken.
        store = open_object_store({k: v for k, v in config.items() if v != _MASKED})
        folder = get_prefix(config) + self.uuid
        return lambda name, to: store.get_file(f"{folder}/{name}", to)

    def _copy(self, name: str, to: pathlib.Path) -> None:
        shutil.copyfile(pathlib.Path(self.storage_path, name), to)

    def _fetch(self, name: str, to: pathlib.Path) -> None:
        path = f"/api/v1/checkpoints/{self.uuid}/files/{urllib.parse.quote(name)}"
        with open(to, "wb") as file:
            for told in self._session.lines(path):
                file.write(base64.b64decode(told.get("chunk") or ""))

    def _verify(self, folder: pathlib.Path) -> None:
        manifest = folder / "manifest.json"
        if not manifest.exists():
            return
        for file in json.loads(manifest.read_text(encoding="utf-8"))["files"]:
            removed = file["path"] not in self.resources
            if removed and self.state is CheckpointState.PARTIALLY_DELETED:
                continue
            path = folder / file["path"]
            digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""
            if digest != file["sha256"]:
                raise CheckpointError(f"checkpoint {self.uuid}: {path} is not what was saved")

    def delete(self) -> None:
        """Refused, and who holds it named, while something does."""
        told = self._session.delete("/api/v1/checkpoints", {"checkpointUuids": [self.uuid]})
        self._check_held(told)

    def remove_files(self, globs: list[str]) -> None:
        """Those that a pattern of globs names; "**" all. What is left can be downloaded, but nobody
        starts from it. Refused as delete() is.
        """
        body = {"checkpointUuids": [self.uuid], "checkpointGlobs": globs}
        self._check_held(self._session.post("/api/v1/checkpoints/rm", body))

    def add_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Adds, or replaces, what these keys name."""
        self._set_metadata({**self.metadata, **metadata})

    def remove_metadata(self, keys: Iterable[str]) -> None:
        """Those that are not there are left out."""
        gone = set(keys)
        self._set_metadata({k: v for k, v in self.metadata.items() if k not in gone})

    def get_metrics(self, group: str | None = None) -> list[dict[str, Any]]:
        """The reports that belong to this checkpoint: of its trial at its steps."""
        path = f"/api/v1/checkpoints/{self.uuid}/metrics"
        told = self._session.get(path, metricGroup=group)
        return [dict(report) for report in told.get("metrics") or []]

    def _set_metadata(self, metadata: dict[str, Any]) -> None:
        body = {"checkpoint": {"uuid": self.uuid, "metadata": metadata}}
        told = self._session.post(f"/api/v1/checkpoints/{self.uuid}/metadata", body)
        self.metadata = (told.get("checkpoint") or {}).get("metadata") or metadata

    def _check_held(self, told: dict[str, Any]) -> None:
        kept = told.get("kept")
        if kept:
            raise CheckpointError(f"checkpoint {self.uuid} is held by {kept[0].get('holder')}")

    def __repr__(self) -> str:
        return f"Checkpoint(uuid={self.uuid})"


def _check_inside(name: str) -> None:
    """Names are of whoever reported the checkpoint."""
    path = pathlib.PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise CheckpointError(f"checkpoint file {name!r} would lie outside of the folder")


def best_of(
    checkpoints: list[Checkpoint], metric: str | None, smaller_is_better: bool
) -> Checkpoint:
    """Raises ValueError where none has the metric."""
    valued = [(c.value(metric), c) for c in checkpoints]
    known = [(value, c) for value, c in valued if value is not None]
    if not known:
        raise ValueError(f"no checkpoint has {metric or 'the metric of the searcher'}")
    pick = min if smaller_is_better else max
    return pick(known, key=lambda pair: pair[0])[1]


class ModelVersion:
    def __init__(self, session: Session, told: dict[str, Any]) -> None:
        self._session = session
        self.model_version = int(told["version"])
        self.name = str(told.get("name") or "")
        self.metadata: dict[str, Any] = told.get("metadata") or {}
        self.model_id = int((told.get("model") or {}).get("id") or 0)
        self.checkpoint = Checkpoint(session, told["checkpoint"])

    def set_name(self, name: str) -> None:
        self._patch(name=name)
        self.name = name

    def set_notes(self, notes: str) -> None:
        self._patch(notes=notes)

    def delete(self) -> None:
        self._session.delete(self._path())

    def _patch(self, **changes: Any) -> None:
        self._session.patch(self._path(), changes)

    def _path(self) -> str:
        return f"/api/v1/models/{self.model_id}/versions/{self.model_version}"

    def __repr__(self) -> str:
        return f"ModelVersion(model_id={self.model_id}, model_version={self.model_version})"


class Model:
    """A model of the registry."""

    def __init__(self, session: Session, told: dict[str, Any]) -> None:
        self._session = session
        self.model_id = int(told["id"])
        self.name = str(told["name"])
        self.description = str(told.get("description") or "")
        self.metadata: dict[str, Any] = told.get("metadata") or {}
        self.labels: list[str] = told.get("labels") or []
        self.archived = bool(told.get("archived"))
        self._path = f"/api/v1/models/{self.model_id}"

    def register_version(
        self, checkpoint_uuid: str, name: str = "", metadata: dict[str, Any] | None = None
    ) -> ModelVersion:
        """The next version; its checkpoint is held from then on."""
        body = {"checkpointUuid": checkpoint_uuid, "name": name, "metadata": metadata or {}}
        told = self._session.post(f"{self._path}/versions", body)
        return ModelVersion(self._session, told["modelVersion"])

    def get_version(self, version: int = -1) -> ModelVersion | None:
        """-1: the newest; None without one."""
        if version == -1:
            versions = self.list_versions()
            return versions[-1] if versions else None
        told = self._session.get(f"{self._path}/versions/{version}")
        return ModelVersion(self._session, told["modelVersion"])

    def list_versions(self) -> list[ModelVersion]:
        """From the first to the newest."""
        found = self._session.pages(f"{self._path}/versions", "modelVersions")
        return sorted(
            (ModelVersion(self._session, told) for told in found), key=lambda v: v.model_version
        )

    get_versions = list_versions

    def set_name(self, name: str) -> None:
        self._patch(name=name)
        self.name = name

    def set_description(self, description: str) -> None:
        self._patch(description=description)
        self.description = description

    def set_notes(self, notes: str) -> None:
        self._patch(notes=notes)

    def set_labels(self, labels: Collection[str]) -> None:
        given = in_order(labels)
        self._patch(labels=given)
        self.labels = given

    def add_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Adds, or replaces, what these keys name."""
        self._set_metadata({**self.metadata, **metadata})

    def remove_metadata(self, keys: Iterable[str]) -> None:
        """Those that are not there are left out."""
        gone = set(keys)
        self._set_metadata({k: v for k, v in self.metadata.items() if k not in gone})

    def move_to_workspace(self, workspace_id: int) -> None:
        self._session.post(f"{self._path}/move", {"destinationWorkspaceId": workspace_id})

    def _set_metadata(self, metadata: dict[str, Any]) -> None:
        self._patch(metadata=metadata)
        self.metadata = metadata

    def _patch(self, **changes: Any) -> None:
        self._session.patch(self._path, changes)

    def archive(self) -> None:
        self._session.post(f"{self._path}/archive")

    def unarchive(self) -> None:
        self._session.post(f"{self._path}/unarchive")

    def delete(self) -> None:
        self._session.delete(self._path)

    def __repr__(self) -> str:
        return f"Model(name={self.name})"
