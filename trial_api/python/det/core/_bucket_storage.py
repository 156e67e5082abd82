"""Checkpoints in a bucket. docs/checkpoint-storage.md has the rules.

The C++ Trial API reads and writes the same. Files on their way to or from the bucket are in a
directory on the local disk, which is removed with this process.
"""

from __future__ import annotations

import concurrent.futures
import functools
import hashlib
import json
import pathlib
import shutil
import tempfile
import threading
import uuid as uuids
import weakref
from collections.abc import Iterable, Mapping
from typing import Callable, TypeVar

from det._errors import CheckpointError, StorageUnreachable
from det._types import Json, JsonMapping, JsonObject
from det.core._object_store import ObjectNotFound, get_prefix, open_object_store
from det.core._storage import (
    MANIFEST,
    METADATA,
    File,
    Files,
    Place,
    Selector,
    Storage,
    as_it_is,
    describe,
    is_uuid,
    manifest_text,
    metadata_text,
    or_error,
    placed,
    refuse_conflicts,
    refuse_lost_manifest,
    shown_metadata,
    verify,
)

_PARALLEL_FILES = 4
_STEPS = "steps_completed"
_Item = TypeVar("_Item")


class BucketStorage(Storage):
    """Checkpoints in a bucket.

    Args:
        config: The checkpoint_storage of a configuration.
        owner: The run that saves; see Storage.
        scratch: A directory for the use of this task only; None: a temporary directory.
    """

    def __init__(
        self,
        config: JsonMapping,
        owner: str = "",
        scratch: pathlib.Path | None = None,
    ) -> None:
        self.owner = owner
        self._store = open_object_store(config)
        self._prefix = get_prefix(config)
        bucket = config.get("bucket") or config.get("container")
        self.place = f"{config['type']}://{bucket}/{self._prefix.rstrip('/')}"
        self._given = scratch
        self._made: pathlib.Path | None = None
        self._sent: dict[
            str, tuple[int, int]
        ] = {}  # Size and time of files beside the checkpoints.
        self._lock = threading.Lock()
        self._opened: dict[str, pathlib.Path] = {}  # Guarded by _lock.

    def begin(self, uuid: str, rank: int) -> pathlib.Path:
        if rank == 0 and self.owner:
            self._store.put(self._entry(uuid), b"")
        folder = self._rank_folder(uuid, rank)
        or_error(lambda: folder.mkdir(parents=True))
        return folder

    def end(self, uuid: str, rank: int) -> Files:
        folder = self._rank_folder(uuid, rank)
        files: Files = list(or_error(lambda: describe(folder)))

        def send(file: File) -> None:
            self._store.put_file(self._key(uuid, file["path"]), folder / file["path"])

        or_error(lambda: _for_each(files, send))
        shutil.rmtree(folder, ignore_errors=True)
        return files

    def publish(self, uuid: str, by_rank: list[Files], metadata: Mapping[str, Json]) -> Files:
        refuse_conflicts(by_rank)
        files = list({file["path"]: file for listed in by_rank for file in listed}.values())

        def write(name: str, content: bytes) -> None:
            self._store.put(self._key(uuid, name), content)
            digest = hashlib.sha256(content).hexdigest()
            files.append({"path": name, "size": len(content), "sha256": digest})

        write(METADATA, metadata_text(metadata))
        write(MANIFEST, manifest_text(self.owner, list(files)))
        # The checkpoint is visible now. A reader that finds the entry empty reads the metadata.
        if self.owner and isinstance(metadata.get(_STEPS), int):
            try:
                entry = json.dumps({_STEPS: metadata[_STEPS]}).encode()
                self._store.put(self._entry(uuid), entry)
            except CheckpointError:
                pass
        return files

    def remove(self, uuid: str) -> None:
        if self._made is not None:
            shutil.rmtree(self._made / uuid, ignore_errors=True)
        try:
            self._remove(uuid)
        except CheckpointError:
            pass

    def _remove(self, uuid: str) -> None:
        """Removes the manifest first, so that an incomplete checkpoint never looks complete."""
        self._store.remove(self._key(uuid, MANIFEST))
        for key in self._store.list(self._key(uuid, "")):
            self._store.remove(key)
        if self.owner:
            self._store.remove(self._entry(uuid))

    def require(self, uuid: str) -> None:
        _check_uuid(uuid)
        if not self._store.list(self._key(uuid, "")):
            raise CheckpointError(f"there is no checkpoint {uuid} in {self.place}")

    def remove_leftovers(self) -> None:
        try:
            for uuid in self._entries():
                if not self._is_whole(uuid):
                    self._remove(uuid)
        except CheckpointError:
            pass

    def saved(self, max_steps: int) -> list[str]:
        found = []
        try:
            for uuid in self._entries():
                steps = self._steps(self._entry(uuid))
                whole = self._is_whole(uuid)
                if whole and steps is None:
                    steps = self._steps(self._key(uuid, METADATA))
                if whole and steps is not None and steps <= max_steps:
                    found.append((steps, uuid))
        except CheckpointError:
            pass
        return [uuid for _, uuid in sorted(found, reverse=True)]

    def metadata(self, uuid: str) -> JsonObject:
        return shown_metadata(self._metadata(uuid))

    def _metadata(self, uuid: str) -> JsonObject:
        _check_uuid(uuid)
        try:
            metadata = _json(self._store.get(self._key(uuid, METADATA)))
        except ObjectNotFound:
            self.require(uuid)
            raise CheckpointError(
                f"checkpoint {uuid} is not complete: {METADATA} is missing in {self.place}"
            ) from None
        return metadata

    def open(self, uuid: str, selector: Selector | None = None) -> pathlib.Path:
        with self._lock:
            if selector is not None and uuid not in self._opened:
                folder = self._scratch() / f"some-{uuids.uuid4()}"
                self._fetch(uuid, folder, selector)
                return folder
            if uuid not in self._opened:
                folder = self._scratch() / f"open-{uuid}"
                try:
                    self._fetch(uuid, folder)
                except BaseException as error:
                    shutil.rmtree(folder, ignore_errors=True)
                    if isinstance(error, OSError):  # An error of the local disk.
                        raise StorageUnreachable(
                            f"{error}; check the free space and the permissions"
                        ) from None
                    raise
                self._opened[uuid] = folder
            return self._opened[uuid]

    def copy_beside(self, source: pathlib.Path, name: str, place: Place = as_it_is) -> None:
        for path, to in placed(source, place):
            stat = path.stat()
            key = f"{self._prefix}{name}/{to.as_posix()}"
            if self._sent.get(key) != (stat.st_size, stat.st_mtime_ns):
                self._store.put_file(key, path)
                self._sent[key] = (stat.st_size, stat.st_mtime_ns)

    def _fetch(self, uuid: str, folder: pathlib.Path, selector: Selector | None = None) -> None:
        _check_uuid(uuid)
        listed: Files | None = None
        try:
            manifest = _json(self._store.get(self._key(uuid, MANIFEST)))
            listed = list(manifest["files"])
            names = [str(file["path"]) for file in listed]
        except ObjectNotFound:
            refuse_lost_manifest(uuid, self._metadata(uuid))
            start = len(self._key(uuid, ""))
            names = [key[start:] for key in self._store.list(self._key(uuid, ""))]
        except (KeyError, TypeError, ValueError):
            raise CheckpointError(
                f"{self._key(uuid, MANIFEST)} is damaged; use another checkpoint"
            ) from None
        folder.mkdir(parents=True, exist_ok=True)
        names = [name for name in names if selector is None or selector(name)]
        _for_each(names, lambda name: self._fetch_file(uuid, folder, name))
        for file in listed or ():
            if file["path"] in names:
                verify(uuid, folder, file)
        self._add_manifest(uuid, folder, names)

    def _fetch_file(self, uuid: str, folder: pathlib.Path, name: str) -> None:
        parts = pathlib.PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts or not parts.parts:
            raise CheckpointError(
                f"checkpoint {uuid}: file {name} is outside the checkpoint; use another checkpoint"
            )
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            self._store.get_file(self._key(uuid, name), folder / name)
        except ObjectNotFound:
            (folder / name).unlink(missing_ok=True)  # verify() reports the damage.

    def _add_manifest(self, uuid: str, folder: pathlib.Path, names: Iterable[str]) -> None:
        """Adds the manifest, which the manifest does not list."""
        if MANIFEST not in names:
            try:
                self._store.get_file(self._key(uuid, MANIFEST), folder / MANIFEST)
            except ObjectNotFound:
                (folder / MANIFEST).unlink(missing_ok=True)

    def _scratch(self) -> pathlib.Path:
        if self._made is None:
            if self._given is None:
                self._made = pathlib.Path(tempfile.mkdtemp(prefix="det-checkpoints-"))
            else:
                self._made = self._given / str(uuids.uuid4())
                or_error(functools.partial(self._made.mkdir, parents=True))
            weakref.finalize(self, shutil.rmtree, str(self._made), ignore_errors=True)
        return self._made

    def _rank_folder(self, uuid: str, rank: int) -> pathlib.Path:
        return self._scratch() / uuid / f"rank-{rank}"

    def _key(self, uuid: str, name: str) -> str:
        return f"{self._prefix}{uuid}/{name}"

    def _entry(self, uuid: str) -> str:
        return f"{self._prefix}owners/{self.owner}/{uuid}"

    def _entries(self) -> list[str]:
        """Returns the checkpoints that this owner has started."""
        if not self.owner:
            return []
        folder = self._entry("")
        return [
            key[len(folder) :] for key in self._store.list(folder) if is_uuid(key[len(folder) :])
        ]

    def _is_whole(self, uuid: str) -> bool:
        return self._store.exists(self._key(uuid, MANIFEST))

    def _steps(self, key: str) -> int | None:
        try:
            steps = _json(self._store.get(key)).get(_STEPS)
        except ObjectNotFound:
            return None
        return steps if isinstance(steps, int) else None


def _for_each(items: list[_Item], work: Callable[[_Item], None]) -> None:
    """Runs several calls in parallel; raises the first exception."""
    with concurrent.futures.ThreadPoolExecutor(_PARALLEL_FILES) as pool:
        pending = [pool.submit(work, item) for item in items]
        try:
            for each in pending:
                each.result()
        except BaseException:
            for each in pending:
                each.cancel()
            raise


def _json(text: bytes) -> JsonObject:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _check_uuid(uuid: str) -> None:
    if not is_uuid(uuid):
        raise CheckpointError(f"{uuid!r} is not the UUID of a checkpoint")
