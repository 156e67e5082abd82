"""Saves and finds checkpoints.

A checkpoint is complete or invisible: it is written to a temporary place, synced, renamed and then
reported to the master, which may be away meanwhile.
"""

from __future__ import annotations

import contextlib
import enum
import os
import pathlib
import shutil
import tempfile
import threading
import uuid as uuids
from collections.abc import Iterator, Mapping, Sequence
from typing import Callable, Protocol, TypeVar, Union, cast

from det._errors import CheckpointError, StorageUnreachable
from det._types import Json, JsonObject
from det.core import _json, _storage
from det.core._distributed import DistributedContext
from det.core._registry import Registry

Path = Union[str, "os.PathLike[str]"]
Selector = Callable[[str], bool]
_T = TypeVar("_T")


class _Broadcast(Protocol):
    """DistributedContext.broadcast() or broadcast_local()."""

    def __call__(self, stuff: _T, /) -> _T:
        raise NotImplementedError


class DownloadMode(enum.Enum):
    """Which ranks download a checkpoint.

    LocalWorkersShareDownload: collective on each node; its first rank downloads for all of them.
    NoSharedDownload: each caller downloads for itself.
    """

    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    NoSharedDownload = "NO_SHARED_DOWNLOAD"


class PendingCheckpoint:
    """A checkpoint that is being saved on another thread.

    Attributes:
        uuid: The UUID of the checkpoint.
    """

    def __init__(self, uuid: str) -> None:
        self.uuid = uuid
        self._done = threading.Event()
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Returns whether saving has ended."""
        return self._done.is_set()

    def result(self) -> str:
        """Waits until the checkpoint is complete and returns its UUID.

        Raises:
            CheckpointError: Saving failed; with `shard` on every rank, if it failed on any.
        """
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self.uuid


class CheckpointContext:
    """The checkpoints of a trial.

    Without `shard` only the chief calls. With `shard` every rank calls (collective), and each adds
    files of its own. The metadata must contain `steps_completed`.

    Every method raises CheckpointError with the name of the file or checkpoint. A checkpoint that
    could not be saved leaves no files and is not reported; with `shard` saving fails on every rank.

    Args:
        distributed: The ranks of the trial.
        storage: The place of the checkpoints.
        registry: Reports checkpoints to the master.
        latest: The checkpoint that this attempt starts from.
        latest_steps: The steps of the trial at that checkpoint. An earlier checkpoint of the trial
            may replace it if it is damaged. None: none may.
    """

    def __init__(
        self,
        distributed: DistributedContext,
        storage: _storage.Storage,
        registry: Registry,
        latest: str | None = None,
        latest_steps: int | None = None,
    ) -> None:
        self._distributed = distributed
        self._storage = storage
        self._registry = registry
        self._latest, self._latest_steps = latest, latest_steps
        self._channel: DistributedContext | None = None  # For the saving thread.
        self._pending: PendingCheckpoint | None = None
        if distributed.is_chief:
            storage.remove_leftovers()

    def upload(
        self,
        ckpt_dir: Path | None,
        metadata: Mapping[str, Json] | None = None,
        *,
        shard: bool = False,
        selector: Selector | None = None,
    ) -> str:
        """Saves a copy of a directory as a checkpoint.

        Args:
            ckpt_dir: The directory; with `shard`, None on a rank without files.
            metadata: The metadata of the checkpoint.
            shard: Whether all ranks add files.
            selector: Returns whether to save a file, given its path below the directory. None: all
                files.

        Returns:
            The UUID of the checkpoint.

        Raises:
            CheckpointError: The checkpoint cannot be saved.
            ValueError: The metadata has no valid `steps_completed`.
        """

        def copy(to: pathlib.Path) -> None:
            if ckpt_dir is not None:
                copy_files(pathlib.Path(ckpt_dir), to, selector)

        with self.store_path(metadata, shard=shard) as (path, uuid):
            copy(path)
        return uuid

    @contextlib.contextmanager
    def store_path(
        self, metadata: Mapping[str, Json] | None = None, *, shard: bool = False
    ) -> Iterator[tuple[pathlib.Path, str]]:
        """Saves what the block of a `with` statement writes into a directory.

            with context.checkpoint.store_path({"steps_completed": 10}) as (path, uuid):
                (path / "state").write_text("...")

        Args:
            metadata: The metadata of the checkpoint.
            shard: Whether all ranks add files.

        Yields:
            The directory, and the UUID of the checkpoint, which is complete when the block ends.

        Raises:
            CheckpointError: The checkpoint cannot be saved.
            ValueError: The metadata has no valid `steps_completed`.
        """
        self.wait()
        saving = self._begin(metadata, shard, self._distributed)
        try:
            path = saving.begin()
            yield path, saving.uuid
        except BaseException as error:
            saving.fail(error)
            raise
        saving.finish()

    def start_save(
        self,
        metadata: Mapping[str, Json] | None,
        write: Callable[[pathlib.Path], None],
        *,
        shard: bool = False,
    ) -> PendingCheckpoint:
        """Starts to save a checkpoint on another thread, and returns.

        If an earlier call is still saving, this call waits for it.

        Args:
            metadata: The metadata of the checkpoint.
            write: Writes the files into a directory. It is called on the other thread, so the
                training must not change the data that it writes.
            shard: Whether all ranks add files.

        Returns:
            The pending checkpoint.

        Raises:
            CheckpointError: The previous checkpoint could not be saved.
        """
        self.wait()
        if shard and self._channel is None:
            self._channel = self._distributed.fork()
        saving = self._begin(metadata, shard, self._channel or self._distributed)
        pending = PendingCheckpoint(saving.uuid)

        def run() -> None:
            try:
                saving.save(write)
            except BaseException as error:  # result() raises it.
                pending._error = error
            pending._done.set()

        threading.Thread(target=run, name="det-checkpoint", daemon=True).start()
        self._pending = pending
        return pending

    def wait(self) -> None:
        """Waits until the checkpoint that start_save() has started is complete.

        Raises:
            CheckpointError: Saving failed. Only the first call raises.
        """
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def newest_whole(self) -> str | None:
        """Returns the checkpoint to resume from, after comparing each of its files. Collective.

        That is the checkpoint that this attempt starts from or, if it is damaged, the newest
        undamaged one that the trial saved before it. None on a fresh start.

        Raises:
            CheckpointError: All of them are damaged.
            StorageUnreachable: The checkpoint storage does not answer.
        """
        if self._latest is None:
            return None
        latest: str = self._latest
        ranks = self._distributed
        return str(_run_on_one(ranks.is_chief, ranks.broadcast, lambda: self._find_whole(latest)))

    def _find_whole(self, latest: str) -> str:
        damage: dict[str, str] = {}
        earlier = [] if self._latest_steps is None else self._storage.saved(self._latest_steps)
        for uuid in [latest] + [uuid for uuid in earlier if uuid != latest]:
            try:
                self._storage.open(uuid)
            except StorageUnreachable:
                raise  # An earlier checkpoint would repeat training that is not lost.
            except CheckpointError as error:
                damage[uuid] = str(error)
                continue
            for damaged, why in damage.items():
                steps = int(self._storage.metadata(uuid).get("steps_completed", 0))
                self._registry.damaged(damaged, why, uuid, steps)
            return uuid
        raise CheckpointError(damage[latest])

    def download(
        self,
        storage_id: str,
        ckpt_dir: Path,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Selector | None = None,
    ) -> None:
        """Copies the files of a checkpoint into a directory and compares them with what was saved.

        Args:
            storage_id: The UUID of the checkpoint.
            ckpt_dir: The directory.
            download_mode: Which ranks download.
            selector: Returns whether to copy a file, given its path. None: all files.

        Raises:
            CheckpointError: The checkpoint does not exist or is damaged.
        """
        self._shared(
            download_mode,
            lambda: copy_files(
                self._storage.open(storage_id, selector), pathlib.Path(ckpt_dir), selector
            ),
        )

    @contextlib.contextmanager
    def restore_path(
        self,
        storage_id: str,
        download_mode: DownloadMode = DownloadMode.LocalWorkersShareDownload,
        *,
        selector: Selector | None = None,
    ) -> Iterator[pathlib.Path]:
        """Provides the files of a checkpoint for the block of a `with` statement.

        Args:
            storage_id: The UUID of the checkpoint.
            download_mode: Which ranks download.
            selector: Returns whether to include a file, given its path. None: all files.

        Yields:
            A directory with the files, compared with what was saved. It is read-only.

        Raises:
            CheckpointError: The checkpoint does not exist or is damaged.
        """
        path = self._shared(download_mode, lambda: self._storage.open(storage_id, selector))
        if selector is None:
            yield path
            return
        with tempfile.TemporaryDirectory(prefix="det-checkpoint-") as folder:
            chosen = pathlib.Path(folder)
            copy_files(path.absolute(), chosen, selector, os.symlink)
            yield chosen

    def get_metadata(self, storage_id: str) -> JsonObject:
        """Returns the metadata of a checkpoint.

        Args:
            storage_id: The UUID of the checkpoint.

        Returns:
            The metadata, a JSON object.

        Raises:
            CheckpointError: The checkpoint does not exist or is incomplete.
        """
        return self._storage.metadata(storage_id)

    def store_beside(self, folder: Path, name: str) -> None:
        """Copies the files of a directory beside the checkpoints, below `name`.

        Each rank calls for itself.

        Args:
            folder: The directory whose files are copied.
            name: The path to copy to, relative to the checkpoint storage.

        Raises:
            CheckpointError: The files cannot be stored.
        """
        self._storage.copy_beside(pathlib.Path(folder), name)

    def delete(self, storage_id: str) -> None:
        """Deletes a checkpoint with its files.

        Args:
            storage_id: The UUID of the checkpoint.

        Raises:
            CheckpointError: It does not exist, or is in use: by a version of a model, or by a trial
                that is to resume from it.
        """
        self._storage.require(storage_id)
        # The master comes first, as it knows all users of the checkpoint. If this process dies after
        # that, the master removes the files.
        self._registry.deleted(storage_id)
        self._storage.remove(storage_id)

    def close(self) -> None:
        """Waits for the pending checkpoint."""
        try:
            self.wait()
        finally:
            if self._channel is not None and self._channel is not self._distributed:
                self._channel.close()

    def _shared(self, mode: DownloadMode, step: Callable[[], _T]) -> _T:
        ranks = self._distributed
        if mode is DownloadMode.NoSharedDownload or ranks.local_size == 1:
            return step()
        return _run_on_one(ranks.is_local_chief, ranks.broadcast_local, step)

    def _begin(
        self, metadata: Mapping[str, Json] | None, shard: bool, ranks: DistributedContext
    ) -> _Saving:
        if not shard and not self._distributed.is_chief:
            raise RuntimeError(
                "without shard=True only rank 0 saves a checkpoint; call it on rank 0 only, or pass shard=True"
            )
        if not shard:
            ranks = DistributedContext.single()
        metadata = dict(metadata or {})
        # What is not JSON is refused later, for all ranks together.
        with contextlib.suppress(TypeError):
            metadata = cast(JsonObject, _json.to_json(metadata))
        return _Saving(self._storage, ranks, self._registry, metadata, self._distributed)


def _run_on_one(does: bool, broadcast: _Broadcast, step: Callable[[], _T]) -> _T:
    """Runs step() on one rank and returns its result on all of them.

    An exception is raised on the rank itself and, as a CheckpointError, on the others, which would
    wait forever without it.
    """
    value: _T | None = None
    failure: Exception | None = None
    message: str | None = None
    if does:
        try:
            value = step()
        except Exception as error:
            failure = error
            kind = "" if isinstance(error, CheckpointError) else f"{type(error).__name__}: "
            message = f"{kind}{error}"
    value, message = broadcast((value, message))
    if failure is not None:
        raise failure
    if message is not None:
        raise CheckpointError(message)
    return cast(_T, value)


class _Saving:
    """A checkpoint that is being saved. Collective in `ranks`."""

    def __init__(
        self,
        storage: _storage.Storage,
        ranks: DistributedContext,
        registry: Registry,
        metadata: Mapping[str, Json],
        trial: DistributedContext,
    ) -> None:
        self._storage, self._ranks, self._registry = storage, ranks, registry
        self._metadata = metadata
        # This runs on the training thread, which owns the connections of `trial`.
        uuid = str(uuids.uuid4())
        self.uuid = uuid if ranks.size == 1 else str(trial.broadcast(uuid))
        if ranks.size == 1:
            _check_metadata(metadata)

    def save(self, write: Callable[[pathlib.Path], None]) -> None:
        try:
            write(self.begin())
        except BaseException as error:
            self.fail(error)
            raise
        self.finish()

    def begin(self) -> pathlib.Path:
        return self._storage.begin(self.uuid, self._ranks.rank)

    def fail(self, error: BaseException) -> None:
        """Notifies the other ranks that this rank has failed, and removes what was saved."""
        with contextlib.suppress(ConnectionError, CheckpointError):
            self._agree(f"rank {self._ranks.rank}: {type(error).__name__}: {error}", [])

    def finish(self) -> None:
        try:
            files = self._storage.end(self.uuid, self._ranks.rank)
        except CheckpointError as error:
            self.fail(error)
            raise
        self._agree(None, files)

    def _agree(self, problem: str | None, files: _storage.Files) -> None:
        parts = self._ranks.gather((problem, files, self._metadata))
        outcome: str | None = None
        if parts is not None:
            try:
                self._publish(parts)
            except Exception as error:  # Every exception: the other ranks wait for the outcome.
                self._storage.remove(self.uuid)
                outcome = str(error)
        outcome = self._ranks.broadcast(outcome)
        if outcome is not None:
            raise CheckpointError(outcome)

    def _publish(self, parts: list[tuple[str | None, _storage.Files, Mapping[str, Json]]]) -> None:
        problems = [problem for problem, _, _ in parts if problem]
        if problems:
            raise CheckpointError("cannot save the checkpoint: " + "; ".join(problems))
        metadata = merge_metadata([metadata for _, _, metadata in parts])
        _check_metadata(metadata)
        files = self._storage.publish(self.uuid, [files for _, files, _ in parts], metadata)
        self._registry.saved(self.uuid, metadata, files)


def merge_metadata(by_rank: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Merges the metadata of all ranks.

    Args:
        by_rank: The metadata of each rank, in the order of the ranks.

    Returns:
        All entries of all ranks.

    Raises:
        CheckpointError: Two ranks have different values for one name.
    """
    merged: dict[str, Json] = {}
    for rank, metadata in enumerate(by_rank):
        for name, value in metadata.items():
            if merged.setdefault(name, value) != value:
                raise CheckpointError(
                    f"metadata {name!r} is {value!r} on rank {rank} and {merged[name]!r} on an earlier "
                    "rank; pass the same value on all ranks"
                )
    return merged


def copy_files(
    source: pathlib.Path,
    target: pathlib.Path,
    selector: Selector | None,
    copy: Callable[[Path, Path], object] = shutil.copyfile,
) -> None:
    """Copies the files of a directory for which selector(path below it) is true.

    Args:
        source: The directory to copy from.
        target: The directory to copy to; created if it does not exist.
        selector: Returns whether to copy a file, given its path below `source`. None: all files.
        copy: Copies one file, given its path and the path of the copy.

    Raises:
        CheckpointError: The source is not a directory.
    """
    if not source.is_dir():
        raise CheckpointError(f"{source} is not a directory")
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        if path.is_dir() or (selector and not selector(name.as_posix())):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        copy(path, target / name)


def _check_metadata(metadata: Mapping[str, Json]) -> None:
    steps = metadata.get("steps_completed")
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 0:
        raise ValueError(
            f"steps_completed of the metadata is {steps!r}; expected the number of trained batches"
        )
