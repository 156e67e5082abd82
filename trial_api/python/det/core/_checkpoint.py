"""Saving and finding checkpoints. A checkpoint is complete or invisible: written aside, synced,
renamed, then registered. A master that is away hears of it later.
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
from collections.abc import Iterator, Mapping
from typing import Any, Callable, Union

from det._errors import CheckpointError, StorageUnreachable
from det.core import _storage
from det.core._distributed import DistributedContext
from det.core._registry import Registry

Path = Union[str, "os.PathLike[str]"]
Selector = Callable[[str], bool]


class DownloadMode(enum.Enum):
    """LocalWorkersShareDownload: collective on each node, whose first rank does it for all of it.
    NoSharedDownload: each caller for itself.
    """

    LocalWorkersShareDownload = "LOCAL_WORKERS_SHARE_DOWNLOAD"
    NoSharedDownload = "NO_SHARED_DOWNLOAD"


class PendingCheckpoint:
    """One that is being saved on another thread."""

    def __init__(self, uuid: str) -> None:
        self.uuid = uuid
        self._done = threading.Event()
        self._error: BaseException | None = None

    def done(self) -> bool:
        return self._done.is_set()

    def result(self) -> str:
        """Waits until it is complete; its uuid. Raises on every rank what failed on any."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self.uuid


class CheckpointContext:
    """Checkpoints of a trial, in shared storage. Metadata must have `steps_completed`.

    Without `shard` the chief alone calls; with it every rank does (collective), and each adds files
    of its own. Raises CheckpointError naming the file or the checkpoint; of what fails nothing is
    left and nothing registered, and with `shard` it fails on every rank.
    """

    def __init__(
        self,
        distributed: DistributedContext,
        storage: _storage.Storage,
        registry: Registry,
        latest: str | None = None,
        latest_steps: int | None = None,
    ) -> None:
        """latest: what this run starts from. latest_steps: how far the trial was at it; what it
        saved before then may take its place. None: nothing may.
        """
        self._distributed = distributed
        self._storage = storage
        self._registry = registry
        self._latest, self._latest_steps = latest, latest_steps
        self._channel: DistributedContext | None = None  # Of the saving thread.
        self._pending: PendingCheckpoint | None = None
        if distributed.is_chief:
            storage.remove_leftovers()

    def upload(
        self,
        ckpt_dir: Path | None,
        metadata: Mapping[str, Any] | None = None,
        *,
        shard: bool = False,
        selector: Selector | None = None,
    ) -> str:
        """Copies the folder's files for which selector(path below it) holds. The uuid. With shard a
        rank without files gives None.
        """

        def copy(to: pathlib.Path) -> None:
            if ckpt_dir is not None:
                copy_files(pathlib.Path(ckpt_dir), to, selector)

        with self.store_path(metadata, shard=shard) as (path, uuid):
            copy(path)
        return uuid

    @contextlib.contextmanager
    def store_path(
        self, metadata: Mapping[str, Any] | None = None, *, shard: bool = False
    ) -> Iterator[tuple[pathlib.Path, str]]:
        """Gives a folder to write into and the uuid; complete when the block has ended."""
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
        metadata: Mapping[str, Any] | None,
        write: Callable[[pathlib.Path], None],
        *,
        shard: bool = False,
    ) -> PendingCheckpoint:
        """Begins a checkpoint and returns; write(folder) is called on another thread, so it owns
        what it writes. One at a time: waits for the one before.
        """
        self.wait()
        if shard and self._channel is None:
            self._channel = self._distributed.fork()
        saving = self._begin(metadata, shard, self._channel or self._distributed)
        pending = PendingCheckpoint(saving.uuid)

        def run() -> None:
            try:
                saving.save(write)
            except BaseException as error:  # Told where the result is asked for.
                pending._error = error
            pending._done.set()

        threading.Thread(target=run, name="det-checkpoint", daemon=True).start()
        self._pending = pending
        return pending

    def wait(self) -> None:
        """Until the checkpoint that was started is complete; raises what failed, once."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def newest_whole(self) -> str | None:
        """The checkpoint to go on from, each of its files compared: the one that this run starts
        from, or where it is damaged the newest whole one that the trial saved before. None on a
        fresh start. Collective. Raises CheckpointError where none is whole.
        """
        if self._latest is None:
            return None
        latest: str = self._latest
        ranks = self._distributed
        return str(_told(ranks.is_chief, ranks.broadcast, lambda: self._find_whole(latest)))

    def _find_whole(self, latest: str) -> str:
        damage: dict[str, str] = {}
        earlier = [] if self._latest_steps is None else self._storage.saved(self._latest_steps)
        for uuid in [latest] + [uuid for uuid in earlier if uuid != latest]:
            try:
                self._storage.open(uuid)
            except StorageUnreachable:
                raise  # The one before would cost training that is not lost.
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
        """Copies a checkpoint's files, compared with what was saved, into the folder."""
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
        """A folder with a checkpoint's files, of which selector(path below it) holds, compared with
        what was saved; to be read only, and in the block.
        """
        path = self._shared(download_mode, lambda: self._storage.open(storage_id, selector))
        if selector is None:
            yield path
            return
        with tempfile.TemporaryDirectory(prefix="det-checkpoint-") as folder:
            chosen = pathlib.Path(folder)
            copy_files(path.absolute(), chosen, selector, os.symlink)
            yield chosen

    def get_metadata(self, storage_id: str) -> dict[str, Any]:
        """What it was saved with."""
        return self._storage.metadata(storage_id)

    def store_beside(self, folder: Path, name: str) -> None:
        """Copies the folder's files beside the checkpoints, below `name`. Any rank, for itself."""
        self._storage.copy_beside(pathlib.Path(folder), name)

    def delete(self, storage_id: str) -> None:
        """All of its files. Refused, with a CheckpointError, while something holds it: a version of
        a model, or who is to go on from it.
        """
        self._storage.require(storage_id)
        # First the word of who knows all that hold it. Should this process die behind it, the
        # master removes the files.
        self._registry.deleted(storage_id)
        self._storage.remove(storage_id)

    def close(self) -> None:
        try:
            self.wait()
        finally:
            if self._channel is not None and self._channel is not self._distributed:
                self._channel.close()

    def _shared(self, mode: DownloadMode, step: Callable[[], Any]) -> Any:
        ranks = self._distributed
        if mode is DownloadMode.NoSharedDownload or ranks.local_size == 1:
            return step()
        return _told(ranks.is_local_chief, ranks.broadcast_local, step)

    def _begin(
        self, metadata: Mapping[str, Any] | None, shard: bool, ranks: DistributedContext
    ) -> _Saving:
        if not shard and not self._distributed.is_chief:
            raise RuntimeError(
                "without shard=True only rank 0 saves; let the others not call, or all with it"
            )
        if not shard:
            ranks = DistributedContext.single()
        return _Saving(
            self._storage, ranks, self._registry, dict(metadata or {}), self._distributed
        )


