"""A file that frames are put into, one after the other: a part of an outbox."""

from __future__ import annotations

import errno
import mmap
import os
import struct
import zlib
from collections.abc import Iterator

_FRAME = struct.Struct("<II")
OVERHEAD = _FRAME.size  # Bytes of a record beside its own.
# Some file systems have no mapped files, or keep no place for them.
_NOT_MAPPED = {errno.ENODEV, errno.EINVAL, errno.EACCES, errno.EOPNOTSUPP}


class Segment:
    """Its place on the disk is kept before records come, and it is mapped: to put one is to copy it
    into the kernel's memory, without a call to the kernel.

    A frame is length, CRC-32 and bytes of a record; the CRC begins with the segment's number, so
    what an earlier segment left in the file is no record of this one, nor is a frame that a dying
    process left unfinished.

    Raises OSError where the disk has no room.
    """

    def __init__(self, folder: str, number: int, room: int) -> None:
        self.number, self.end, self.room = number, 0, room
        self._folder = folder
        self._file = os.open(path_of(folder, number), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            self._map = _map(self._file, room)
        except OSError:
            os.close(self._file)
            raise

    def put(self, record: bytes) -> bool:
        """Of at least one byte. False where it has no room. Raises OSError where the disk takes
        none.
        """
        start, end = self.end, self.end + OVERHEAD + len(record)
        if end > self.room:
            return False
        frame = _FRAME.pack(len(record), zlib.crc32(record, self.number)) + record
        if self._map is not None:
            self._map[start:end] = frame
        elif os.pwrite(self._file, frame, start) < len(frame):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.end = end
        return True

    def begin_again(self, number: int) -> None:
        """As another segment, in memory that is known to the processor."""
        os.rename(path_of(self._folder, self.number), path_of(self._folder, number))
        self.number, self.end = number, 0

    def close(self) -> None:
        """The file stays."""
        if self._map is not None:
            self._map.close()
        os.close(self._file)


def path_of(folder: str, number: int) -> str:
    return os.path.join(folder, f"segment.{number}")


def read(folder: str, number: int, offset: int) -> Iterator[tuple[bytes, int]]:
    """The records from there on, and where each ends. Of a segment that is not there none."""
    try:
        with open(path_of(folder, number), "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return
    while offset + OVERHEAD <= len(content):
        size, crc = _FRAME.unpack_from(content, offset)
        record = content[offset + OVERHEAD : offset + OVERHEAD + size]
        if size == 0 or len(record) < size or zlib.crc32(record, number) != crc:
            return
        offset += OVERHEAD + size
        yield record, offset


def _map(file: int, size: int) -> mmap.mmap | None:
    """The file, grown to `size`; None where its file system has no mapped files."""
    try:
        os.posix_fallocate(file, 0, size)  # Else a full disk would end the process, by SIGBUS.
        return mmap.mmap(file, size)
    except OSError as error:
        if error.errno not in _NOT_MAPPED:
            raise
        return None
