"""Where checkpoints are stored: the interface, and a directory that all nodes see under one path.

BASE/UUID/ contains the files of all ranks, metadata.json and manifest.json, which has the size and
SHA-256 of each file. A checkpoint is written to a temporary directory, rank by rank, and renamed
when it is complete. The C++ Trial API reads and writes the same. docs/checkpoint-storage.md has the
rules, for buckets too.
"""

from __future__ import annotations

import abc
import hashlib
import json
import os
import pathlib
import re
import shutil
import uuid as uuids
from collections.abc import Iterator, Mapping
from typing import Callable, Optional, TypedDict, TypeVar

from det._errors import CheckpointError
from det._types import Json, JsonObject


class File(TypedDict):
    """A file of a checkpoint, as the manifest lists it.

    Attributes:
        path: The path below the directory of the checkpoint.
        size: The size in bytes.
        sha256: The SHA-256 of the content, in hexadecimal digits.
    """

    path: str
    size: int
    sha256: str


Files = list[File]

# A scheme has two letters at least. A path library turns // into /, which is not a folder either.
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//?)(.*)", re.DOTALL)
_BUCKETS = {
    "s3": ("s3", "bucket"),
    "gs": ("gcs", "bucket"),
    "gcs": ("gcs", "bucket"),
    "azure": ("azure", "container"),
}

METADATA, MANIFEST = "metadata.json", "manifest.json"
# An entry of our metadata.json: a checkpoint with this entry and no manifest is damaged.
_HAS_MANIFEST = "has_manifest"

# Returns the path to copy a file to, given its path, both relative; None: do not copy it.
Place = Callable[[pathlib.Path], Optional[pathlib.Path]]


# Returns whether to include a file of a checkpoint, given its path.
Selector = Callable[[str], object]
_T = TypeVar("_T")


def as_it_is(path: pathlib.Path) -> pathlib.Path:
    """Returns the path unchanged."""
    return path


class Storage(abc.ABC):
    """A place for checkpoints. All methods raise CheckpointError.

    Attributes:
        owner: The run that saves, of letters, digits, "_" and "-". It marks incomplete checkpoints
            and is in the manifest of complete ones. Two runs at the same time must differ in it.
        place: A description for users.
    """

    owner: str
    place: str

    @abc.abstractmethod
    def begin(self, uuid: str, rank: int) -> pathlib.Path:
        """Returns an empty directory for the files of a rank."""

    @abc.abstractmethod
    def end(self, uuid: str, rank: int) -> Files:
        """Makes the files of a rank durable and returns them."""

    @abc.abstractmethod
    def publish(self, uuid: str, by_rank: list[Files], metadata: Mapping[str, Json]) -> Files:
        """Merges the files of all ranks and makes the checkpoint visible.

        Two ranks may have the same file if its content is the same.

        Returns:
            All files of the checkpoint.
        """

    @abc.abstractmethod
    def remove(self, uuid: str) -> None:
        """Removes all files of a checkpoint, as far as possible."""

    @abc.abstractmethod
    def require(self, uuid: str) -> None:
        """Raises CheckpointError if the checkpoint does not exist."""

    @abc.abstractmethod
    def remove_leftovers(self) -> None:
        """Removes incomplete checkpoints of an earlier attempt with the same owner."""

    @abc.abstractmethod
    def saved(self, max_steps: int) -> list[str]:
        """Returns the checkpoints that this owner has published, newest first.

        Their files may be damaged.

        Args:
            max_steps: The maximum of their `steps_completed`.
        """

    @abc.abstractmethod
    def metadata(self, uuid: str) -> JsonObject:
        """Returns the metadata of a checkpoint."""

    @abc.abstractmethod
    def open(self, uuid: str, selector: Selector | None = None) -> pathlib.Path:
        """Returns a directory with the files of a checkpoint, compared with the manifest.

        A checkpoint without a manifest, of another library, is used as it is.

        Args:
            uuid: The checkpoint.
            selector: Selects the files that the directory must contain; None: all files.
        """

    @abc.abstractmethod
    def copy_beside(self, source: pathlib.Path, name: str, place: Place = as_it_is) -> None:
        """Copies the changed files of a directory beside the checkpoints.

        Args:
            source: The directory.
            name: The path to copy to.
            place: Returns the path of a file below `name`.
        """


class FolderStorage(Storage):
    """Checkpoints in a directory."""

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

    def publish(self, uuid: str, by_rank: list[Files], metadata: Mapping[str, Json]) -> Files:
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

    def metadata(self, uuid: str) -> JsonObject:
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
            self.base.mkdir(parents=True, exist_ok=True)
            copy_changed(path, self.base / name / to)

    def _aside(self, uuid: str) -> pathlib.Path:
        return self.base / (self._prefix + uuid)

    def _folder(self, uuid: str) -> pathlib.Path:
        if not is_uuid(uuid):
            raise CheckpointError(f"{uuid!r} is not the UUID of a checkpoint")
        folder = self.base / uuid
        if not folder.is_dir():
            raise CheckpointError(f"there is no checkpoint {uuid} in {self.base}")
        return folder

    def _publish(self, uuid: str, by_rank: list[Files], metadata: Mapping[str, Json]) -> Files:
        merged = self._aside(uuid) / "merged"
        merged.mkdir(parents=True)
        files: dict[str, File] = {}
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


