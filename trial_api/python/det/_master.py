"""HTTP and JSON with the master: one connection that is kept, tried again when it breaks."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from det._errors import MasterError, RunIsOver

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # Seconds between tries.
SILENCE = 5.0  # Seconds: an outage that is worth a line.
_COMPRESS_FROM = 1024
_TRANSIENT = {429, 502, 503, 504}
_CLOSED = "this connection to the master is closed"
_FAILED_PRECONDITION = 9  # As gRPC numbers it.


class _TlsConnection(http.client.HTTPSConnection):
    """One whose certificate may be for another name than the address."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, name: str) -> None:
        super().__init__(host, port, context=context)
        self._name, self._tls = name, context

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), self.timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self._name or self.host)


class Master:
    """Calls to the master that leads. Any thread, one call at a time.

    Args:
        urls: of all masters; the next one is tried when one does not answer.
        headers: of each request, such as the token.
        cert_file: PEM file with the authority of the masters' certificates; None: the system's.
        cert_name: their name in it, where it is not that of the address.
        patience: seconds after which a call to a master that is away fails; None: never.
        task: whether a refusal of the token means that this run has been given up (RunIsOver).
        allocation: the id of the task's allocation, for rendezvous().
        resources: the id of the part of the allocation that this node has, for rendezvous().
    """

    def __init__(
        self,
        urls: list[str],
        headers: Mapping[str, str],
        cert_file: str | None = None,
        cert_name: str | None = None,
        patience: float | None = None,
        task: bool = False,
        allocation: str = "",
        resources: str = "",
    ) -> None:
        if not urls:
            raise ValueError("no address of a master; set DET_MASTER to its URL")
        self._urls = [_split(url) for url in urls]
        self._headers = {"Accept": "application/json", **headers}
        self._cert_file, self._cert_name = cert_file, cert_name or ""
        self.patience = patience
        self._task = task
        self._allocation, self._resources = allocation, resources
        self._present = 0
        self._connection: http.client.HTTPConnection | None = None
        self._lock = threading.Lock()
        self._said = False
        self.away = False  # The last try found nobody.
        self._closing = threading.Event()

    def another(self) -> Master:
        """A connection of its own, otherwise the same."""
        urls = [url.geturl() for url in self._urls]
        return Master(
            urls[self._present :] + urls[: self._present],
            self._headers,
            self._cert_file,
            self._cert_name,
            self.patience,
            self._task,
            self._allocation,
            self._resources,
        )

    def __enter__(self) -> Master:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends a call that is under way, too."""
        self._closing.set()
        connection = self._connection
        sock = connection.sock if connection else None
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def get(self, path: str, timeout: float = 60.0) -> dict[str, Any]:
        return self.call("GET", path, timeout=timeout)

    def post(self, path: str, body: Any = None, timeout: float = 60.0) -> dict[str, Any]:
        return self.call("POST", path, {} if body is None else body, timeout)

    def rendezvous(self) -> dict[str, Any]:
        """Waits until all nodes of the task's allocation have started."""
        path = f"/api/v1/allocations/{self._allocation}/resources/{self._resources}/rendezvous"
        return dict(self.get(path, timeout=900.0)["rendezvousInfo"])

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        timeout: float = 60.0,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The answer, an object. `body`: JSON to be, or its bytes. Tries again while nobody
        answers; raises MasterError for what is refused.
        """
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = dict(self._headers, **(headers or {}))
        if data is not None:
            sent["Content-Type"] = "application/json"
            if len(data) >= _COMPRESS_FROM:
                data, sent["Content-Encoding"] = gzip.compress(data, 1), "gzip"
        with self._lock:
            status, text = self._try_until_answered(method, path, data, sent, timeout)
        if status != 200:
            raise self._refusal(method, path, status, text)
        try:
            return dict(json.loads(text or b"{}"))
        except (ValueError, TypeError) as error:  # Of something between us and the master.
            where = f"{method} {path.partition('?')[0]}"
            raise MasterError(f"{self._address()} answered {where} with no JSON object") from error

    def lines(self, path: str, timeout: float = 600.0) -> Iterator[dict[str, Any]]:
        """What a stream answers, one object a line."""
        with self._lock:
            connection = self._open(timeout)
            try:
                connection.request("GET", self._base() + path, headers=self._headers)
                answer = connection.getresponse()
                if answer.status != 200:
                    raise self._refusal("GET", path, answer.status, answer.read())
                for line in answer:
                    if not line.strip():
                        continue
                    told = json.loads(line)
                    if "error" in told and "result" not in told:
                        raise self._refusal("GET", path, 500, line)
                    yield told.get("result", told)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise MasterError(f"the master at {self._address()} broke off: {error}") from error
            finally:
                self._drop()

    def _try_until_answered(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str], timeout: float
    ) -> tuple[int, bytes]:
        away_since: float | None = None
        pause = FIRST_PAUSE
        while True:
            start = time.monotonic()
            if self._closing.is_set():
                raise MasterError(_CLOSED)
            reused, timed_out = self._connection is not None, False
            try:
                status, text = self._try(method, path, data, headers, timeout)
                why = "" if status not in _TRANSIENT else _words(text)
            except (OSError, http.client.HTTPException) as error:
                status, text, why = 0, b"", str(error) or type(error).__name__
                self._drop()
                if self._closing.is_set():  # Which has broken it.
                    raise MasterError(_CLOSED) from None
                timed_out = isinstance(error, socket.timeout)
                if reused and not timed_out:
                    continue  # It was closed as idle, as a rule.
            self.away = bool(why)
            if not why:
                self._say_back()
                return status, text
            # An answer may be long in coming, by a master that is there until it breaks off.
            now = time.monotonic()
            away_since = away_since or (start if timed_out else now)
            gone = now - away_since
            if self.patience is not None and gone + pause > self.patience:
                raise MasterError(f"the master at {self._address()} does not answer: {why}", status)
            if gone > SILENCE:
                self._say_away(why)
            self._closing.wait(pause)
            pause = self._next(pause)

    def _try(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str], timeout: float
    ) -> tuple[int, bytes]:
        connection = self._open(timeout)
        connection.request(method, self._base() + path, body=data, headers=headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.will_close:
            self._drop()
        return answer.status, text

    def _open(self, timeout: float) -> http.client.HTTPConnection:
        if self._connection is None:
            url = self._urls[self._present]
            host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
            if url.scheme == "https":
                tls = ssl.create_default_context(cafile=self._cert_file)
                self._connection = _TlsConnection(host, port, tls, self._cert_name)
            else:
                self._connection = http.client.HTTPConnection(host, port)
        self._connection.timeout = timeout  # Of a connection that is still to be made,
        if self._connection.sock is None:
            self._connection.connect()
            if self._closing.is_set():  # Too early for close() to see this connection.
                self._drop()
                raise MasterError(_CLOSED)
        self._connection.sock.settimeout(timeout)  # and of one that is.
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _next(self, pause: float) -> float:
        """Goes on to the next master; the pause grows once all were asked."""
        self._drop()
        self._present = (self._present + 1) % len(self._urls)
        return min(2 * pause, LONGEST_PAUSE) if self._present == 0 else pause

    def _base(self) -> str:
        return self._urls[self._present].path.rstrip("/")

    def _address(self) -> str:
        return self._urls[self._present].netloc

    def _refusal(self, method: str, path: str, status: int, text: bytes) -> MasterError:
        message = f"{method} {path.partition('?')[0]} was refused: {_words(text)}"
        if self._task and (status in (401, 403) or _code(text) == _FAILED_PRECONDITION):
            return RunIsOver(message, status)
        return MasterError(message, status)

    def _say_away(self, why: str) -> None:
        if not self._said:
            self._said = True
            print(
                f"WARNING: master at {self._address()} does not answer: {why}",
                file=sys.stderr,
                flush=True,
            )

    def _say_back(self) -> None:
        if self._said:
            self._said = False
            print("INFO: the master answers again", file=sys.stderr, flush=True)


def _split(url: str) -> urllib.parse.SplitResult:
    parts = urllib.parse.urlsplit(url if "//" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no address of a master; write http://host:port")
    return parts


def _code(text: bytes) -> int:
    try:
        return int(json.loads(text)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return 0


def _words(text: bytes) -> str:
    """Of an error's answer."""
    try:
        error = json.loads(text)["error"]
        return str(error.get("error") or error.get("message") or error.get("reason"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return text.decode(errors="replace").strip()[:500] or "no reason was given"


def patience_of_task() -> int | None:
    """Whole seconds, as Trials in C++ read the same variable; absent or below 0: no limit."""
    told = os.environ.get("DET_MASTER_PATIENCE")
    if told is None:
        return None
    if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", told, re.ASCII):
        raise ValueError(
            f"$DET_MASTER_PATIENCE is {told!r}: give whole seconds, or leave it out to wait forever"
        )
    seconds = int(told)
    return seconds if seconds >= 0 else None
