"""A queue of records on disk, for reports that the master does not have yet.

An outbox is a directory of segments, `segment.N` (_segment.py). The file `acknowledged` contains
the segment and offset of the first record that is not sent yet. One of the sent segments is kept
for reuse, the others are removed; with the last record the directory is removed. The file `lock` is
locked while the outbox is open. Records are written but not synced: they survive the death of the
process, not a power failure of the node.
"""

from __future__ import annotations

import collections
import errno
import fcntl
import itertools
import os
import shutil
import struct
import sys

from det.core import _segment

_PLACE = struct.Struct("<QQ")
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS}


# Forked processes share a lock: a child that outlives its parent would keep it.
_locks: set[int] = set()


def _release_locks() -> None:
    for lock in _locks:
        os.close(lock)
    _locks.clear()


os.register_at_fork(after_in_child=_release_locks)


class Outbox:
    """A queue of records on disk. One thread may add while another takes from the front.

    Args:
        folder: The directory, created if it does not exist.
        limit: The bytes of records on disk above which add() refuses.
        segment: The bytes of one segment; a larger record has a segment of its own.
        memory: The number of records to keep in memory while the disk takes none.

    Raises:
        BlockingIOError: Another process has opened the directory.
    """

    def __init__(
        self, folder: str, limit: int = 64 << 20, segment: int = 1 << 16, memory: int = 1000
    ) -> None:
        self.folder = folder
        self._limit, self._memory_limit = limit, memory
        self._segment_size = max(min(segment, limit // 4), 1)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise
        _locks.add(self._lock)
        self._acknowledged = os.open(
            os.path.join(folder, "acknowledged"), os.O_RDWR | os.O_CREAT, 0o600
        )
        # State of the adding thread: the current segment, the previous one, and how many records and
        # bytes were added on disk.
        self._segment: _segment.Segment | None = None
        self._previous: _segment.Segment | None = None
        self._added, self._bytes = 0, 0
        # State of the removing thread: how many records and bytes were removed; the records that it has
        # read, with the segment and offset at which each ends; the place to continue reading.
        self._removed, self._bytes_removed = 0, 0
        self._ahead: collections.deque[tuple[bytes, tuple[int, int]]] = collections.deque()
        self._place = (1, 0)
        # Records that the disk did not take. While there are any, new records are added behind them.
        self._memory: collections.deque[bytes] = collections.deque()
        self._oldest, self._newest = 1, 0  # Segments on disk.
        self._sent = 0  # All earlier segments are sent.
        self._warned = False
        self._load()

    def __len__(self) -> int:
        return self._added - self._removed + len(self._memory)

    @property
    def unwritten(self) -> int:
        """The number of records that are in memory only, because the disk did not take them."""
        return len(self._memory)

    def add(self, record: bytes) -> bool:
        """Adds a record of at least one byte; returns False if there is no room."""
        if not self._memory:
            size = self._bytes - self._bytes_removed + len(record) + _segment.OVERHEAD
            if size > self._limit and self._added != self._removed:
                return False
            try:
                if self._segment is None or not self._segment.put(record):
                    self._start_segment(record)
                self._bytes += len(record) + _segment.OVERHEAD
                self._added += 1
                return True
            except OSError as error:
                held = "reports are held in memory" if self._memory_limit else "it takes no reports"
                self._warn_or_raise(error, held)
        if len(self._memory) >= self._memory_limit:
            return False
        self._memory.append(record)
        return True

    def front(self, count: int, size: int) -> list[bytes]:
        """Returns the first records, at least one if there are any.

        Args:
            count: The maximum number of records.
            size: The approximate maximum of bytes.
        """
        # Read it first: while it is not 0, no record is added on disk.
        in_memory = len(self._memory)
        self._read_ahead(count)
        waiting = [record for record, _ in self._ahead]
        if in_memory and self._added - self._removed == len(self._ahead):
            waiting += [self._memory[i] for i in range(min(count, in_memory))]
        found: list[bytes] = []
        for record in waiting[:count]:
            if found and size < len(record):
                break
            found.append(record)
            size -= len(record)
        return found

    def remove_front(self, count: int) -> None:
        """Removes records that were sent; there must be as many.

        If the disk does not take that, the next attempt sends some of them again, and the master
        ignores these.
        """
        self._read_ahead(count)
        place: tuple[int, int] | None = None
        for _ in range(count):
            if not self._ahead:
                self._memory.popleft()
                continue
            record, place = self._ahead.popleft()
            self._bytes_removed += len(record) + _segment.OVERHEAD
            self._removed += 1
        if place is None:
            return
        try:
            os.pwrite(self._acknowledged, _PLACE.pack(*place), 0)
            self._sent = place[0]
            self._remove_old_segments()
        except OSError as error:
            self._warn_or_raise(error, "sent reports are kept")

    def close(self) -> None:
        """Closes the outbox; keeps the directory if it contains records."""
        for segment in (self._segment, self._previous):
            if segment is not None:
                segment.close()
        if not len(self):
            shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._acknowledged)
        if self._lock in _locks:  # A forked process has released it.
            _locks.remove(self._lock)
            os.close(self._lock)

    def forget(self) -> None:
        """Deletes all records, also for later runs. Only close() may follow."""
        self._ahead.clear()
        self._memory.clear()
        self._removed, self._bytes_removed = self._added, self._bytes
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start_segment(self, record: bytes) -> None:
        """Starts a segment with its first record."""
        new, number = self._previous, self._newest + 1
        size = len(record) + _segment.OVERHEAD
        if new is not None and new.number < self._sent and new.room >= size:
            new.begin_again(number)
        else:
            new = _segment.Segment(self.folder, number, max(self._segment_size, size))
            if self._previous is not None:
                self._previous.close()
        self._previous, self._segment, self._newest = self._segment, new, number
        new.put(record)

    def _read_ahead(self, count: int) -> None:
        """Reads records from disk until `count` are in memory, or all."""
        while True:
            wanted = min(count, self._added - self._removed) - len(self._ahead)
            if wanted <= 0:
                return
            number, offset = self._place
            read = list(itertools.islice(_segment.read(self.folder, number, offset), wanted))
            self._ahead.extend((record, (number, end)) for record, end in read)
            if read:
                self._place = (number, read[-1][1])
            elif number < self._newest:
                self._place = (number + 1, 0)
            else:
                raise RuntimeError(f"{self.folder} is damaged: {wanted} reports are missing")

    def _warn_or_raise(self, error: OSError, consequence: str) -> None:
        """Raises the error, unless the disk is the cause."""
        if error.errno not in _DISK_ERRORS:
            raise error
        if not self._warned:
            self._warned = True
            print(
                f"WARNING: {self.folder}: {error.strerror}; {consequence}",
                file=sys.stderr,
                flush=True,
            )

    def _load(self) -> None:
        place = os.pread(self._acknowledged, _PLACE.size, 0)
        if len(place) == _PLACE.size:
            self._place = _PLACE.unpack(place)
        self._sent, offset = self._place
        names = (name.partition(".") for name in os.listdir(self.folder))
        numbers = sorted(int(n) for kind, _, n in names if kind == "segment" and n.isdigit())
        for number in numbers:
            if number >= self._sent:
                begin = offset if number == self._sent else 0
                for record, _ in _segment.read(self.folder, number, begin):
                    self._added += 1
                    self._bytes += len(record) + _segment.OVERHEAD
        if numbers:
            self._oldest, self._newest = numbers[0], numbers[-1]
        self._remove_old_segments()

    def _remove_old_segments(self) -> None:
        """Removes all sent segments but the last, which may be reused."""
        while self._oldest < self._sent - 1:
            try:
                os.unlink(_segment.get_path(self.folder, self._oldest))
            except FileNotFoundError:
                pass  # It was reused.
            self._oldest += 1