def _told(does: bool, broadcast: Callable[[Any], Any], step: Callable[[], Any]) -> Any:
    """What step() gave on the rank that does it, on all of them. What it raised is raised there,
    and on the others, which would wait for ever, as a CheckpointError.
    """
    value: Any = None
    failure: Exception | None = None
    words: str | None = None
    if does:
        try:
            value = step()
        except Exception as error:
            failure = error
            kind = "" if isinstance(error, CheckpointError) else f"{type(error).__name__}: "
            words = f"{kind}{error}"
    value, words = broadcast((value, words))
    if failure is not None:
        raise failure
    if words is not None:
        raise CheckpointError(words)
    return value


class _Saving:
    """One checkpoint on its way. Collective in `ranks`."""

    def __init__(
        self,
        storage: _storage.Storage,
        ranks: DistributedContext,
        registry: Registry,
        metadata: dict[str, Any],
        trial: DistributedContext,
    ) -> None:
        self._storage, self._ranks, self._registry = storage, ranks, registry
        self._metadata = metadata
        # On the training thread, whose connections these are.
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
        """This rank has; tells the others, and removes what there is."""
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
        told = self._ranks.gather((problem, files, self._metadata))
        outcome: str | None = None
        if told is not None:
            try:
                self._publish(told)
            except Exception as error:  # Any: the other ranks wait for a word.
                self._storage.remove(self.uuid)
                outcome = str(error)
        outcome = self._ranks.broadcast(outcome)
        if outcome is not None:
            raise CheckpointError(outcome)

    def _publish(self, told: list[tuple[str | None, _storage.Files, dict[str, Any]]]) -> None:
        problems = [problem for problem, _, _ in told if problem]
        if problems:
            raise CheckpointError("the checkpoint was not saved: " + "; ".join(problems))
        metadata = merge_metadata([metadata for _, _, metadata in told])
        _check_metadata(metadata)
        files = self._storage.publish(self.uuid, [files for _, files, _ in told], metadata)
        self._registry.saved(self.uuid, metadata, files)


def merge_metadata(by_rank: list[dict[str, Any]]) -> dict[str, Any]:
    """Raises CheckpointError where two ranks say different things under one name."""
    merged: dict[str, Any] = {}
    for rank, metadata in enumerate(by_rank):
        for name, value in metadata.items():
            if merged.setdefault(name, value) != value:
                raise CheckpointError(
                    f"metadata {name!r} of rank {rank} is {value!r}, and of a rank before it "
                    f"{merged[name]!r}; let the ranks agree"
                )
    return merged


def copy_files(
    source: pathlib.Path,
    target: pathlib.Path,
    selector: Selector | None,
    copy: Callable[[Path, Path], Any] = shutil.copyfile,
) -> None:
    """Those for which selector(path below source) holds."""
    if not source.is_dir():
        raise CheckpointError(f"{source} is no folder")
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        if path.is_dir() or (selector and not selector(name.as_posix())):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        copy(path, target / name)


def _check_metadata(metadata: Mapping[str, Any]) -> None:
    steps = metadata.get("steps_completed")
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 0:
        raise ValueError(
            f"the metadata's steps_completed is {steps!r}; say how many batches were trained"
        )
