"""HTTP and JSON with the master, over one connection that is reopened if it breaks."""

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

from det._errors import MasterError, RunIsOver, make_master_error
from det._types import Json, JsonObject

FIRST_PAUSE, MAX_PAUSE = 0.1, 5.0  # Seconds between attempts.
LOG_AFTER = 5.0  # Seconds: a longer outage is logged.
_COMPRESS_FROM = 1024
_TRANSIENT = {429, 502, 503, 504}
_CLOSED = "this connection to the master is closed"
_FAILED_PRECONDITION = 9  # gRPC's status code.


class _TlsConnection(http.client.HTTPSConnection):
    """A connection to a server whose certificate may have another name than its address."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, name: str) -> None:
        super().__init__(host, port, context=context)
        self._name, self._tls = name, context

    def connect(self) -> None:
        plain = socket.create_connection((self.host, self.port), self.timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self._name or self.host)


class Master:
    """Calls to the leading master. Any thread may call; calls run one at a time.

    Args:
        urls: The URLs of all masters; if one does not answer, the next is tried.
        headers: The headers of each request, for example the token.
        cert_file: A PEM file with the CA certificates of the masters; None: the system's.
        cert_name: The name in their certificate, if it differs from the host name.
        retry_timeout: The seconds after which a call fails if no master answers; None: never.
        task: Whether a refused token means that the master has ended this attempt (RunIsOver).
        allocation: The ID of the task's allocation, for rendezvous().
        resources: The ID of this node's part of the allocation, for rendezvous().

    Raises:
        ValueError: There is no URL, or one is invalid.
    """

    def __init__(
        self,
        urls: list[str],
        headers: Mapping[str, str],
        cert_file: str | None = None,
        cert_name: str | None = None,
        retry_timeout: float | None = None,
        task: bool = False,
        allocation: str = "",
        resources: str = "",
    ) -> None:
        if not urls:
            raise ValueError("no URL of a master; set DET_MASTER")
        self._urls = [_split(url) for url in urls]
        self._headers = {"Accept": "application/json", **headers}
        self._cert_file, self._cert_name = cert_file, cert_name or ""
        self.retry_timeout = retry_timeout
        self._task = task
        self._allocation, self._resources = allocation, resources
        self._present = 0
        self._connection: http.client.HTTPConnection | None = None
        self._lock = threading.Lock()
        self._outage_logged = False
        self.away = False  # The last attempt got no answer.
        # Whether to repeat a request that a proxy refused with status 400.
        self.retry_proxy_errors = False
        self._closing = threading.Event()

    def another(self) -> Master:
        """Returns another connection with the same settings."""
        urls = [url.geturl() for url in self._urls]
        return Master(
            urls[self._present :] + urls[: self._present],
            self._headers,
            self._cert_file,
            self._cert_name,
            self.retry_timeout,
            self._task,
            self._allocation,
            self._resources,
        )

    def __enter__(self) -> Master:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. A call in progress fails."""
        self._closing.set()
        connection = self._connection
        sock = connection.sock if connection else None
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def get(self, path: str, timeout: float = 60.0) -> JsonObject:
        """Sends a GET request. See call()."""
        return self.call("GET", path, timeout=timeout)

    def post(self, path: str, body: Json | bytes = None, timeout: float = 60.0) -> JsonObject:
        """Sends a POST request. See call()."""
        return self.call("POST", path, {} if body is None else body, timeout)

    def rendezvous(self) -> JsonObject:
        """Waits until all nodes of the task's allocation have started."""
        path = f"/api/v1/allocations/{self._allocation}/resources/{self._resources}/rendezvous"
        return dict(self.get(path, timeout=900.0)["rendezvousInfo"])

    def call(
        self,
        method: str,
        path: str,
        body: Json | bytes = None,
        timeout: float = 60.0,
        headers: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """Sends a request, and repeats it while no master answers.

        Args:
            method: The HTTP method.
            path: The path and query.
            body: The body: a JSON value, or its bytes.
            timeout: The seconds to wait for an answer before the request is repeated.
            headers: Additional headers.

        Returns:
            The JSON object of the answer.

        Raises:
            MasterError: The master refused the request, or did not answer within retry_timeout.
        """
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = dict(self._headers, **(headers or {}))
        if data is not None:
            sent["Content-Type"] = "application/json"
            if len(data) >= _COMPRESS_FROM:
                data, sent["Content-Encoding"] = gzip.compress(data, 1), "gzip"
        with self._lock:
            status, text = self._send_until_answered(method, path, data, sent, timeout)
        if status != 200:
            raise self._refusal(method, path, status, text)
        try:
            return dict(json.loads(text or b"{}"))
        except (ValueError, TypeError) as error:  # A proxy may have answered.
            where = f"{method} {path.partition('?')[0]}"
            raise MasterError(
                f"{self._address()} did not answer {where} with a JSON object"
            ) from error

    def lines(self, path: str, timeout: float = 600.0) -> Iterator[JsonObject]:
        """Yields the JSON objects of a stream, which has one per line.

        Raises:
            MasterError: The master refused the request, or the stream broke off.
        """
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
                    message = json.loads(line)
                    if "error" in message and "result" not in message:
                        raise self._refusal("GET", path, 500, line)
                    yield message.get("result", message)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise MasterError(
                    f"the stream from the master at {self._address()} broke off: {error}"
                ) from error
            finally:
                self._drop()

    def _send_until_answered(
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
                status, text = self._send(method, path, data, headers, timeout)
                why = _describe(text) if self._is_transient(status, text) else ""
            except (OSError, http.client.HTTPException) as error:
                status, text, why = 0, b"", str(error) or type(error).__name__
                self._drop()
                if self._closing.is_set():  # close() broke the connection.
                    raise MasterError(_CLOSED) from None
                timed_out = isinstance(error, socket.timeout)
                if reused and not timed_out:
                    continue  # The server has probably closed the idle connection.
            self.away = bool(why)
            if not why:
                self._log_recovery()
                return status, text
            # A slow answer is not an outage: an outage begins when the connection breaks.
            now = time.monotonic()
            away_since = away_since or (start if timed_out else now)
            outage = now - away_since
            if self.retry_timeout is not None and outage + pause > self.retry_timeout:
                raise MasterError(f"the master at {self._address()} does not answer: {why}", status)
            if outage > LOG_AFTER:
                self._log_outage(why)
            self._closing.wait(pause)
            pause = self._next(pause)

    def _is_transient(self, status: int, text: bytes) -> bool:
        if status == 400:  # The master's own refusal has a code.
            return self.retry_proxy_errors and not _get_code(text)
        return status in _TRANSIENT

    def _send(
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
        self._connection.timeout = timeout  # Applies when the connection is opened.
        if self._connection.sock is None:
            self._connection.connect()
            if self._closing.is_set():  # close() ran before this connection existed.
                self._drop()
                raise MasterError(_CLOSED)
        self._connection.sock.settimeout(timeout)  # Applies to an open connection.
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _next(self, pause: float) -> float:
        """Selects the next master. The pause grows after each round through all masters."""
        self._drop()
        self._present = (self._present + 1) % len(self._urls)
        return min(2 * pause, MAX_PAUSE) if self._present == 0 else pause

    def _base(self) -> str:
        return self._urls[self._present].path.rstrip("/")

    def _address(self) -> str:
        return self._urls[self._present].netloc

    def _refusal(self, method: str, path: str, status: int, text: bytes) -> MasterError:
        message = f"{method} {path.partition('?')[0]} was refused: {_describe(text)}"
        code = _get_code(text)
        over = self._task and (status in (401, 403) or code == _FAILED_PRECONDITION)
        error = RunIsOver(message, status) if over else make_master_error(message, status)
        error.code = code
        return error

    def _log_outage(self, why: str) -> None:
        if not self._outage_logged:
            self._outage_logged = True
            print(
                f"WARNING: master at {self._address()} does not answer: {why}",
                file=sys.stderr,
                flush=True,
            )

    def _log_recovery(self) -> None:
        if self._outage_logged:
            self._outage_logged = False
            print("INFO: master answers again", file=sys.stderr, flush=True)


def _split(url: str) -> urllib.parse.SplitResult:
    parts = urllib.parse.urlsplit(url if "//" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not the URL of a master; expected http://host:port")
    return parts


def _get_code(text: bytes) -> int:
    try:
        return int(json.loads(text)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return 0


def _describe(text: bytes) -> str:
    """Returns the message of an error response."""
    try:
        error = json.loads(text)["error"]
        return str(error.get("error") or error.get("message") or error.get("reason"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return text.decode(errors="replace").strip()[:500] or "the response has no message"


def read_retry_timeout() -> int | None:
    """Returns DET_MASTER_PATIENCE in seconds; None, for no limit, if it is absent or negative.

    The C++ Trial API reads the same variable in the same way.

    Raises:
        ValueError: The value is not a whole number.
    """
    value = os.environ.get("DET_MASTER_PATIENCE")
    if value is None:
        return None
    if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", value, re.ASCII):
        raise ValueError(
            f"$DET_MASTER_PATIENCE is {value!r}; expected whole seconds; unset it to wait forever"
        )
    seconds = int(value)
    return seconds if seconds >= 0 else None
