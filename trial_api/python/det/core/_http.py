"""One HTTP request and its answer, for object stores and for who lends their credentials."""

from __future__ import annotations

import dataclasses
import urllib.error
import urllib.request
from typing import Any

_TIMEOUT = 60.0  # Seconds without a byte.
_SLOWEST = 256 << 10  # Bytes a second: a body's time is measured as a whole.


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict[str, str]  # Names in small letters.
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def passes(self) -> bool:
        """Whether the same may be answered otherwise in a moment."""
        return self.status in (408, 429) or self.status >= 500


class NoAnswer(Exception):
    """No connection, or one that broke off."""


class _KeepRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_DIRECT = urllib.request.build_opener(_KeepRedirects, urllib.request.ProxyHandler({}))
_ANY_WAY = urllib.request.build_opener(_KeepRedirects)


def send(
    method: str,
    url: str,
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
    local: bool = False,
    timeout: float = _TIMEOUT,
) -> Answer:
    """Whatever the status is. local: of this machine's own network, past any proxy."""
    timeout += len(body or b"") / _SLOWEST
    request = urllib.request.Request(url, data=body, headers=headers or {}, method=method)
    try:
        with (_DIRECT if local else _ANY_WAY).open(request, timeout=timeout) as answer:
            return _answer(answer)
    except urllib.error.HTTPError as error:
        with error:
            return _answer(error)
    except (OSError, urllib.error.URLError) as error:
        raise NoAnswer(str(getattr(error, "reason", None) or error)) from None
    except Exception as error:  # http.client's; its words may have a header that is secret.
        raise NoAnswer(type(error).__name__) from None


def _answer(answer: Any) -> Answer:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return Answer(int(answer.status), headers, answer.read())
