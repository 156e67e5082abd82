"""A bucket of an object store: what all kinds of them (`_buckets`) have in common.

docs/checkpoint-storage.md has the rules; base/objects is the same in C++.
"""

from __future__ import annotations

import abc
import builtins
import datetime
import html
import pathlib
import re
import time
from collections.abc import Iterator
from typing import BinaryIO

from det._errors import CheckpointError, StorageUnreachable
from det.core._http import Answer, NoAnswer, send
from det.core._signing import Call, query_text, quote

FIRST_PAUSE = 0.5  # Seconds; twice as long before each further try.
PART = 64 << 20  # A larger file goes in parts of this size, one in memory at a time.
_MOST_PARTS = 9000  # S3 takes 10,000.
_READ = 16 << 20
_TRIES = 5
_STALE = ("ExpiredToken", "TokenRefreshRequired", "InvalidToken")


class NoObject(CheckpointError):
    """There is no object of that key."""


class Bucket(abc.ABC):
    """All calls block; any thread. What fails for the moment is tried several times. Raises
    CheckpointError naming the bucket, the object and what the server said, never a secret.
    """

    def __init__(self, address: str, name: str, path: str) -> None:
        """address: scheme, host and port. path: of the bucket, percent-encoded."""
        self._address, self._name, self._path = address, name, path
        self.pause = time.sleep

    @abc.abstractmethod
    def put(self, key: str, content: bytes) -> None:
        """Replaces what is there. At most PART bytes."""

    @abc.abstractmethod
    def _put_parts(self, key: str, parts: Iterator[bytes], size: int) -> None: ...

    @abc.abstractmethod
    def list(self, prefix: str) -> builtins.list[str]:
        """The keys that begin so, in order."""

    @abc.abstractmethod
    def _sign(self, call: Call, host: str, now: datetime.datetime) -> None: ...

    def _renew(self) -> None:  # noqa: B027
        """The server no longer takes what was given; other credentials may be there by now."""

    def put_file(self, key: str, path: pathlib.Path) -> None:
        """Of any size."""
        size = path.stat().st_size
        if size <= PART:
            return self.put(key, path.read_bytes())
        with open(path, "rb") as file:
            self._put_parts(key, _parts(file, max(PART, size // _MOST_PARTS + 1)), size)

    def read(self, key: str, offset: int, length: int) -> bytes:
        """Fewer bytes where the object ends. Raises NoObject."""
        call = self._call("GET", key)
        call.headers["Range"] = f"bytes={offset}-{offset + length - 1}"
        answer = self._send(call)
        if answer.status == 416:
            return b""
        self._judge(f"read {key}", answer)
        if answer.status != 206:  # Some do not know ranges, and send all of it.
            return answer.body[offset : offset + length]
        if len(answer.body) > length:
            raise StorageUnreachable(
                f"{self._name} at {self._address}: cannot read {key}: it sent {len(answer.body)} "
                f"bytes where {length} were asked for"
            )
        return answer.body

    def get(self, key: str) -> bytes:
        """A small object, whole. Raises NoObject."""
        return self.read(key, 0, PART)

    def get_file(self, key: str, path: pathlib.Path) -> None:
        with open(path, "wb") as file:
            while True:
                piece = self.read(key, file.tell(), _READ)
                file.write(piece)
                if len(piece) < _READ:
                    return

    def remove(self, key: str) -> None:
        """Also when it is not there."""
        try:
            self._ask(f"remove {key}", self._call("DELETE", key))
        except NoObject:
            pass

    def _call(
        self, method: str, key: str, query: builtins.list[tuple[str, str]] | None = None
    ) -> Call:
        return Call(method, self._path + (f"/{quote(key, '/')}" if key else ""), query or [])

    def _pages(
        self, prefix: str, query: builtins.list[tuple[str, str]], names: tuple[str, str, str]
    ) -> builtins.list[str]:
        """names: of the parameter that asks for a further page, and of the elements with a key and
        with what to ask for.
        """
        after, key, following = names
        keys: list[str] = []
        more: list[tuple[str, str]] = []
        while True:
            answer = self._ask(f"list {prefix}", self._call("GET", "", query + more))
            keys += xml_values(answer.body, key)
            there = xml_value(answer.body, following)
            if not there:
                return keys
            if more == [(after, there)]:
                raise StorageUnreachable(f"{self._name}: the list of {prefix} does not end")
            more = [(after, there)]

    def _ask(self, doing: str, call: Call) -> Answer:
        answer = self._send(call)
        self._judge(doing, answer)
        return answer

    def _send(self, call: Call) -> Answer:
        renewed = False
        pause = FIRST_PAUSE
        for left in reversed(range(_TRIES)):
            try:
                answer = self._send_once(call)
            except NoAnswer as error:
                if left == 0:
                    raise StorageUnreachable(f"{self._name} at {self._address}: {error}") from None
            else:
                if _is_stale(answer) and not renewed and left > 0:
                    renewed = True
                    self._renew()
                    continue
                if left == 0 or not answer.passes:
                    return answer
            self.pause(pause)
            pause *= 2
        raise AssertionError("the last try returns or raises")

    def _send_once(self, call: Call) -> Answer:
        signed = Call(call.method, call.path, list(call.query), dict(call.headers), call.body)
        host = self._address.split("://", 1)[1]
        self._sign(signed, host, datetime.datetime.now(datetime.timezone.utc))
        url = self._address + signed.path
        if signed.query:
            url += "?" + query_text(signed.query)
        body = signed.body if call.method in ("PUT", "POST") else None
        if body is not None:  # urllib would name another.
            signed.headers.setdefault("Content-Type", "application/octet-stream")
        return send(call.method, url, signed.headers, body)

    def _judge(self, doing: str, answer: Answer) -> None:
        if answer.ok:
            return
        code, said = xml_value(answer.body, "Code"), xml_value(answer.body, "Message")
        words = f"{code}: {said}" if code else answer.headers.get("x-ms-error-code", "")
        what = f"{self._name} at {self._address}: cannot {doing}: it answered {answer.status}"
        what += f" {words[:300]}" if words else ""
        if "NoSuchBucket" in words or "ContainerNotFound" in words:
            raise StorageUnreachable(f"{what}; make it, or name another")
        if answer.status == 404:
            raise NoObject(what)
        if answer.status in (401, 403):
            raise StorageUnreachable(f"{what}; check the credentials, and what they may do there")
        raise StorageUnreachable(what)


def _parts(file: BinaryIO, size: int) -> Iterator[bytes]:
    while True:
        part = file.read(size)
        if not part:
            return
        yield part


def xml_values(xml: bytes, name: str) -> list[str]:
    found = re.findall(f"<{name}>([^<]*)</{name}>", xml.decode(errors="replace"))
    return [html.unescape(each) for each in found]


def xml_value(xml: bytes, name: str) -> str:
    values = xml_values(xml, name)
    return values[0] if values else ""


def _is_stale(answer: Answer) -> bool:
    """Of credentials that were good and no longer are."""
    if answer.status in (400, 403):
        return xml_value(answer.body, "Code") in _STALE
    return answer.status == 401