def parse_storage_url(text: str) -> JsonObject | None:
    """Returns the section checkpoint_storage of a configuration for a URL; None for a path.

    Args:
        text: A path, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, azure://CONTAINER/PREFIX or
            file:///PATH; the prefix is optional.

    Raises:
        ValueError: The scheme is unknown, the URL names no bucket, or it has a query.
    """
    url = _URL.match(text)
    if url is None:
        return None
    scheme, slashes, rest = url.groups()
    scheme = scheme.lower()
    if scheme == "file" and rest.startswith("/"):
        return {"type": "directory", "container_path": rest}
    name, _, prefix = rest.partition("/")
    if scheme not in _BUCKETS or slashes != "//" or not name or "?" in rest or "#" in rest:
        raise ValueError(
            f"checkpoint_storage is {text!r}; expected a path, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, "
            "azure://CONTAINER/PREFIX or file:///PATH"
        )
    kind, field = _BUCKETS[scheme]
    return {"type": kind, field: name, "prefix": prefix.strip("/") or None}


def metadata_text(metadata: Mapping[str, Json]) -> bytes:
    """Returns the content of metadata.json."""
    return (json.dumps({**metadata, _HAS_MANIFEST: True}, indent=1) + "\n").encode()


def manifest_text(owner: str, files: Files) -> bytes:
    """Returns the content of manifest.json."""
    return (json.dumps({"owner": owner, "files": files}, indent=1) + "\n").encode()


def shown_metadata(metadata: Mapping[str, Json]) -> JsonObject:
    """Removes our own entries from the metadata."""
    return {name: value for name, value in metadata.items() if name != _HAS_MANIFEST}


def refuse_lost_manifest(uuid: str, metadata: Mapping[str, Json]) -> None:
    """Raises CheckpointError for a checkpoint of ours; one of another library needs no manifest."""
    if metadata.get(_HAS_MANIFEST):
        raise CheckpointError(
            f"checkpoint {uuid} is damaged: {MANIFEST} is missing; use another checkpoint"
        )


def placed(source: pathlib.Path, place: Place) -> Iterator[tuple[pathlib.Path, pathlib.Path]]:
    """Yields the files of a directory and where each goes; nothing if the directory does not exist."""
    for path in source.rglob("*") if source.is_dir() else ():
        to = place(path.relative_to(source)) if path.is_file() else None
        if to is not None:
            yield path, to


def copy_changed(path: pathlib.Path, to: pathlib.Path) -> None:
    """Copies a file that has another size or is newer; the copy is replaced at once.

    An event file only grows, so what is new is added to its copy, which a reader may have open.
    """
    if to.exists() and _same(path, to):
        return
    _make_folder(to.parent)
    if "tfevents" in path.name and to.exists() and to.stat().st_size < path.stat().st_size:
        with open(path, "rb") as source, open(to, "ab") as copy:
            source.seek(copy.tell())
            shutil.copyfileobj(source, copy)
        return
    aside = to.with_name(f".{to.name}.{os.getpid()}")
    shutil.copy2(path, aside)
    os.replace(aside, to)


def _make_folder(folder: pathlib.Path) -> None:
    """Creates a directory in which tasks of other users can write, too."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        try:
            folder.mkdir()
            folder.chmod(0o777)
        except FileExistsError:
            pass  # Another rank has created it.


def _same(one: pathlib.Path, other: pathlib.Path) -> bool:
    a, b = one.stat(), other.stat()
    return a.st_size == b.st_size and int(a.st_mtime) <= int(b.st_mtime)


def refuse_conflicts(by_rank: list[Files]) -> None:
    """Raises CheckpointError if two ranks have different files with one name."""
    known: dict[str, str | None] = {METADATA: None, MANIFEST: None}
    for rank, listed in enumerate(by_rank):
        for file in listed:
            if known.setdefault(file["path"], file["sha256"]) != file["sha256"]:
                raise CheckpointError(
                    f"checkpoint file {file['path']!r} of rank {rank} has the name of another file; use "
                    "different names on each rank"
                )


def describe(root: pathlib.Path) -> Files:
    """Syncs all files of a directory and returns them."""
    files = []
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise CheckpointError(f"checkpoint file {path} is not a regular file")
        if path.is_file():
            sync(path)
            files.append(describe_file(root, path))
    return files


def describe_file(root: pathlib.Path, path: pathlib.Path) -> File:
    """Returns the path, size and SHA-256 of a file."""
    return {
        "path": path.relative_to(root).as_posix(),
        "size": path.stat().st_size,
        "sha256": sha256(path),
    }


def sha256(path: pathlib.Path) -> str:
    """Returns the SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while True:
            block = file.read(1 << 20)
            if not block:
                return digest.hexdigest()
            digest.update(block)


def sync(path: pathlib.Path) -> None:
    """Writes a file or directory to the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def is_uuid(text: str) -> bool:
    """Returns whether a string is a UUID in its canonical form."""
    try:
        return str(uuids.UUID(text)) == text
    except (ValueError, AttributeError, TypeError):
        return False


def _json(path: pathlib.Path) -> JsonObject:
    """Returns the object in a file; an empty one if there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def verify(uuid: str, folder: pathlib.Path, file: File) -> None:
    """Raises CheckpointError if a file is not what the manifest says."""
    path = folder / file["path"]
    where = f"checkpoint {uuid}: file {path}"
    if not path.is_file():
        raise CheckpointError(f"{where} is missing; use another checkpoint")
    if path.stat().st_size != file["size"] or sha256(path) != file["sha256"]:
        raise CheckpointError(
            f"{where} is damaged: its content has changed; use another checkpoint"
        )


def or_error(step: Callable[[], _T]) -> _T:
    """Converts an OSError of the disk into a CheckpointError."""
    try:
        return step()
    except OSError as error:
        raise CheckpointError(f"{error}; check the free space and the permissions") from error
