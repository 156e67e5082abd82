"""A segment of an outbox: a file with a sequence of frames."""

from __future__ import annotations

import errno
import mmap
import os
import struct
import zlib
from collections.abc import Iterator

_FRAME = struct.Struct("<II")
OVERHEAD = _FRAME.size  # Bytes of a frame in addition to its record.
# Some file systems cannot map files, or cannot reserve space for them.
_NOT_MAPPED = {errno.ENODEV, errno.EINVAL, errno.EACCES, errno.EOPNOTSUPP}


class Segment:
    """A file whose space is reserved in advance and which is mapped into memory.

    To add a record is thus a copy into memory without a system call. A frame is the length, CRC-32
    and bytes of a record. The CRC starts with the number of the segment, so frames that an earlier
    segment left in the file, or that a dying process did not complete, are not valid.

    Raises:
        OSError: The disk is full.
    """

    def __init__(self, folder: str, number: int, room: int) -> None:
        self.number, self.end, self.room = number, 0, room
        self._folder = folder
        self._file = os.open(get_path(folder, number), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            self._map = _map(self._file, room)
        except OSError:
            os.close(self._file)
            raise

    def put(self, record: bytes) -> bool:
        """Adds a record of at least one byte.

        Returns:
            Whether there was room for it.

        Raises:
            OSError: The disk is full.
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
        """Reuses the file for another segment; its memory is probably in the processor's cache."""
        os.rename(get_path(self._folder, self.number), get_path(self._folder, number))
        self.number, self.end = number, 0

    def close(self) -> None:
        """Closes the file, and keeps it."""
        if self._map is not None:
            self._map.close()
        os.close(self._file)


def get_path(folder: str, number: int) -> str:
    """Returns the path of a segment."""
    return os.path.join(folder, f"segment.{number}")


def read(folder: str, number: int, offset: int) -> Iterator[tuple[bytes, int]]:
    """Yields the records from an offset on, each with the offset at which it ends.

    A segment that does not exist has no records.
    """
    try:
        with open(get_path(folder, number), "rb") as file:
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
    """Grows a file and maps it; returns None if the file system cannot map files."""
    try:
        # Without it, a full disk would kill the process with SIGBUS.
        os.posix_fallocate(file, 0, size)
        return mmap.mmap(file, size)
    except OSError as error:
        if error.errno not in _NOT_MAPPED:
            raise
        return None
