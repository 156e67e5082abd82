"""A queue of records on disk: what waits for a master that is away.

A folder of segments, `segment.N` (_segment.py). `acknowledged` names the first record that is still
to be sent, as segment and offset; of the segments before it one waits to be used again, the others
are removed, with the last record the folder. `lock` is held while somebody has it open.
Records are written, not synced: they survive the death of the process, not a power cut of the node.
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
_DISK_REFUSES = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS}


# A lock belongs to all copies of a process together: one that outlives it would keep it.
_locks: set[int] = set()


def _let_go() -> None:
    for lock in _locks:
        os.close(lock)
    _locks.clear()


os.register_at_fork(after_in_child=_let_go)


class Outbox:
    """One thread adds at a time, while another may take from the front. Raises BlockingIOError when
    another process has the folder open.

    Args:
        folder: made when it is absent.
        limit: bytes of records on disk, past which add() refuses.
        segment: bytes of one segment; a greater record has one of its own.
        memory: records that are held while the disk takes none.
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
        # Of the thread that adds: the segment that is added to, the one before it, sums so far of
        # records on disk and their bytes.
        self._segment: _segment.Segment | None = None
        self._previous: _segment.Segment | None = None
        self._added, self._bytes = 0, 0
        # Of the thread that takes: the same sums of what it removed; the records that it has read,
        # and where each ends; where it reads on.
        self._removed, self._bytes_removed = 0, 0
        self._ahead: collections.deque[tuple[bytes, tuple[int, int]]] = collections.deque()
        self._place = (1, 0)
        # Records that the disk did not take; until they are removed, all that come go behind them.
        self._memory: collections.deque[bytes] = collections.deque()
        self._oldest, self._newest = 1, 0  # Segments on disk.
        self._sent = 0  # All before this segment is sent.
        self._complained = False
        self._load()

    def __len__(self) -> int:
        return self._added - self._removed + len(self._memory)

    def add(self, record: bytes) -> bool:
        """Of at least one byte. False when there is no room: nothing was added, try again later."""
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
                self._bear(error, "reports are held in memory")
        if len(self._memory) >= self._memory_limit:
            return False
        self._memory.append(record)
        return True

    def front(self, count: int, size: int) -> list[bytes]:
        """The first records: one if there is any, at most `count`, about `size` bytes."""
        in_memory = len(self._memory)  # First: while there are any, none comes to the disk.
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
        """They are sent. REQUIRES that there are as many. Where the disk does not take that, the
        next run sends some once more, which the master drops.
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
            self._bear(error, "reports that were sent are kept")

    def close(self) -> None:
        """The folder stays, unless nothing waits in it."""
        for segment in (self._segment, self._previous):
            if segment is not None:
                segment.close()
        if not len(self):
            shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._acknowledged)
        if self._lock in _locks:  # Else this is a copy of the process, which has let go.
            _locks.remove(self._lock)
            os.close(self._lock)

    def forget(self) -> None:
        """Nothing of it is to be sent any more, nor by another run. To be closed next."""
        self._ahead.clear()
        self._memory.clear()
        self._removed, self._bytes_removed = self._added, self._bytes
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start_segment(self, record: bytes) -> None:
        """With its first record."""
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
        """Until so many records on disk are read, or all."""
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
                raise RuntimeError(f"{self.folder} is damaged: {wanted} reports are not there")

    def _bear(self, error: OSError, consequence: str) -> None:
        """Raises it, unless it is the disk that refuses."""
        if error.errno not in _DISK_REFUSES:
            raise error
        if not self._complained:
            self._complained = True
            print(
                f"WARNING: {self.folder}: {error.strerror}; {consequence}",
                file=sys.stderr,
                flush=True,
            )

    def _load(self) -> None:
        told = os.pread(self._acknowledged, _PLACE.size, 0)
        if len(told) == _PLACE.size:
            self._place = _PLACE.unpack(told)
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
        """All that are sent but the last, which may be used again."""
        while self._oldest < self._sent - 1:
            try:
                os.unlink(_segment.path_of(self.folder, self._oldest))
            except FileNotFoundError:
                pass  # It was used again.
            self._oldest += 1
