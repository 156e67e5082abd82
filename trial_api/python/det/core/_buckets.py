"""Buckets of each kind: S3 and what speaks as it does, Google Cloud Storage, Azure Blob Storage.

docs/checkpoint-storage.md says how each is addressed and signed.
"""

from __future__ import annotations

import base64
import builtins
import datetime
import os
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any, Callable

from det._errors import CheckpointError
from det.core import _credentials
from det.core._http import Answer
from det.core._objects import FIRST_PAUSE, Bucket, xml_value
from det.core._signing import Call, S3Keys, quote, sign_azure, sign_s3

_COMPLETIONS = 3


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
        self._given: S3Keys | None = None
        if config.get("access_key"):
            self._given = S3Keys(str(config["access_key"]), str(config.get("secret_key") or ""))
        self._lent = _credentials.Lent(_credentials.ask_s3)

    def put(self, key: str, content: bytes) -> None:
        call = self._call("PUT", key)
        call.headers["Content-Type"] = "application/octet-stream"
        call.body = content
        self._ask(f"write {key}", call)

    def list(self, prefix: str) -> builtins.list[str]:
        query = [("list-type", "2"), ("prefix", prefix)]
        return self._pages(prefix, query, ("continuation-token", "Key", "NextContinuationToken"))

    def _put_parts(self, key: str, parts: Iterator[bytes], size: int) -> None:
        begun = self._ask(f"write {key}", self._call("POST", key, [("uploads", "")]))
        upload = ("uploadId", xml_value(begun.body, "UploadId"))
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
        only what says so.
        """
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
            self.pause(FIRST_PAUSE)

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
        self._is_amazons = False
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

    def list(self, prefix: str) -> builtins.list[str]:
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


def azure_account(config: Mapping[str, Any]) -> tuple[str, str, bytes | None, str]:
    """The Blob service's URL, the account, its key (None without one) and a shared access signature
    (empty without one).
    """
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


_KINDS: dict[str, Callable[[Mapping[str, Any]], Bucket]] = {
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


def prefix_of(config: Mapping[str, Any]) -> str:
    """What each key below a configuration's place begins with: empty, or with a slash at the end."""
    prefix = str(config.get("prefix") or "")
    return prefix + "/" if prefix and not prefix.endswith("/") else prefix
