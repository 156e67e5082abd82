"""Where checkpoints lie: the interface, and a folder that every node sees under the same path.

<base>/<uuid>/ has the files of all ranks with metadata.json and manifest.json (size and SHA-256 of
each). A checkpoint is written aside, rank by rank, and renamed once it is whole; trial_api/cpp
writes and reads the same. docs/checkpoint-storage.md has the rules, for buckets too.
"""

from __future__ import annotations

import abc
import hashlib
import json
import os
import pathlib
import shutil
import uuid as uuids
from collections.abc import Iterator, Mapping
from typing import Any, Callable, Optional

from det._errors import CheckpointError

METADATA, MANIFEST = "metadata.json", "manifest.json"
_HAS_MANIFEST = "has_manifest"  # In metadata.json, of ours: one whose manifest is gone is damaged.
Files = list[dict[str, Any]]  # path, size, sha256
# Where a file of a folder goes, both below it; None: nowhere.
Place = Callable[[pathlib.Path], Optional[pathlib.Path]]


# Of files of a checkpoint, by their paths.
Selector = Callable[[str], Any]


def as_it_is(path: pathlib.Path) -> pathlib.Path:
    return path


class Storage(abc.ABC):
    """`owner`, of letters, digits, '_' and '-', marks what is half written, and stands in the
    manifest of what is whole; no two runs that live at the same time may share it. Raises
    CheckpointError.
    """

    owner: str
    place: str  # For people.

    @abc.abstractmethod
    def begin(self, uuid: str, rank: int) -> pathlib.Path:
        """An empty folder for the files of this rank."""

    @abc.abstractmethod
    def end(self, uuid: str, rank: int) -> Files:
        """What this rank has written, now durable."""

    @abc.abstractmethod
    def publish(self, uuid: str, by_rank: list[Files], metadata: Mapping[str, Any]) -> Files:
        """Merges the ranks' files and makes the checkpoint visible. All of its files. Two ranks may
        have the same file if it is the same.
        """

    @abc.abstractmethod
    def remove(self, uuid: str) -> None:
        """Whatever there is of a checkpoint. What cannot be removed stays."""

    @abc.abstractmethod
    def require(self, uuid: str) -> None:
        """Raises when there is no such checkpoint."""

    @abc.abstractmethod
    def remove_leftovers(self) -> None:
        """What an earlier run with the same owner has left half written."""

    @abc.abstractmethod
    def saved(self, max_steps: int) -> list[str]:
        """The checkpoints that this owner has published, of at most so many steps_completed, newest
        first. Says nothing of their files.
        """

    @abc.abstractmethod
    def metadata(self, uuid: str) -> dict[str, Any]:
        """What it was saved with."""

    @abc.abstractmethod
    def open(self, uuid: str, selector: Selector | None = None) -> pathlib.Path:
        """A folder with the files, at least those of which selector(path below it) holds, each
        compared with the manifest. One without a manifest, of another library, is taken as it is.
        """

    @abc.abstractmethod
    def copy_beside(self, source: pathlib.Path, name: str, place: Place = as_it_is) -> None:
        """Files of a folder that have changed, beside the checkpoints, below `name`, where `place`
        says.
        """


class FolderStorage(Storage):
    def __init__(self, base: pathlib.Path, owner: str = "") -> None:
        self.base = base.absolute()
        self.place = str(base)
        self.owner = owner
        self._prefix = f".tmp-{owner}-" if owner else ".tmp-"

    def begin(self, uuid: str, rank: int) -> pathlib.Path:
        folder = self._aside(uuid) / f"rank-{rank}"
        or_error(lambda: folder.mkdir(parents=True))
        return folder

    def end(self, uuid: str, rank: int) -> Files:
        root = self._aside(uuid) / f"rank-{rank}"
        return list(or_error(lambda: describe(root)))

    def publish(self, uuid: str, by_rank: list[Files], metadata: Mapping[str, Any]) -> Files:
        refuse_conflicts(by_rank)
        return list(or_error(lambda: self._publish(uuid, by_rank, metadata)))

    def remove(self, uuid: str) -> None:
        shutil.rmtree(self._aside(uuid), ignore_errors=True)
        shutil.rmtree(self.base / uuid, ignore_errors=True)

    def require(self, uuid: str) -> None:
        self._folder(uuid)

    def remove_leftovers(self) -> None:
        if self.owner and self.base.is_dir():
            for path in self.base.iterdir():
                if path.name.startswith(self._prefix) and is_uuid(path.name[len(self._prefix) :]):
                    shutil.rmtree(path, ignore_errors=True)

    def saved(self, max_steps: int) -> list[str]:
        found = []
        for path in self.base.iterdir() if self.owner and self.base.is_dir() else ():
            if is_uuid(path.name) and _json(path / MANIFEST).get("owner") == self.owner:
                steps = _json(path / METADATA).get("steps_completed")
                if isinstance(steps, int) and steps <= max_steps:
                    found.append((steps, path.name))
        return [name for _, name in sorted(found, reverse=True)]

    def metadata(self, uuid: str) -> dict[str, Any]:
        path = self._folder(uuid) / METADATA
        if not path.exists():
            raise CheckpointError(f"checkpoint {uuid} is not complete: {path} is missing")
        return shown_metadata(_json(path))

    def open(self, uuid: str, selector: Selector | None = None) -> pathlib.Path:
        folder = self._folder(uuid)
        try:
            if not (folder / MANIFEST).exists():
                self.metadata(uuid)
                refuse_lost_manifest(uuid, _json(folder / METADATA))
                return folder
            for file in _json(folder / MANIFEST)["files"]:
                if selector is None or selector(file["path"]):
                    verify(uuid, folder, file)
        except (KeyError, TypeError, ValueError):
            raise CheckpointError(
                f"{folder / MANIFEST} is damaged; use another checkpoint"
            ) from None
        except OSError as error:
            raise CheckpointError(
                f"checkpoint {uuid} cannot be read: {error}; use another checkpoint"
            ) from error
        return folder

    def copy_beside(self, source: pathlib.Path, name: str, place: Place = as_it_is) -> None:
        for path, to in placed(source, place):
            copy_changed(path, self.base / name / to)

    def _aside(self, uuid: str) -> pathlib.Path:
        return self.base / (self._prefix + uuid)

    def _folder(self, uuid: str) -> pathlib.Path:
        if not is_uuid(uuid):
            raise CheckpointError(f"{uuid!r} is no UUID of a checkpoint")
        folder = self.base / uuid
        if not folder.is_dir():
            raise CheckpointError(f"there is no checkpoint {uuid} in {self.base}")
        return folder

    def _publish(self, uuid: str, by_rank: list[Files], metadata: Mapping[str, Any]) -> Files:
        merged = self._aside(uuid) / "merged"
        merged.mkdir(parents=True)
        files: dict[str, dict[str, Any]] = {}
        for rank, listed in enumerate(by_rank):
            for file in listed:
                if file["path"] in files:
                    continue
                to = merged / file["path"]
                to.parent.mkdir(parents=True, exist_ok=True)
                os.rename(self._aside(uuid) / f"rank-{rank}" / file["path"], to)
                files[file["path"]] = file

        def write(name: str, content: bytes) -> None:
            (merged / name).write_bytes(content)
            sync(merged / name)
            files[name] = describe_file(merged, merged / name)

        write(METADATA, metadata_text(metadata))
        write(MANIFEST, manifest_text(self.owner, list(files.values())))
        for folder, _, _ in os.walk(merged):
            sync(pathlib.Path(folder))
        os.rename(merged, self.base / uuid)
        sync(self.base)
        shutil.rmtree(self._aside(uuid), ignore_errors=True)
        return list(files.values())


