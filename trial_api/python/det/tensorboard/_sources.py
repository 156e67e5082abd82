"""Brings the event files of trials from the checkpoint storages into one directory.

The directory has a folder experiment/<ID>/trial/<ID> for each trial, which is the name of the run
that TensorBoard shows. Files in a directory of this machine are linked, files in buckets are
downloaded.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import sys
import threading
import uuid as uuids
from collections.abc import Sequence
from typing import Callable, Protocol, TypedDict

from det._types import JsonObject
from det.core._context import storage_folder
from det.core._object_store import (
    ObjectNotFound,
    ObjectStore,
    Stamp,
    get_prefix,
    is_object_store,
    open_object_store,
)

BUCKET_PERIOD = 20.0  # Seconds between two listings of a bucket.
FOLDER_PERIOD = 2.0
_PARALLEL_FILES = 5
_MAX_TAIL = 16 << 20  # Bytes; a part of a file that is larger is not held in memory.
_LEVEL = "/experiment/"  # What precedes the ID of the experiment in the path of its event files.


class Source(TypedDict):
    """The event files of one experiment.

    Attributes:
        storage: The section checkpoint_storage of its configuration.
        prefix: The path of its event files in the storage, CLUSTER/tensorboard/experiment/ID/.
        trials: The trials to show; empty: all.
    """

    storage: JsonObject
    prefix: str
    trials: list[int]


class Fetcher(Protocol):
    """Brings the files of sources into the directory. One thread at a time.

    Attributes:
        period: The seconds to wait between two calls.
        found: Whether there is a file by now.
    """

    period: float
    found: bool

    def fetch(self) -> None:
        """Brings the new and the changed files.

        Raises:
            CheckpointError: A bucket cannot be listed or read.
            OSError: A directory cannot be read, or the directory of the files cannot be written.
        """
        ...


def get_experiment_id(source: Source) -> str:
    """Returns the ID of the experiment of a source."""
    return source["prefix"].rstrip("/").rpartition("/")[2]


class FolderFetcher:
    """Links the directories of trials in one storage on this machine. See Fetcher."""

    period = FOLDER_PERIOD

    def __init__(self, sources: Sequence[Source], target: pathlib.Path) -> None:
        self._sources, self._target = sources, target
        self._root = storage_folder(sources[0]["storage"]).absolute()
        self.found = False

    def fetch(self) -> None:
        """See Fetcher."""
        failure: OSError | None = None
        for source in self._sources:
            try:
                self._link(source)
            except OSError as error:  # The directories of the other experiments may be readable.
                failure = failure or error
        if failure is not None:
            raise failure

    def _link(self, source: Source) -> None:
        trials = self._root / source["prefix"] / "trial"
        links = self._target / "experiment" / get_experiment_id(source) / "trial"
        for trial in [str(trial) for trial in source["trials"]] or _list_folder(trials):
            link = links / trial
            if not link.is_symlink() and (trials / trial).is_dir():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(trials / trial)
            self.found = self.found or _has_file(link)


class BucketFetcher:
    """Downloads the event files of experiments from one bucket. See Fetcher.

    An event file only grows, so only its new part is downloaded, and added to the local file.
    """

    period = BUCKET_PERIOD

    def __init__(self, sources: Sequence[Source], target: pathlib.Path) -> None:
        self._sources, self._target = sources, target
        self._config = sources[0]["storage"]
        self._store: ObjectStore | None = None
        self._stamps: dict[str, Stamp] = {}  # What was fetched, by key.
        self.found = False

    def fetch(self) -> None:
        """See Fetcher."""
        if self._store is None:
            self._store = open_object_store(self._config)
        store = self._store
        with concurrent.futures.ThreadPoolExecutor(_PARALLEL_FILES) as pool:
            work = []
            for source in self._sources:
                for key, stamp, path in self._list_changed(store, source):
                    work.append(pool.submit(self._fetch_file, store, key, stamp, path))
        for each in work:
            each.result()

    def _list_changed(
        self, store: ObjectStore, source: Source
    ) -> list[tuple[str, Stamp, pathlib.Path]]:
        """Returns the key, the stamp and the local path of each file to fetch."""
        top = get_prefix(self._config) + source["prefix"]
        folder = self._target / "experiment" / get_experiment_id(source)
        if source["trials"]:
            listed = [store.describe(f"{top}trial/{trial}/") for trial in source["trials"]]
        else:
            listed = [store.describe(top)]
        changed = []
        for key, stamp in (item for found in listed for item in found.items()):
            name = pathlib.PurePosixPath(key[len(top) :])
            if self._stamps.get(key) != stamp and ".." not in name.parts and not key.endswith("/"):
                changed.append((key, stamp, folder / name))
        return changed

    def _fetch_file(self, store: ObjectStore, key: str, stamp: Stamp, path: pathlib.Path) -> None:
        size = path.stat().st_size if path.exists() else 0
        try:
            if "tfevents" in path.name and 0 < size < stamp[0] <= size + _MAX_TAIL:
                # Added in place: TensorBoard may have the file open.
                tail = store.get_range(key, size, stamp[0])
                with open(path, "ab") as file:
                    file.write(tail)
            else:
                aside = self._target.parent / str(uuids.uuid4())
                store.get_file(key, aside)
                path.parent.mkdir(parents=True, exist_ok=True)
                os.replace(aside, path)
        except ObjectNotFound:
            return  # It was removed after the listing.
        self._stamps[key] = stamp
        self.found = True


def make_fetchers(sources: Sequence[Source], target: pathlib.Path) -> list[Fetcher]:
    """Returns a fetcher for each storage, every one with its own credentials.

    Args:
        sources: The sources.
        target: The directory for the files. Its parent is used for temporary files.

    Raises:
        ValueError: A storage is unknown.
    """
    storages: dict[str, list[Source]] = {}
    for source in sources:
        place = {k: v for k, v in source["storage"].items() if not k.startswith("save_")}
        storages.setdefault(json.dumps(place, sort_keys=True), []).append(source)
    return [
        BucketFetcher(group, target)
        if is_object_store(group[0]["storage"])
        else FolderFetcher(group, target)
        for group in storages.values()
    ]


class Following:
    """Runs each fetcher on a separate thread, so that no storage waits for another.

    A failure is printed once, and the next pass tries again.

    Args:
        fetchers: The fetchers.
        on_file: Called on a thread of a fetcher whenever it has a file; may be called often.
    """

    def __init__(self, fetchers: Sequence[Fetcher], on_file: Callable[[], None]) -> None:
        self._on_file = on_file
        self._stop = threading.Event()
        self._problems: dict[int, str] = {}  # The latest failure of each fetcher.
        for number, fetcher in enumerate(fetchers):
            threading.Thread(target=self._follow, args=(number, fetcher), daemon=True).start()

    @property
    def problem(self) -> str:
        """A failure of the latest passes; empty if there was none."""
        return next((problem for problem in list(self._problems.values()) if problem), "")

    def stop(self) -> None:
        """Ends the threads, without waiting for one that waits for a server."""
        self._stop.set()

    def _follow(self, number: int, fetcher: Fetcher) -> None:
        while not self._stop.is_set():
            problem = ""
            try:
                fetcher.fetch()
            except Exception as error:  # Every exception: the libraries of buckets raise many.
                problem = str(error)
            if fetcher.found:
                self._on_file()
            if problem and problem != self._problems.get(number):
                _warn(f"cannot fetch event files: {problem}; trying again")
            self._problems[number] = problem
            self._stop.wait(fetcher.period)


def _warn(text: str) -> None:
    print(f"WARNING: {text}", file=sys.stderr, flush=True)


def _list_folder(folder: pathlib.Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def _has_file(folder: pathlib.Path) -> bool:
    return any(files for _, _, files in os.walk(folder))
