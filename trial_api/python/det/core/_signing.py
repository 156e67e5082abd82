"""How calls of object stores are signed: S3's signature version 4 and Azure's shared key.

Pure: the time comes from outside. `Call` is one call before it is sent.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import hashlib
import hmac
import urllib.parse

AZURE_VERSION = "2021-08-06"
_PLAIN = "-_.~"


@dataclasses.dataclass
class Call:
    """path: from the host on, percent-encoded. query, headers: as they are."""

    method: str
    path: str
    query: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    body: bytes = b""


@dataclasses.dataclass(frozen=True)
class S3Keys:
    access_key: str
    secret_key: str
    session_token: str = ""  # Of keys that are lent for a while.

    def __repr__(self) -> str:
        return "S3Keys(...)"


def quote(text: str, also: str = "") -> str:
    return urllib.parse.quote(text, safe=_PLAIN + also)


def query_text(query: list[tuple[str, str]]) -> str:
    return "&".join(f"{quote(name)}={quote(value)}" for name, value in query)


def sign_s3(call: Call, host: str, keys: S3Keys, region: str, now: datetime.datetime) -> None:
    """Adds the headers that prove who makes this call to `host`. `now`: in UTC.

    docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
    """
    at = now.strftime("%Y%m%dT%H%M%SZ")
    content = hashlib.sha256(call.body).hexdigest()
    call.headers["x-amz-content-sha256"] = content
    call.headers["x-amz-date"] = at
    if keys.session_token:
        call.headers["x-amz-security-token"] = keys.session_token
    headers = {"host": host}
    headers.update({name.lower(): value.strip() for name, value in call.headers.items()})
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    query = "&".join(sorted(f"{quote(name)}={quote(value)}" for name, value in call.query))
    request = "\n".join([call.method, call.path, query, lines, names, content])
    scope = f"{at[:8]}/{region}/s3/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{digest}"
    key = ("AWS4" + keys.secret_key).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    signature = hmac.new(key, text.encode(), "sha256").hexdigest()
    call.headers["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={keys.access_key}/{scope},"
        f"SignedHeaders={names},Signature={signature}"
    )


def sign_azure(call: Call, account: str, key: bytes | None, now: datetime.datetime) -> None:
    """Adds x-ms-date, x-ms-version and, with a key, the signature. `now`: in UTC.

    learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
    """
    days = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    call.headers["x-ms-date"] = (
        f"{days[now.weekday()]}, {now.day:02} {months[now.month - 1]} {now.year} {now:%H:%M:%S} GMT"
    )
    call.headers["x-ms-version"] = AZURE_VERSION
    if key is None:
        return
    headers = {name.lower(): value for name, value in call.headers.items()}
    length = str(len(call.body)) if call.body else ""
    # Encoding, language, length, MD5, type, date, four conditions, range.
    lines = [call.method, "", "", length, "", headers.get("content-type", ""), "", "", "", "", ""]
    lines.append(headers.get("range", ""))
    lines += [f"{name}:{headers[name]}" for name in sorted(headers) if name.startswith("x-ms-")]
    resource = f"/{account}{call.path}"
    for name, value in sorted((name.lower(), value) for name, value in call.query):
        resource += f"\n{name}:{value}"
    text = "\n".join(lines + [resource])
    signature = base64.b64encode(hmac.new(key, text.encode(), "sha256").digest()).decode()
    call.headers["Authorization"] = f"SharedKey {account}:{signature}"
