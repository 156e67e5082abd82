"""The connection of a user to a master: address, token, and the file in which `det` stores it."""

from __future__ import annotations

import enum
import json
import os
import pathlib
import urllib.parse
import uuid
from collections.abc import Iterator
from typing import Any

from det._errors import MasterError
from det._master import Master
from det._types import Json, JsonObject

RETRY_TIMEOUT = 60.0  # Seconds after which a call fails if no master answers.
_PAGE = 500


class Session:
    """Calls as one user."""

    def __init__(self, master: Master) -> None:
        self._master = master

    def close(self) -> None:
        """Closes the connection. A call in progress fails."""
        self._master.close()

    def get(self, path: str, **query: object) -> JsonObject:
        """Sends a GET request."""
        return self._master.get(path + _query(query))

    def post(self, path: str, body: Json = None) -> JsonObject:
        """Sends a POST request. If its answer is lost, the repeated request has no further effect."""
        # A repeated request, after a lost answer, has the same key.
        key = {"Idempotency-Key": str(uuid.uuid4())}
        return self._master.call("POST", path, {} if body is None else body, headers=key)

    def patch(self, path: str, body: Json) -> JsonObject:
        """Sends a PATCH request."""
        return self._master.call("PATCH", path, body)

    def put(self, path: str, body: Json) -> JsonObject:
        """Sends a PUT request."""
        return self._master.call("PUT", path, body)

    def delete(self, path: str, body: Json = None) -> JsonObject:
        """Sends a DELETE request."""
        return self._master.call("DELETE", path, body)

    def lines(self, path: str, **query: object) -> Iterator[JsonObject]:
        """Yields the objects of a stream, over a connection of its own."""
        with self._master.another() as master:
            yield from master.lines(path + _query(query))

    def pages(self, path: str, name: str, **query: object) -> Iterator[Any]:
        """Yields all elements of a list, page by page: objects, names or IDs."""
        offset = 0
        while True:
            data = self.get(path, offset=offset, limit=_PAGE, **query)
            found: list[Any] = data.get(name) or []
            yield from found
            offset += len(found)
            if not found or offset >= int((data.get("pagination") or {}).get("total", offset)):
                return


def connect(
    master: str | None = None,
    user: str | None = None,
    password: str | None = None,
    cert_path: str | None = None,
    cert_name: str | None = None,
) -> Session:
    """Opens a session.

    Args:
        master: The URL of the master. Default: DET_MASTER.
        user: The user. Default: DET_USER.
        password: The password. Default: DET_PASS. Without any, DET_USER_TOKEN or the token of `det
            user login` is used.
        cert_path: A PEM file with the CA certificates of the master. Default: DET_MASTER_CERT_FILE.
        cert_name: The name in the master's certificate. Default: DET_MASTER_CERT_NAME.

    Raises:
        MasterError: The login failed, or no credentials were found.
    """
    url = canonical_url(master or os.environ.get("DET_MASTER") or "http://localhost:8080")
    cert = cert_path or os.environ.get("DET_MASTER_CERT_FILE")
    name = cert_name or os.environ.get("DET_MASTER_CERT_NAME")
    user = user or os.environ.get("DET_USER")
    password = password if password is not None else os.environ.get("DET_PASS")
    token = None if password is not None else os.environ.get("DET_USER_TOKEN")
    token = token or (cached_token(url, user) if password is None else None)
    if token is None:
        if user is None or password is None:
            raise MasterError(
                f"not logged in at {url}: call login(user=..., password=...), set "
                "DET_USER_TOKEN, or run det user login",
                401,
            )
        with Master([url], {}, cert, name, RETRY_TIMEOUT) as login:
            answer = login.post("/api/v1/auth/login", {"username": user, "password": password})
        token = str(answer["token"])
    return Session(Master([url], {"Authorization": f"Bearer {token}"}, cert, name, RETRY_TIMEOUT))


def canonical_url(url: str) -> str:
    """Adds the scheme and port to a URL."""
    parts = urllib.parse.urlsplit(url if "//" in url else f"http://{url}")
    port = parts.port or {"https": 443}.get(parts.scheme, 80 if "//" in url else 8080)
    return f"{parts.scheme}://{parts.hostname}:{port}{parts.path.rstrip('/')}"


def cached_token(url: str, user: str | None) -> str | None:
    """Returns the token that `det` has stored; that of the active user if no user is given."""
    folder = os.environ.get("DET_DEBUG_CONFIG_PATH")
    if not folder:
        config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        folder = os.path.join(config, "determined")
    try:
        data = json.loads(pathlib.Path(folder, "auth.json").read_text(encoding="utf-8"))
        known = data["masters"][url]
        token = known["tokens"].get(user or known.get("active_user"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return str(token) if token else None


def _query(query: dict[str, object]) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    for name, value in given.items():
        if isinstance(value, bool):
            given[name] = str(value).lower()
        elif isinstance(value, enum.Enum):
            given[name] = value.value
    return "?" + urllib.parse.urlencode(given, doseq=True) if given else ""
