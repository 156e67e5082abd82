"""Buckets of object stores: S3 and what speaks as it does, Google Cloud Storage, Azure Blob Storage.

docs/checkpoint-storage.md says how each is addressed and signed; base/objects is the same in C++.
"""

from __future__ import annotations

import abc
import base64
import datetime
import html
import os
import pathlib
import re
import time
import urllib.parse
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from det._errors import CheckpointError, StorageUnreachable
from det.core import _credentials
from det.core._http import Answer, NoAnswer, send
from det.core._signing import Call, S3Keys, query_text, quote, sign_azure, sign_s3

PART = 64 << 20  # A larger file goes in parts of this size, one in memory at a time.
_MOST_PARTS = 9000  # S3 takes 10,000.
_READ = 16 << 20
_COMPLETIONS = 3
_TRIES = 5
_FIRST_PAUSE = 0.5  # Seconds; twice as long before each further try.
_STALE = ("ExpiredToken", "TokenRefreshRequired", "InvalidToken")


class NoObject(CheckpointError):
    """There is no object of that key."""


class Bucket(abc.ABC):
    """All calls block; any thread. What fails for the moment is tried several times. Raises
    CheckpointError naming the bucket, the object and what the server said, never a secret."""

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
    def list(self, prefix: str) -> List[str]:
        """The keys that begin so, in order."""

    @abc.abstractmethod
    def _sign(self, call: Call, host: str, now: datetime.datetime) -> None: ...

    def _renew(self) -> None:
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

    def _call(self, method: str, key: str, query: Optional[List[Tuple[str, str]]] = None) -> Call:
        return Call(method, self._path + (f"/{quote(key, '/')}" if key else ""), query or [])

    def _pages(
        self, prefix: str, query: List[Tuple[str, str]], names: Tuple[str, str, str]
    ) -> List[str]:
        """names: of the parameter that asks for a further page, and of the elements with a key and
        with what to ask for."""
        after, key, following = names
        keys: List[str] = []
        more: List[Tuple[str, str]] = []
        while True:
            answer = self._ask(f"list {prefix}", self._call("GET", "", query + more))
            keys += _values(answer.body, key)
            there = _value(answer.body, following)
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
        pause = _FIRST_PAUSE
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
        code, said = _value(answer.body, "Code"), _value(answer.body, "Message")
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


def _amazons(region: str) -> str:
    return f"https://s3.{region}.amazonaws.com"


