"""The directory of one process of a run: everything that the master does not have yet.

docs/recorded-runs.md describes the files, so that other programs can write and read them.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
from collections.abc import Iterator

from det._types import JsonMapping, JsonObject
from det.core._outbox import Outbox
from det.core._storage import sync

FORMAT = 1  # The version of the format of the files.
_RUN, _IDS, _END = "run.json", "ids.json", "end.json"
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
# Directories with these prefixes are not spools yet, or no longer.
_NEW, _DONE = ".new-", ".done-"
_LIMIT = 1 << 50  # The disk is the limit.


def get_default_folder() -> pathlib.Path:
    """Returns DET_SPOOL_DIR, or a directory of the user."""
    given = os.environ.get("DET_SPOOL_DIR")
    if given:
        return pathlib.Path(given)
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return pathlib.Path(data, "resolute", "runs")


def check_run_id(run_id: str) -> str:
    """Returns the ID.

    Raises:
        ValueError: It is not a valid name of a directory.
    """
    if not isinstance(run_id, str) or not _RUN_ID.fullmatch(run_id):
        raise ValueError(
            f"run_id is {run_id!r}; expected up to 128 letters, digits, '.', '_' and '-', the first "
            "of them a letter or digit"
        )
    return run_id


class Spool:
    """One attempt of one process of a run. One thread may add while another sends.

    Attributes:
        folder: The directory.
        run: What the process was started with; see docs/recorded-runs.md.
        ids: The IDs that the master has given; empty before.
        end: How the process ended; empty before.

    Args:
        folder: The directory.
        memory: The number of records to keep in memory while the disk is full.

    Raises:
        BlockingIOError: A process that is running has opened it.
        FileNotFoundError: It does not exist, for example because another process has sent it.
        ValueError: Its format is unknown.
    """

    def __init__(self, folder: pathlib.Path, memory: int = 0) -> None:
        self.folder = folder
        self.run = _read(folder / _RUN)
        if not self.run:
            raise FileNotFoundError(f"{folder / _RUN} does not exist")
        if self.run.get("format") != FORMAT:
            raise ValueError(
                f"{folder / _RUN} has the format {self.run.get('format')!r}, but this version of det "
                f"reads {FORMAT}; update det"
            )
        outbox = str(folder / "outbox")
        self.records = Outbox(outbox, limit=_LIMIT, segment=1 << 16, memory=memory)
        if not (folder / _RUN).exists():  # Another process has just removed it.
            self.records.close()
            with contextlib.suppress(OSError):
                folder.rmdir()
            raise FileNotFoundError(f"{folder} was sent by another process")
        self.ids, self.end = _read(folder / _IDS), _read(folder / _END)
        self._marker: int | None = None

    @property
    def run_id(self) -> str:
        """The ID of the run."""
        return str(self.run["run_id"])

    @property
    def rank(self) -> int:
        """The number of the process in the run."""
        return int(self.run["rank"])

    @property
    def attempt(self) -> int:
        """The number of this start of the process."""
        return int(self.folder.name)

    def is_last(self) -> bool:
        """Returns whether there is no later start of the process."""
        numbers = [int(path.name) for path in self.folder.parent.iterdir() if path.name.isdigit()]
        return max(numbers, default=0) <= self.attempt

    def set_ids(self, ids: JsonObject) -> None:
        """Stores the IDs that the master has given."""
        _write(self.folder / _IDS, ids)
        self.ids = ids

    def set_end(self, state: str) -> None:
        """Stores how the process ended; nothing is added afterwards."""
        end: JsonObject = {"state": state}
        _write(self.folder / _END, end)
        self.end = end

    def get_artifact_folder(self, uuid: str) -> pathlib.Path:
        """Returns the directory for the files of an artifact."""
        return self.folder / "artifacts" / uuid

    def mark_as_sent_by_sync(self) -> None:
        """Tells later processes that `det sync` has opened the spool, not the process of the run."""
        self._marker = os.open(self.folder / _RUN, os.O_RDONLY)
        fcntl.flock(self._marker, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Closes the spool and keeps its files."""
        self.records.close()
        if self._marker is not None:
            os.close(self._marker)
            self._marker = None

    def remove(self) -> None:
        """Closes the spool and removes its files, because the master has everything."""
        done = self.folder.with_name(_DONE + self.folder.name)
        shutil.rmtree(done, ignore_errors=True)  # A process may have died while it removed it.
        # A part of it must never look like a spool, and nobody else may open it in between.
        os.rename(self.folder, done)
        self.close()
        shutil.rmtree(done, ignore_errors=True)
        for parent in list(self.folder.parents)[:2]:  # The directories of the rank and the run.
            try:
                parent.rmdir()
            except OSError:
                return


