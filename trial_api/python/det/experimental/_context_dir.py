"""Reads a context directory for an upload."""

from __future__ import annotations

import base64
import fnmatch
import os
import pathlib
import stat
from collections.abc import Iterable, Sequence
from typing import TypedDict

MAX_SIZE = 95 << 20  # Bytes.
_ALWAYS = [".git", "__pycache__", "*.pyc", ".ipynb_checkpoints", ".DS_Store", "*.egg-info"]
_FILE, _LINK, _FOLDER = 48, 50, 53  # Types of a tar header.


class ContextFile(TypedDict):
    """A file of a context directory, as the API takes it.

    Attributes:
        path: The path below the directory.
        type: The type of the file in the header of a tar archive, a character code.
        content: The content in Base64.
        mtime: The time of the last change, in seconds since 1970.
        mode: The permissions.
    """

    path: str
    type: int
    content: str
    mtime: int
    mode: int


def read_context(
    model_dir: str | os.PathLike[str],
    includes: Iterable[str | os.PathLike[str]] = (),
) -> list[ContextFile]:
    """Reads the files of a directory, except those that .detignore excludes.

    Args:
        model_dir: The directory.
        includes: More files and directories, added by their names.

    Returns:
        The files, as the API takes them.

    Raises:
        ValueError: A path is not a file or directory, a name occurs twice, or the files are too
            large.
    """
    root = pathlib.Path(model_dir)
    if not root.is_dir():
        raise ValueError(f"{root} is not a directory")
    files = _read(root, root, _rules(root))
    for include in map(pathlib.Path, includes):
        found = _read(include, include.parent, _ALWAYS) if include.is_dir() else []
        entry = _entry(include, include.parent)
        names = {file["path"] for file in files}
        for file in [entry, *found]:
            if file["path"] in names:
                raise ValueError(f"{include}: {file['path']} already exists in {root}")
            files.append(file)
    size = sum(len(file["content"]) * 3 // 4 for file in files)
    if size > MAX_SIZE:
        raise ValueError(f"{root} has {size >> 20} MiB; the maximum is {MAX_SIZE >> 20} MiB")
    return files


def _rules(root: pathlib.Path) -> list[str]:
    path = root / ".detignore"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return _ALWAYS + [line.strip() for line in lines if line.strip() and line[0] != "#"]


def ignored(path: str, folder: bool, rules: Sequence[str]) -> bool:
    """Returns whether the last matching rule excludes a path; a rule with "!" includes it again."""
    result = False
    for rule in rules:
        negated, pattern = rule.startswith("!"), rule.lstrip("!")
        if pattern.endswith("/") and not folder:
            continue
        pattern = pattern.rstrip("/")
        anchored = "/" in pattern
        name = path if anchored else path.rpartition("/")[2]
        if fnmatch.fnmatchcase(name, pattern.lstrip("/").replace("**/", "*")):
            result = not negated
    return result


def _read(top: pathlib.Path, root: pathlib.Path, rules: Sequence[str]) -> list[ContextFile]:
    files: list[ContextFile] = []
    for folder, folders, names in os.walk(top):
        below = pathlib.Path(folder)
        kept = [
            name
            for name in sorted(folders)
            if not ignored((below / name).relative_to(root).as_posix(), True, rules)
        ]
        folders[:] = kept
        for name in kept + sorted(names):
            path = below / name
            if name in kept or not ignored(path.relative_to(root).as_posix(), False, rules):
                files.append(_entry(path, root))
    return files


def _entry(path: pathlib.Path, root: pathlib.Path) -> ContextFile:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        kind, content = _LINK, os.readlink(path).encode()
    elif stat.S_ISDIR(status.st_mode):
        kind, content = _FOLDER, b""
    elif stat.S_ISREG(status.st_mode):
        kind, content = _FILE, path.read_bytes()
    else:
        raise ValueError(f"{path} is neither a file nor a directory")
    return {
        "path": path.relative_to(root).as_posix(),
        "type": kind,
        "content": base64.b64encode(content).decode(),
        "mtime": int(status.st_mtime),
        "mode": stat.S_IMODE(status.st_mode),
    }