class S3Bucket(Bucket):
    """S3's REST interface, as Amazon and many others speak it."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        name = str(config.get("bucket") or "")
        self._region = _credentials.s3_region()
        address = str(config.get("endpoint_url") or "").rstrip("/")
        if address and not re.fullmatch("https?://[^/]+", address):  # What is signed has no path.
            raise CheckpointError(
                f"checkpoint_storage.endpoint_url: {address!r} is no URL of a server; expected one "
                "such as https://minio.example.org:9000"
            )
        self._is_amazons = not address
        super().__init__(
            address or _amazons(self._region),
            f"bucket {name}",
            "/" + quote(name, "/"),
        )
        self._given: Optional[S3Keys] = None
        if config.get("access_key"):
            self._given = S3Keys(str(config["access_key"]), str(config.get("secret_key") or ""))
        self._lent = _credentials.Lent(_credentials.ask_s3)

    def put(self, key: str, content: bytes) -> None:
        call = self._call("PUT", key)
        call.headers["Content-Type"] = "application/octet-stream"
        call.body = content
        self._ask(f"write {key}", call)

    def list(self, prefix: str) -> List[str]:
        query = [("list-type", "2"), ("prefix", prefix)]
        return self._pages(prefix, query, ("continuation-token", "Key", "NextContinuationToken"))

    def _put_parts(self, key: str, parts: Iterator[bytes], size: int) -> None:
        begun = self._ask(f"write {key}", self._call("POST", key, [("uploads", "")]))
        upload = ("uploadId", _value(begun.body, "UploadId"))
        try:
            listed = ""
            for number, part in enumerate(parts, 1):
                call = self._call("PUT", key, [("partNumber", str(number)), upload])
                call.headers["Content-Type"] = "application/octet-stream"
                call.body = part
                etag = self._ask(f"write {key}", call).headers.get("etag", "")
                listed += f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"
            call = self._call("POST", key, [upload])
            call.headers["Content-Type"] = "application/xml"
            call.body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
            self._complete(key, call, size)
        except BaseException:
            try:
                self._send(self._call("DELETE", key, [upload]))
            except CheckpointError:
                pass  # What failed first is said.
            raise

    def _complete(self, key: str, call: Call, size: int) -> None:
        """S3 may find out that it cannot put the parts together once it has begun to answer: good is
        only what says so."""
        for left in reversed(range(_COMPLETIONS)):
            answer = self._send(call)
            if answer.ok and b"<CompleteMultipartUploadResult" in answer.body:
                return
            # The answer that it is there may have been lost, and asking again finds no upload.
            if answer.status == 404 and len(self.read(key, size - 1, 2)) == 1:
                return
            if answer.ok:
                answer.status = 500
            if left == 0 or not answer.passes:
                self._judge(f"write {key}", answer)
            self.pause(_FIRST_PAUSE)

    def _send(self, call: Call) -> Answer:
        """Once more where the server says that the bucket lies in another region."""
        answer = super()._send(call)
        region = answer.headers.get("x-amz-bucket-region", "")
        if answer.ok or not region or region == self._region:
            return answer
        self._region = region
        if self._is_amazons:
            self._address = _amazons(region)
        return super()._send(call)

    def _sign(self, call: Call, host: str, now: datetime.datetime) -> None:
        sign_s3(call, host, self._given or self._lent.get(), self._region, now)

    def _renew(self) -> None:
        self._lent.forget()


class GoogleBucket(S3Bucket):
    """Cloud Storage's XML interface, which is S3's with another proof."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__({"bucket": config.get("bucket")})
        address = os.environ.get("STORAGE_EMULATOR_HOST") or "https://storage.googleapis.com"
        self._address = (address if "://" in address else f"http://{address}").rstrip("/")
        self._lent = _credentials.Lent(_credentials.ask_google)

    def _sign(self, call: Call, host: str, now: datetime.datetime) -> None:
        token = self._lent.get()
        if token:
            call.headers["Authorization"] = f"Bearer {token}"


