"""A queue of records on disk: what waits for a master that is away.

A folder of segments, `segment.N`, only appended to; a record in them is a frame of length, CRC-32
and bytes. `acknowledged` names the first record that is still to be sent, as segment and offset;
segments before it are removed, with the last record the folder. `lock` is held while somebody has
it open.
A segment has its place on the disk before records come, and is mapped: to add one is to copy it into
the kernel's memory, without a call to the kernel. Zeros end it. Records survive the death of the
process, not a power cut of the node. A frame that a dying process left unfinished is no record.
"""

from __future__ import annotations

import collections
import errno
import fcntl
import mmap
import os
import shutil
import struct
import sys
import zlib
from typing import Deque, List, Optional, Set, Tuple

_FRAME = struct.Struct("<II")
_PLACE = struct.Struct("<QQ")
_DISK_REFUSES = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS}
# Some file systems have no mapped files, or keep no place for them.
_NOT_MAPPED = {errno.ENODEV, errno.EINVAL, errno.EACCES, errno.EOPNOTSUPP}


# A lock belongs to all copies of a process together: one that outlives it would keep it.
_locks: Set[int] = set()


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
        self, folder: str, limit: int = 64 << 20, segment: int = 1 << 20, memory: int = 1000
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
        # Bytes of records, where each ends (segment, offset); those of the memory have no place.
        self._records: Deque[Tuple[bytes, Optional[Tuple[int, int]]]] = collections.deque()
        self._out: Optional[int] = None  # The segment that is appended to.
        self._map: Optional[mmap.mmap] = None  # It, where its file system has mapped files.
        self._number, self._end, self._room = 0, 0, 0
        # Sums so far: of what was added, and of what was removed by another thread.
        self._bytes, self._bytes_removed = 0, 0
        self._in_memory, self._in_memory_removed = 0, 0
        self._complained = False
        self._load()

    def __len__(self) -> int:
        return len(self._records)

    def add(self, record: bytes) -> bool:
        """Of at least one byte. False when there is no room: nothing was added, try again later."""
        in_memory = self._in_memory - self._in_memory_removed
        if in_memory == 0:
            size = self._bytes - self._bytes_removed + len(record) + _FRAME.size
            if size > self._limit and self._records:
                return False
            if self._write(record):
                return True
        if in_memory >= self._memory_limit:
            return False
        self._records.append((record, None))
        self._in_memory += 1
        return True

    def front(self, count: int, size: int) -> List[bytes]:
        """The first records: one if there is any, at most `count`, about `size` bytes."""
        found: List[bytes] = []
        for i in range(min(count, len(self._records))):  # No iterator: more may come meanwhile.
            record = self._records[i][0]
            if found and size < len(record):
                break
            found.append(record)
            size -= len(record)
        return found

    def remove_front(self, count: int) -> None:
        """They are sent. REQUIRES that there are as many. Where the disk does not take that, the
        next run sends some once more, which the master drops."""
        place: Optional[Tuple[int, int]] = None
        for _ in range(count):
            record, where = self._records.popleft()
            if where is None:
                self._in_memory_removed += 1
            else:
                place = where
                self._bytes_removed += len(record) + _FRAME.size
        if place is None:
            return
        first = self._records[0][1] if self._records else None
        try:
            os.pwrite(self._acknowledged, _PLACE.pack(*place), 0)
            self._remove_segments_before(first[0] if first else place[0])
        except OSError as error:
            if error.errno not in _DISK_REFUSES:
                raise
            self._complain(error, "reports that were sent are kept")

    def close(self) -> None:
        """The folder stays, unless nothing waits in it."""
        self._end_segment()
        if not self._records:
            shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._acknowledged)
        if self._lock in _locks:  # Else this is a copy of the process, which has let go.
            _locks.remove(self._lock)
            os.close(self._lock)

    def forget(self) -> None:
        """Nothing of it is to be sent any more, nor by another run. To be closed next."""
        self._records.clear()
        self._bytes_removed, self._in_memory_removed = self._bytes, self._in_memory
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, number: int) -> str:
        return os.path.join(self.folder, f"segment.{number}")

    def _numbers(self) -> List[int]:
        names = (name.partition(".") for name in os.listdir(self.folder))
        return sorted(int(n) for kind, _, n in names if kind == "segment" and n.isdigit())

    def _write(self, record: bytes) -> bool:
        frame = _FRAME.pack(len(record), zlib.crc32(record)) + record
        end = self._end + len(frame)
        try:
            if end > self._room:
                self._start_segment(len(frame))
                end = len(frame)
            if self._map is not None:
                self._map[self._end : end] = frame
            else:
                self._write_out(frame)
        except OSError as error:
            if error.errno not in _DISK_REFUSES:
                raise
            self._complain(error, "reports are held in memory")
            return False
        self._end = end
        self._bytes += len(frame)
        self._records.append((record, (self._number, end)))
        return True

    def _write_out(self, frame: bytes) -> None:
        assert self._out is not None
        # At its place: what a failed write left behind is written over.
        if os.pwrite(self._out, frame, self._end) < len(frame):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _start_segment(self, at_least: int) -> None:
        number, room = self._number + 1, max(self._segment_size, at_least)
        out = os.open(self._path(number), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            mapped = _map(out, room)
        except OSError:
            os.close(out)
            raise
        self._end_segment()
        self._out, self._map, self._number, self._end, self._room = out, mapped, number, 0, room

    def _end_segment(self) -> None:
        if self._map is not None:
            self._map.close()
        if self._out is not None:
            os.ftruncate(self._out, self._end)
            os.close(self._out)
        self._out, self._map, self._room = None, None, 0

    def _complain(self, error: OSError, consequence: str) -> None:
        if not self._complained:
            self._complained = True
            print(
                f"WARNING: {self.folder}: {error.strerror}; {consequence}",
                file=sys.stderr,
                flush=True,
            )

    def _load(self) -> None:
        told = os.pread(self._acknowledged, _PLACE.size, 0)
        segment, offset = _PLACE.unpack(told) if len(told) == _PLACE.size else (0, 0)
        for number in self._numbers():
            self._number = max(self._number, number)
            if number >= segment:
                self._load_segment(number, offset if number == segment else 0)
        self._remove_segments_before(segment)

    def _load_segment(self, number: int, offset: int) -> None:
        with open(self._path(number), "rb") as file:
            content = file.read()
        while offset + _FRAME.size <= len(content):
            size, crc = _FRAME.unpack_from(content, offset)
            record = content[offset + _FRAME.size : offset + _FRAME.size + size]
            if size == 0 or len(record) < size or zlib.crc32(record) != crc:
                return
            offset += _FRAME.size + size
            self._records.append((record, (number, offset)))
            self._bytes += _FRAME.size + size

    def _remove_segments_before(self, number: int) -> None:
        if number == getattr(self, "_kept_from", None):
            return
        for old in self._numbers():
            if old < number:
                os.unlink(self._path(old))
        self._kept_from = number


def _map(file: int, size: int) -> Optional[mmap.mmap]:
    """The file, grown to `size`; None where its file system has no mapped files. Raises OSError where
    the disk has no room."""
    try:
        os.posix_fallocate(file, 0, size)  # Else a full disk would end the process, by SIGBUS.
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        return mmap.mmap(file, size, flags=flags)
    except OSError as error:
        if error.errno not in _NOT_MAPPED:
            raise
        return None
