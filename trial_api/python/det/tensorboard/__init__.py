"""Writes event files for TensorBoard, with scalars and text, without TensorBoard.

with EventWriter(context.train.get_tensorboard_path()) as writer:
writer.add_scalar("loss", 0.5, step)
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import pathlib
import socket
import struct
import threading
import time
import uuid
from collections.abc import Mapping
from typing import SupportsFloat

_POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), reflected.
_MASK = 0xA282EAD8
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # Protobuf's wire types.
_FLUSH_SECONDS = 30.0
_numbers = itertools.count()  # Numbers the files of this process in the order of their creation.


def _make_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _make_table()


def crc32c(data: bytes) -> int:
    """Returns the CRC-32C checksum."""
    crc, table = 0xFFFFFFFF, _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked_crc(data: bytes) -> int:
    """Returns the masked checksum of the TFRecord format."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """Returns a TFRecord frame: the length, its checksum, the bytes and their checksum."""
    return _header(len(data)) + data + struct.pack("<I", masked_crc(data))


@functools.lru_cache(maxsize=1024)
def _header(size: int) -> bytes:
    length = struct.pack("<Q", size)
    return length + struct.pack("<I", masked_crc(length))


class EventWriter:
    """Writes one event file. Any thread may call.

    Args:
        folder: The directory of the file, created if it does not exist.
        purge_step: The step at which a resumed run starts; TensorBoard ignores what earlier files
            of the directory contain for this step and later ones.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str], purge_step: int | None = None) -> None:
        path = pathlib.Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        # TensorBoard reads the files of a directory in the order of their names.
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}"
        self.path = path / f"{name}.{next(_numbers):04d}.{uuid.uuid4().hex[:8]}"
        self._lock = threading.Lock()
        self._flushed = time.monotonic()
        self._file = open(self.path, "ab")
        self._write(_text(3, "brain.Event:2"), 0)
        if purge_step is not None:
            # A session log whose status is START.
            self._write(_message(7, _key(1, _VARINT) + _varint(1)), purge_step)
        self.flush()

    def add_scalar(self, tag: str, value: SupportsFloat, step: int) -> None:
        """Adds a value to a series.

        Args:
            tag: The name of the series.
            value: A number, also of numpy or torch; stored as a float32.
            step: The step.
        """
        self._write(_message(5, _message(1, _point(tag, value))), step)

    def add_scalars(
        self, values: Mapping[str, SupportsFloat], step: int, wall_time: float | None = None
    ) -> None:
        """Adds a value to each of several series.

        Args:
            values: The values by the names of the series; values that are not numbers are ignored.
            step: The step.
            wall_time: The time in seconds since 1970; None: now.
        """
        points = []
        for tag, value in values.items():
            try:
                points.append(_message(1, _point(tag, value)))
            except (TypeError, ValueError):
                continue
        if points:
            self._write(_message(5, b"".join(points)), step, wall_time)

    def add_text(self, tag: str, text: str, step: int) -> None:
        """Adds text, which TensorBoard shows as Markdown.

        Args:
            tag: The name of the series.
            text: The text.
            step: The step.
        """
        plugin = _message(9, _message(1, _text(1, "text")))
        # A tensor of one string: type, shape, value.
        tensor = _key(1, _VARINT) + _varint(7) + _message(2, _message(2, _key(1, 0) + _varint(1)))
        tensor += _text(8, text)
        self._write(_message(5, _message(1, _text(1, tag) + plugin + _message(8, tensor))), step)

    def flush(self) -> None:
        """Writes what is buffered to the file."""
        with self._lock:
            self._file.flush()
            self._flushed = time.monotonic()

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> EventWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, body: bytes, step: int, wall_time: float | None = None) -> None:
        event = _key(1, _FIXED64) + struct.pack("<d", wall_time or time.time())
        event += _key(2, _VARINT) + _varint(step) + body
        with self._lock:
            self._file.write(record(event))
            late = time.monotonic() - self._flushed > _FLUSH_SECONDS
        if late:
            self.flush()


def _point(tag: str, value: SupportsFloat) -> bytes:
    return _tag(tag) + _float32(value)


@functools.lru_cache(maxsize=1024)
def _tag(tag: str) -> bytes:
    return _text(1, tag) + _key(2, _FIXED32)


def _float32(value: SupportsFloat) -> bytes:
    """Returns the bytes of a float32; infinity if the value is too large."""
    try:
        return struct.pack("<f", float(value))
    except OverflowError:  # float() raises it, too, for an int above the largest double.
        return struct.pack("<f", math.inf if value > 0 else -math.inf)  # type: ignore[operator]


@functools.lru_cache(maxsize=64)
def _key(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _message(field: int, body: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(body)) + body


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())
