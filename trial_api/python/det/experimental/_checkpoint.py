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
from typing import Callable

from det._errors import CheckpointError
from det._types import Json, JsonObject
from det.core._object_store import get_prefix, is_object_store, open_object_store
from det.experimental._order import in_order
from det.experimental._session import Session

_MASKED = "********"


class CheckpointState(enum.Enum):
    """The state of a checkpoint, without the API's prefix STATE_."""

    ACTIVE = "ACTIVE"
    COMPLETED = "COMPLETED"
    ERROR = "ERROR"
    DELETED = "DELETED"
    PARTIALLY_DELETED = "PARTIALLY_DELETED"
    UNSPECIFIED = "UNSPECIFIED"


class DownloadMode(enum.Enum):
    """How Checkpoint.download() gets the files. See there."""

    AUTO = "auto"
    DIRECT = "direct"
    MASTER = "master"


class Checkpoint:
    """A checkpoint, as it was when the master returned it.

    Attributes:
        uuid: The UUID.
        state: The state.
        metadata: The metadata.
        resources: The size in bytes of each file, by its path.
        report_time: When it was reported.
        storage_path: Where its files are stored.
        training: The trial, experiment and metrics, as the API returns them.
    """

    def __init__(self, session: Session, data: JsonObject) -> None:
        self._session = session
        self.uuid = str(data["uuid"])
        self.state = CheckpointState(
            str(data.get("state") or "STATE_UNSPECIFIED").replace("STATE_", "", 1)
        )
        self.metadata: JsonObject = data.get("metadata") or {}
        self.resources = {name: int(size) for name, size in (data.get("resources") or {}).items()}
        self.report_time = str(data.get("reportTime") or "")
        self.storage_path = str(data.get("storagePath") or "")
        self.training: JsonObject = data.get("training") or {}

    def value(self, metric: str | None) -> float | None:
        """Returns the value of a validation metric at this checkpoint.

        Args:
            metric: The name of the metric; None: the metric of the searcher.

        Returns:
            The value; None if there is none.
        """
        if metric is None:
            found: object = self.training.get("searcherMetric")
        else:
            validation = self.training.get("validationMetrics") or {}
            found = (validation.get("avgMetrics") or {}).get(metric)
        return float(found) if isinstance(found, (int, float, str)) else None

    def download(
        self,
        path: str | os.PathLike[str] | None = None,
        mode: str | DownloadMode = DownloadMode.AUTO,
    ) -> str:
        """Downloads the files and compares them with what was saved.

        Args:
            path: The directory; default: `checkpoints/UUID`.
            mode: "direct": from the checkpoint storage; for a bucket with the credentials of this
                machine. "master": through the master. "auto": direct if the storage is a mounted
                directory, else through the master.

        Returns:
            The directory.

        Raises:
            ValueError: The mode is unknown.
            CheckpointError: The files are damaged or cannot be read.
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
        # The API masks secrets: the credentials of this machine are used.
        store = open_object_store({k: v for k, v in config.items() if v != _MASKED})
        folder = get_prefix(config) + self.uuid
        return lambda name, to: store.get_file(f"{folder}/{name}", to)

    def _copy(self, name: str, to: pathlib.Path) -> None:
        shutil.copyfile(pathlib.Path(self.storage_path, name), to)

    def _fetch(self, name: str, to: pathlib.Path) -> None:
        path = f"/api/v1/checkpoints/{self.uuid}/files/{urllib.parse.quote(name)}"
        with open(to, "wb") as file:
            for data in self._session.lines(path):
                file.write(base64.b64decode(data.get("chunk") or ""))

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
                raise CheckpointError(f"checkpoint {self.uuid}: {path} is damaged")

    def delete(self) -> None:
        """Deletes the checkpoint.

        Raises:
            MasterError: It is in use; the message names its user.
        """
        self._session.delete("/api/v1/checkpoints", {"checkpointUuids": [self.uuid]})

    def remove_files(self, globs: list[str]) -> None:
        """Deletes the files that match a pattern; "**" matches all.

        No trial can start from the rest.

        Args:
            globs: The patterns. Without patterns, nothing is deleted: files that are no longer in
                the storage are removed from the list of files.

        Raises:
            MasterError: The checkpoint is in use; the message names its user.
        """
        body: Json = {"checkpointUuids": [self.uuid], "checkpointGlobs": globs}
        self._session.post("/api/v1/checkpoints/rm", body)

    def add_metadata(self, metadata: Mapping[str, Json]) -> None:
        """Adds or replaces entries of the metadata.

        Args:
            metadata: The entries.

        Raises:
            MasterError: The master refused the change.
        """
        self._set_metadata({**self.metadata, **metadata})

    def remove_metadata(self, keys: Iterable[str]) -> None:
        """Removes entries of the metadata; keys that do not exist are ignored.

        Args:
            keys: The names of the entries.

        Raises:
            MasterError: The master refused the change.
        """
        removed = set(keys)
        self._set_metadata({k: v for k, v in self.metadata.items() if k not in removed})

    def get_metrics(self, group: str | None = None) -> list[JsonObject]:
        """Returns the metric reports of the trial at the steps of this checkpoint.

        Args:
            group: The group of the metrics; None: all groups.

        Returns:
            The reports, as the API returns them.
        """
        path = f"/api/v1/checkpoints/{self.uuid}/metrics"
        data = self._session.get(path, metricGroup=group)
        return [dict(report) for report in data.get("metrics") or []]

    def _set_metadata(self, metadata: JsonObject) -> None:
        body: Json = {"checkpoint": {"uuid": self.uuid, "metadata": metadata}}
        data = self._session.post(f"/api/v1/checkpoints/{self.uuid}/metadata", body)
        self.metadata = (data.get("checkpoint") or {}).get("metadata") or metadata

    def __repr__(self) -> str:
        return f"Checkpoint(uuid={self.uuid})"


def _check_inside(name: str) -> None:
    """Refuses paths outside the directory: they come from the reporter of the checkpoint."""
    path = pathlib.PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise CheckpointError(f"checkpoint file {name!r} is outside the directory")


def find_best(
    checkpoints: list[Checkpoint], metric: str | None, smaller_is_better: bool
) -> Checkpoint:
    """Returns the checkpoint with the best value of a metric; None: the metric of the searcher.

    Args:
        checkpoints: The checkpoints to choose from.
        metric: The name of a validation metric; None: the metric of the searcher.
        smaller_is_better: Whether small values are good.

    Raises:
        ValueError: No checkpoint has the metric.
    """
    valued = [(c.value(metric), c) for c in checkpoints]
    known = [(value, c) for value, c in valued if value is not None]
    if not known:
        raise ValueError(f"no checkpoint has {metric or 'the metric of the searcher'}")
    pick = min if smaller_is_better else max
    return pick(known, key=lambda pair: pair[0])[1]


class ModelVersion:
    """A version of a registered model."""

    def __init__(self, session: Session, data: JsonObject) -> None:
        self._session = session
        self.model_version = int(data["version"])
        self.name = str(data.get("name") or "")
        self.metadata: JsonObject = data.get("metadata") or {}
        self.model_id = int((data.get("model") or {}).get("id") or 0)
        self.checkpoint = Checkpoint(session, data["checkpoint"])

    def set_name(self, name: str) -> None:
        """Sets the name of the version.

        Args:
            name: The new name.
        """
        self._patch(name=name)
        self.name = name

    def set_notes(self, notes: str) -> None:
        """Sets the notes of the version.

        Args:
            notes: The new notes, in Markdown.
        """
        self._patch(notes=notes)

    def delete(self) -> None:
        """Deletes the version; its checkpoint remains."""
        self._session.delete(self._path())

    def _patch(self, **changes: Json) -> None:
        self._session.patch(self._path(), changes)

    def _path(self) -> str:
        return f"/api/v1/models/{self.model_id}/versions/{self.model_version}"

    def __repr__(self) -> str:
        return f"ModelVersion(model_id={self.model_id}, model_version={self.model_version})"


class Model:
    """A registered model, as it was when the master returned it."""

    def __init__(self, session: Session, data: JsonObject) -> None:
        self._session = session
        self.model_id = int(data["id"])
        self.name = str(data["name"])
        self.description = str(data.get("description") or "")
        self.metadata: JsonObject = data.get("metadata") or {}
        self.labels: list[str] = data.get("labels") or []
        self.archived = bool(data.get("archived"))
        self._path = f"/api/v1/models/{self.model_id}"

    def register_version(
        self, checkpoint_uuid: str, name: str = "", metadata: Mapping[str, Json] | None = None
    ) -> ModelVersion:
        """Registers a checkpoint as the next version.

        The checkpoint cannot be deleted while the version exists.

        Args:
            checkpoint_uuid: The UUID of the checkpoint.
            name: The name of the version.
            metadata: The metadata of the version.

        Returns:
            The new version.

        Raises:
            MasterError: The checkpoint does not exist.
        """
        body: Json = {"checkpointUuid": checkpoint_uuid, "name": name, "metadata": metadata or {}}
        data = self._session.post(f"{self._path}/versions", body)
        return ModelVersion(self._session, data["modelVersion"])

    def get_version(self, version: int = -1) -> ModelVersion | None:
        """Returns a version; -1: the latest, None if there is none.

        Args:
            version: The number of the version; -1: the latest.

        Returns:
            The version; None if `version` is -1 and the model has none.

        Raises:
            MasterError: The version does not exist (status 404).
        """
        if version == -1:
            versions = self.list_versions()
            return versions[-1] if versions else None
        data = self._session.get(f"{self._path}/versions/{version}")
        return ModelVersion(self._session, data["modelVersion"])

    def list_versions(self) -> list[ModelVersion]:
        """Returns the versions, the oldest first."""
        found = self._session.pages(f"{self._path}/versions", "modelVersions")
        return sorted(
            (ModelVersion(self._session, data) for data in found), key=lambda v: v.model_version
        )

    get_versions = list_versions

    def set_name(self, name: str) -> None:
        """Sets the name.

        Args:
            name: The new name.

        Raises:
            MasterError: The name is taken.
        """
        self._patch(name=name)
        self.name = name

    def set_description(self, description: str) -> None:
        """Sets the description.

        Args:
            description: The new description.
        """
        self._patch(description=description)
        self.description = description

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
        given = in_order(labels)
        self._patch(labels=given)
        self.labels = given

    def add_metadata(self, metadata: Mapping[str, Json]) -> None:
        """Adds or replaces entries of the metadata.

        Args:
            metadata: The entries.
        """
        self._set_metadata({**self.metadata, **metadata})

    def remove_metadata(self, keys: Iterable[str]) -> None:
        """Removes entries of the metadata; keys that do not exist are ignored.

        Args:
            keys: The names of the entries.
        """
        removed = set(keys)
        self._set_metadata({k: v for k, v in self.metadata.items() if k not in removed})

    def move_to_workspace(self, workspace_id: int) -> None:
        """Moves the model to another workspace.

        Args:
            workspace_id: The ID of the workspace.

        Raises:
            MasterError: The workspace does not exist, or the user may not change it.
        """
        self._session.post(f"{self._path}/move", {"destinationWorkspaceId": workspace_id})

    def _set_metadata(self, metadata: JsonObject) -> None:
        self._patch(metadata=metadata)
        self.metadata = metadata

    def _patch(self, **changes: Json) -> None:
        self._session.patch(self._path, changes)

    def archive(self) -> None:
        """Archives the model."""
        self._session.post(f"{self._path}/archive")

    def unarchive(self) -> None:
        """Restores an archived model."""
        self._session.post(f"{self._path}/unarchive")

    def delete(self) -> None:
        """Deletes the model and its versions."""
        self._session.delete(self._path)

    def __repr__(self) -> str:
        return f"Model(name={self.name})"