def create(root: pathlib.Path, run: JsonMapping, memory: int = 0) -> Spool:
    """Creates the spool of the next attempt of a process.

    Args:
        root: The directory of all spools.
        run: What the process is started with; see docs/recorded-runs.md.
        memory: The number of records to keep in memory while the disk is full.

    Raises:
        RuntimeError: An earlier attempt of the process is running.
    """
    parent = root / str(run["run_id"]) / str(run["rank"])
    while True:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with _lock(parent):
                return _create(parent, run, memory)
        except FileNotFoundError:
            if parent.exists():
                raise
            # A process that has sent everything removed the directory.


def _create(parent: pathlib.Path, run: JsonMapping, memory: int) -> Spool:
    for path in parent.iterdir():
        if path.name.startswith((_NEW, _DONE)):  # A process that was killed has left it.
            shutil.rmtree(path, ignore_errors=True)
    number = 1 + max(
        [int(path.name) for path in parent.iterdir() if path.name.isdigit()], default=0
    )
    for earlier in _find_below(parent, number):
        try:
            Spool(earlier).close()
        except BlockingIOError:
            if _is_sent_by_sync(earlier):
                continue
            run_id = run["run_id"]
            raise RuntimeError(
                f"rank {run['rank']} of run {run_id} is open in another process; give each process "
                f"its own rank: det.init(run_id={run_id!r}, rank=...)"
            ) from None
        except (FileNotFoundError, ValueError):
            pass  # `det sync` has just sent it; or its format is unknown.
    # The directory appears with its first file.
    aside = parent / f"{_NEW}{number}"
    aside.mkdir()
    _write(aside / _RUN, {"format": FORMAT, **run})
    os.rename(aside, parent / str(number))
    sync(parent)
    return Spool(parent / str(number), memory)


def _is_sent_by_sync(folder: pathlib.Path) -> bool:
    try:
        with open(folder / _RUN, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (BlockingIOError, FileNotFoundError):  # It sends it, or has just sent it.
        return True
    return False


@contextlib.contextmanager
def _lock(folder: pathlib.Path) -> Iterator[None]:
    """Makes other processes wait that create a spool in the same directory."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # Some network file systems cannot lock directories.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def find(folder: pathlib.Path) -> list[pathlib.Path]:
    """Returns the directories of all spools below a directory, in the order to send them.

    That is, for each run: all attempts of rank 0 in order, then those of the other ranks.
    """
    found = []
    for name, below, files in os.walk(folder):
        path = pathlib.Path(name)
        if _RUN in files and path.name.isdigit():
            found.append(path)
            below.clear()  # Artifacts may contain any files.
        below[:] = [each for each in below if not each.startswith((_NEW, _DONE))]
    return sorted(found, key=_order)


def find_earlier(spool: Spool) -> Iterator[pathlib.Path]:
    """Yields the directories of earlier attempts of the same process."""
    yield from _find_below(spool.folder.parent, spool.attempt)


def _find_below(parent: pathlib.Path, attempt: int) -> Iterator[pathlib.Path]:
    for path in find(parent):
        if int(path.name) < attempt:
            yield path


def _order(folder: pathlib.Path) -> tuple[str, int, int]:
    rank = folder.parent
    return str(rank.parent), int(rank.name) if rank.name.isdigit() else 0, int(folder.name)


def _read(path: pathlib.Path) -> JsonObject:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}


def _write(path: pathlib.Path, value: JsonMapping) -> None:
    aside = path.with_name(path.name + ".new")
    with open(aside, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