class AzureBucket(Bucket):
    """A container of Azure's Blob service."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        url, self._account, self._key, self._sas = azure_account(config)
        container = str(config.get("container") or "")
        parts = urllib.parse.urlsplit(url)
        super().__init__(
            f"{parts.scheme}://{parts.netloc}",
            f"container {container}",
            f"{parts.path.rstrip('/')}/{quote(container, '/')}",
        )
        self._lent = _credentials.Lent(_credentials.ask_azure)

    def put(self, key: str, content: bytes) -> None:
        call = self._call("PUT", key)
        call.headers.update(
            {"Content-Type": "application/octet-stream", "x-ms-blob-type": "BlockBlob"}
        )
        call.body = content
        self._ask(f"write {key}", call)

    def list(self, prefix: str) -> List[str]:
        query = [("restype", "container"), ("comp", "list"), ("prefix", prefix)]
        return self._pages(prefix, query, ("marker", "Name", "NextMarker"))

    def _put_parts(self, key: str, parts: Iterator[bytes], size: int) -> None:
        """Blocks that no list names go by themselves after a week."""
        listed = ""
        for number, part in enumerate(parts, 1):
            block = base64.b64encode(f"{number:08}".encode()).decode()
            listed += f"<Latest>{block}</Latest>"
            call = self._call("PUT", key, [("comp", "block"), ("blockid", block)])
            call.headers["Content-Type"] = "application/octet-stream"
            call.body = part
            self._ask(f"write {key}", call)
        call = self._call("PUT", key, [("comp", "blocklist")])
        call.headers["Content-Type"] = "application/xml"
        call.body = f"<BlockList>{listed}</BlockList>".encode()
        self._ask(f"write {key}", call)

    def _sign(self, call: Call, host: str, now: datetime.datetime) -> None:
        if self._sas:
            call.query += urllib.parse.parse_qsl(self._sas, keep_blank_values=True)
        elif self._key is None:
            call.headers["Authorization"] = f"Bearer {self._lent.get()}"
        sign_azure(call, self._account, self._key if not self._sas else None, now)

    def _renew(self) -> None:
        self._lent.forget()


def azure_account(config: Mapping[str, Any]) -> Tuple[str, str, Optional[bytes], str]:
    """The Blob service's URL, the account, its key (None without one) and a shared access signature
    (empty without one)."""
    text = str(config.get("connection_string") or "")
    if text:
        parts = dict(part.partition("=")[::2] for part in text.split(";") if part.strip())
        name, url = parts.get("AccountName", ""), parts.get("BlobEndpoint", "")
        if not url and name:
            protocol = parts.get("DefaultEndpointsProtocol") or "https"
            url = f"{protocol}://{name}.blob.{parts.get('EndpointSuffix') or 'core.windows.net'}"
        key, sas = parts.get("AccountKey", ""), parts.get("SharedAccessSignature", "")
    else:
        url, name = str(config.get("account_url") or ""), ""
        given = str(config.get("credential") or "")
        given = given or os.environ.get("AZURE_STORAGE_KEY", "")
        given = given or os.environ.get("AZURE_STORAGE_SAS_TOKEN", "")
        key, sas = ("", given) if "sig=" in given else (given, "")
    if not url.startswith(("http://", "https://")):
        raise CheckpointError(
            "checkpoint_storage: azure needs connection_string with AccountName or BlobEndpoint, or "
            "account_url such as https://ACCOUNT.blob.core.windows.net"
        )
    url = url.rstrip("/")
    rest = url.split("://", 1)[1]
    name = name or (rest.split("/", 1)[1] if "/" in rest else rest.split(".", 1)[0])
    try:
        return url, name, base64.b64decode(key, validate=True) if key else None, sas.lstrip("?")
    except ValueError:
        raise CheckpointError(
            "checkpoint_storage: the account key is no base64; copy it from the account's access keys"
        ) from None


_KINDS: Dict[str, Callable[[Mapping[str, Any]], Bucket]] = {
    "s3": S3Bucket,
    "gcs": GoogleBucket,
    "azure": AzureBucket,
}


def is_bucket(config: Mapping[str, Any]) -> bool:
    return config.get("type") in _KINDS


def open_bucket(config: Mapping[str, Any]) -> Bucket:
    """Of a configuration's checkpoint_storage, of type s3, gcs or azure. Does not go there yet."""
    name = "container" if config["type"] == "azure" else "bucket"
    if not config.get(name):
        raise CheckpointError(f"checkpoint_storage.{name}: missing")
    return _KINDS[config["type"]](config)


def _parts(file: BinaryIO, size: int) -> Iterator[bytes]:
    while True:
        part = file.read(size)
        if not part:
            return
        yield part


def _values(xml: bytes, name: str) -> List[str]:
    found = re.findall(f"<{name}>([^<]*)</{name}>", xml.decode(errors="replace"))
    return [html.unescape(each) for each in found]


def _value(xml: bytes, name: str) -> str:
    values = _values(xml, name)
    return values[0] if values else ""


def _is_stale(answer: Answer) -> bool:
    """Of credentials that were good and no longer are."""
    if answer.status in (400, 403):
        return _value(answer.body, "Code") in _STALE
    return answer.status == 401