def metadata_text(metadata: Mapping[str, Any]) -> bytes:
    return (json.dumps({**metadata, _HAS_MANIFEST: True}, indent=1) + "\n").encode()


def manifest_text(owner: str, files: Files) -> bytes:
    return (json.dumps({"owner": owner, "files": files}, indent=1) + "\n").encode()


def shown_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metadata.items() if name != _HAS_MANIFEST}


def refuse_lost_manifest(uuid: str, metadata: Mapping[str, Any]) -> None:
    """Of a checkpoint without one: it must be of another library."""
    if metadata.get(_HAS_MANIFEST):
        raise CheckpointError(
            f"checkpoint {uuid} is damaged: {MANIFEST} is missing; use another checkpoint"
        )


def placed(source: pathlib.Path, place: Place) -> Iterator[tuple[pathlib.Path, pathlib.Path]]:
    """The files of a folder, if there is one, and where each goes."""
    for path in source.rglob("*") if source.is_dir() else ():
        to = place(path.relative_to(source)) if path.is_file() else None
        if to is not None:
            yield path, to


def copy_changed(path: pathlib.Path, to: pathlib.Path) -> None:
    """A file that is of another size or newer; replaced whole."""
    if to.exists() and _same(path, to):
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    aside = to.with_name(f".{to.name}.{os.getpid()}")
    shutil.copy2(path, aside)
    os.replace(aside, to)


def _same(one: pathlib.Path, other: pathlib.Path) -> bool:
    a, b = one.stat(), other.stat()
    return a.st_size == b.st_size and int(a.st_mtime) <= int(b.st_mtime)


def refuse_conflicts(by_rank: list[Files]) -> None:
    """Raises CheckpointError where two ranks have different files of one name."""
    known: dict[str, Any] = {METADATA: None, MANIFEST: None}
    for rank, listed in enumerate(by_rank):
        for file in listed:
            if known.setdefault(file["path"], file["sha256"]) != file["sha256"]:
                raise CheckpointError(
                    f"checkpoint file {file['path']!r} of rank {rank} has a name that is taken by "
                    "another file; give each rank's files names of their own"
                )


def describe(root: pathlib.Path) -> Files:
    """All files below, synced."""
    files = []
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise CheckpointError(f"checkpoint file {path} is no regular file")
        if path.is_file():
            sync(path)
            files.append(describe_file(root, path))
    return files


def describe_file(root: pathlib.Path, path: pathlib.Path) -> dict[str, Any]:
    return {
        "path": path.relative_to(root).as_posix(),
        "size": path.stat().st_size,
        "sha256": sha256(path),
    }


def sha256(path: pathlib.Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while True:
            block = file.read(1 << 20)
            if not block:
                return digest.hexdigest()
            digest.update(block)


def sync(path: pathlib.Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def is_uuid(text: str) -> bool:
    try:
        return str(uuids.UUID(text)) == text
    except (ValueError, AttributeError, TypeError):
        return False


def _json(path: pathlib.Path) -> dict[str, Any]:
    """An object; an empty one when there is none."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def verify(uuid: str, folder: pathlib.Path, file: dict[str, Any]) -> None:
    path = folder / file["path"]
    where = f"checkpoint {uuid}: file {path}"
    if not path.is_file():
        raise CheckpointError(f"{where} is missing; use another checkpoint")
    if path.stat().st_size != file["size"] or sha256(path) != file["sha256"]:
        raise CheckpointError(
            f"{where} is damaged: it is not what was saved; use another checkpoint"
        )


def or_error(step: Any) -> Any:
    try:
        return step()
    except OSError as error:
        raise CheckpointError(f"{error}; check the space and the permissions there") from error
