"""Objects in a bucket of S3, Google Cloud Storage or Azure Blob Storage, through fsspec.

The libraries s3fs, gcsfs and adlfs find the credentials, sign, retry and upload in parts. They are
optional: the extras `s3`, `gcs` and `azure` of this package. docs/checkpoint-storage.md has the rules;
base/objects is the client in C++.
"""

from __future__ import annotations

import errno
import importlib
import importlib.metadata
import logging
import os
import pathlib
import re
import threading
from collections.abc import Mapping
from types import ModuleType
from typing import Callable, Protocol, TypeVar, cast

from det._errors import CheckpointError, StorageUnreachable
from det._types import JsonMapping

# Bytes. A larger file is uploaded in parts of this size, one in memory at a time.
PART_SIZE = 64 << 20
_MAX_ATTEMPTS = 5
_MAX_ERROR_LENGTH = 300
_STALE = {"ExpiredToken", "TokenRefreshRequired", "InvalidToken"}
_LOCAL_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
_NO_S3_KEYS = (
    "no credentials for S3: set access_key and secret_key in checkpoint_storage, or "
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials, or give this machine a "
    "role"
)
_NO_GOOGLE_ACCOUNT = (
    "no credentials for Google Cloud Storage: set GOOGLE_APPLICATION_CREDENTIALS, or run "
    "gcloud auth application-default login, or give this machine a service account"
)
_NO_AZURE_IDENTITY = (
    "no credentials for Azure Blob Storage: set connection_string or credential in "
    "checkpoint_storage, or AZURE_STORAGE_KEY, or give this machine an identity"
)
# The size in bytes of an object, and a text that changes with its content.
Stamp = tuple[int, str]
_T = TypeVar("_T")


class FileSystem(Protocol):
    """The methods of an fsspec file system that are used here."""

    def pipe_file(self, path: str, value: bytes) -> object:
        """Writes an object."""
        ...

    def put_file(self, lpath: str, rpath: str, *, chunksize: int = ...) -> object:
        """Uploads a local file."""
        ...

    def cat_file(self, path: str, *, start: int | None = None, end: int | None = None) -> bytes:
        """Returns the bytes of an object from start to end."""
        ...

    def get_file(self, rpath: str, lpath: str) -> object:
        """Downloads an object into a local file."""
        ...

    def find(self, path: str, *, detail: bool) -> Mapping[str, JsonMapping]:
        """Describes the objects below a path, if `detail` is true."""
        ...

    def info(self, path: str) -> JsonMapping:
        """Describes an object."""
        ...

    def rm_file(self, path: str) -> object:
        """Removes an object."""
        ...


class S3FileSystem(FileSystem, Protocol):
    """The file system of s3fs."""

    retries: int


class GoogleFileSystem(FileSystem, Protocol):
    """The file system of gcsfs."""

    def call(self, method: str, path: str, *arguments: str, **query: int) -> object:
        """Calls the API of Google Cloud Storage."""
        ...


class AzureFileSystem(FileSystem, Protocol):
    """The file system of adlfs."""

    service_client: object


class ObjectNotFound(CheckpointError):
    """There is no object with that key."""


class ObjectStore:
    """A bucket, or a container of Azure. All calls block, and any thread may make them.

    Every method raises StorageUnreachable if the server refuses the call or does not answer, with the
    name of the bucket, the key and the server's words, never with a secret.

    Args:
        bucket: The name of the bucket or container.
        address: The URL of the server, for error messages.
        connect: Returns a new fsspec file system, with fresh credentials.
    """

    _upload_options: Mapping[str, int] = {"chunksize": PART_SIZE}

    def __init__(self, bucket: str, address: str, connect: Callable[[], FileSystem]) -> None:
        self._bucket, self._address = bucket, address
        self._connect = connect
        self._lock = threading.Lock()
        self._connected: FileSystem | None = None  # Guarded by _lock.

    def put(self, key: str, content: bytes) -> None:
        """Writes a small object; replaces one that is there."""
        self._run(f"write {key}", lambda fs: fs.pipe_file(self._path(key), content))

    def put_file(self, key: str, path: pathlib.Path) -> None:
        """Uploads a file of any size."""
        try:
            self._run(
                f"write {key}",
                lambda fs: fs.put_file(str(path), self._path(key), **self._upload_options),
                path,
            )
        except ObjectNotFound:
            # The answer that completed an upload in parts may have been lost. The repeated request
            # then finds no such upload, and the object is there.
            if path.stat().st_size <= PART_SIZE or self._size(key) != path.stat().st_size:
                raise

    def get(self, key: str) -> bytes:
        """Returns a small object. Raises ObjectNotFound."""
        return bytes(self._run(f"read {key}", lambda fs: fs.cat_file(self._path(key))))

    def get_file(self, key: str, path: pathlib.Path) -> None:
        """Downloads an object of any size into a file. Raises ObjectNotFound."""
        self._run(f"read {key}", lambda fs: fs.get_file(self._path(key), str(path)), path)

    def exists(self, key: str) -> bool:
        """Returns whether there is an object with that key, which is not empty if it is there."""
        try:
            self._run(f"read {key}", lambda fs: fs.cat_file(self._path(key), start=0, end=1))
        except ObjectNotFound:
            return False
        return True

    def get_range(self, key: str, start: int, end: int) -> bytes:
        """Returns the bytes of an object from start to end. Raises ObjectNotFound."""
        return bytes(
            self._run(f"read {key}", lambda fs: fs.cat_file(self._path(key), start=start, end=end))
        )

    def list(self, prefix: str) -> list[str]:
        """Returns the keys below a prefix that ends with a slash, in order."""
        return sorted(self.describe(prefix))

    def describe(self, prefix: str) -> dict[str, Stamp]:
        """Returns the size and version of each object below a prefix that ends with a slash."""
        start = len(self._bucket) + 1
        try:
            found = self._run(
                f"list {prefix}", lambda fs: fs.find(self._path(prefix.rstrip("/")), detail=True)
            )
        except ObjectNotFound:
            return {}
        if not found:
            self._check_bucket()
        return {
            path[start:]: (int(info.get("size") or 0), _get_version(info))
            for path, info in found.items()
            if path[start:].startswith(prefix)
        }

    def remove(self, key: str) -> None:
        """Removes an object if it is there."""
        try:
            self._run(f"remove {key}", lambda fs: fs.rm_file(self._path(key)))
        except ObjectNotFound:
            pass

    def _check_bucket(self) -> None:
        """Raises StorageUnreachable if the library lists nothing for a bucket that does not exist."""

    def _path(self, key: str) -> str:
        return f"{self._bucket}/{key}"

    def _size(self, key: str) -> int | None:
        """Returns the size of an object in bytes, None if there is none."""
        try:
            info = self._run(f"read {key}", lambda fs: fs.info(self._path(key)))
        except ObjectNotFound:
            return None
        return int(info["size"]) if info["type"] == "file" else None

    def _file_system(self, renew: bool = False) -> FileSystem:
        with self._lock:
            if self._connected is None or renew:
                self._connected = self._connect()
            return self._connected

    def _run(
        self, action: str, work: Callable[[FileSystem], _T], local: pathlib.Path | None = None
    ) -> _T:
        """Calls `work` with the file system; once more with new credentials if these have expired."""
        try:
            return work(self._file_system())
        except CheckpointError:
            raise
        except Exception as error:
            if _find_code(error) not in _STALE:
                raise self._translate(action, error, local) from error
        try:
            return work(self._file_system(renew=True))
        except CheckpointError:
            raise
        except Exception as error:
            raise self._translate(action, error, local) from error

    def _translate(self, action: str, error: Exception, local: pathlib.Path | None) -> Exception:
        if isinstance(error, OSError) and local is not None:
            if error.errno in _LOCAL_DISK or error.filename == str(local):
                return error
        code, words = _find_code(error), _describe(error)
        text = f"{self._bucket} at {self._address}: cannot {action}: {words}"
        if code in ("NoSuchBucket", "ContainerNotFound") or "No such container" in words:
            return StorageUnreachable(f"{text}; create the bucket, or name another one")
        if isinstance(error, FileNotFoundError):
            return ObjectNotFound(text)
        if type(error).__name__ in ("NoCredentialsError", "CredentialRetrievalError"):
            return StorageUnreachable(_NO_S3_KEYS)
        if type(error).__name__ == "ClientAuthenticationError" and not code:
            return StorageUnreachable(f"{_NO_AZURE_IDENTITY} ({words})")
        if _is_refusal(error):
            return StorageUnreachable(f"{text}; check the credentials and their permissions")
        return StorageUnreachable(text)


class S3Store(ObjectStore):
    """A bucket of S3, or of a server with the same API.

    Credentials are those of checkpoint_storage, else what botocore finds.
    """

    def __init__(self, config: JsonMapping) -> None:
        address = str(config.get("endpoint_url") or "").rstrip("/")
        if address and not re.fullmatch("https?://[^/]+", address):
            raise CheckpointError(
                f"checkpoint_storage.endpoint_url: {address!r} is not the URL of a server; expected, for "
                "example, https://minio.example.org:9000"
            )
        s3fs = _import("s3fs", "s3")

        def connect() -> FileSystem:
            client = {}
            if os.environ.get("AWS_REGION"):  # botocore does not read it.
                client["region_name"] = os.environ["AWS_REGION"]
            fs: S3FileSystem = s3fs.S3FileSystem(
                key=config.get("access_key") or None,
                secret=config.get("secret_key") or None,
                endpoint_url=address or None,
                client_kwargs=client,
                config_kwargs={
                    "s3": {"addressing_style": "path", "payload_signing_enabled": True},
                    "retries": {"total_max_attempts": _MAX_ATTEMPTS, "mode": "standard"},
                    # Other servers may not support checksums in trailers; the manifest has SHA-256.
                    "request_checksum_calculation": "when_required",
                    "response_checksum_validation": "when_required",
                },
                max_concurrency=1,
                use_listings_cache=False,
                skip_instance_cache=True,
            )
            # In addition to botocore's retries: for connections that break while a body is read.
            fs.retries = 2
            return fs

        super().__init__(str(config["bucket"]), address or "Amazon S3", connect)


class GoogleStore(ObjectStore):
    """A bucket of Google Cloud Storage, with the application default credentials.

    An emulator that STORAGE_EMULATOR_HOST names needs no credentials.
    """

    def __init__(self, config: JsonMapping) -> None:
        core = _import("gcsfs.core", "gcs")
        address = os.environ.get("STORAGE_EMULATOR_HOST") or "https://storage.googleapis.com"

        def connect() -> FileSystem:
            logger = logging.getLogger("gcsfs")
            if logger.level == logging.NOTSET:
                logger.setLevel(logging.CRITICAL)  # It logs a stack trace for each refused call.
            fs: FileSystem = core.GCSFileSystem(
                token=_find_google_credentials(), use_listings_cache=False, skip_instance_cache=True
            )
            return fs

        super().__init__(
            str(config["bucket"]), address if "://" in address else f"http://{address}", connect
        )

    def _run(
        self, action: str, work: Callable[[FileSystem], _T], local: pathlib.Path | None = None
    ) -> _T:
        try:
            return super()._run(action, work, local)
        except ObjectNotFound:
            self._check_bucket()  # gcsfs raises the same error for a missing bucket.
            raise

    def _list_first(self, fs: FileSystem) -> object:
        return cast(GoogleFileSystem, fs).call("GET", "b/{}/o", self._bucket, maxResults=1)

    def _check_bucket(self) -> None:
        try:
            super()._run("list", self._list_first)
        except ObjectNotFound:
            raise StorageUnreachable(
                f"{self._bucket} at {self._address}: there is no such bucket; create the bucket, or name "
                "another one"
            ) from None


class AzureStore(ObjectStore):
    """A container of Azure Blob Storage.

    Credentials are those of checkpoint_storage, else AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, else
    what DefaultAzureCredential finds: the environment, a workload identity, the machine's identity.
    """

    _upload_options: Mapping[str, int] = {}  # The size of the parts is an option of the client.

    def __init__(self, config: JsonMapping) -> None:
        connection = str(config.get("connection_string") or "")
        url = str(config.get("account_url") or "").rstrip("/")
        named = re.search("(^|;) *(AccountName|BlobEndpoint)=", connection)
        if not named and not url.startswith(("http://", "https://")):
            raise CheckpointError(
                "checkpoint_storage: azure needs connection_string with AccountName or BlobEndpoint, or "
                "account_url, for example https://ACCOUNT.blob.core.windows.net"
            )
        adlfs = _import("adlfs", "azure")
        blob = _import("azure.storage.blob.aio", "azure")

        def connect() -> FileSystem:
            fs: AzureFileSystem = adlfs.AzureBlobFileSystem(
                account_name="unused", anon=True, use_listings_cache=False, skip_instance_cache=True
            )
            options = {
                "max_block_size": PART_SIZE,
                "max_single_put_size": PART_SIZE,
                # A part is read into memory: one that is a stream cannot be sent again.
                "min_large_block_upload_threshold": PART_SIZE + 1,
                "retry_policy": blob.ExponentialRetry(
                    initial_backoff=0.5,
                    increment_base=2,
                    random_jitter_range=0.5,
                    retry_total=_MAX_ATTEMPTS - 1,
                ),
            }
            try:
                if connection:
                    client = blob.BlobServiceClient.from_connection_string(connection, **options)
                else:
                    credential = _find_azure_credential(config)
                    client = blob.BlobServiceClient(url, credential, **options)
            except ValueError as error:
                raise CheckpointError(f"checkpoint_storage: {error}") from None
            # The client that adlfs makes takes no options and no URL with a path.
            fs.service_client = client
            return fs

        address = url or _get_blob_endpoint(connection)
        super().__init__(str(config["container"]), address, connect)

    def _check_bucket(self) -> None:
        self.exists(".no-such-blob")


_STORES: dict[str, Callable[[JsonMapping], ObjectStore]] = {
    "s3": S3Store,
    "gcs": GoogleStore,
    "azure": AzureStore,
}


def is_object_store(config: JsonMapping) -> bool:
    """Returns whether a checkpoint_storage is a bucket."""
    return config.get("type") in _STORES


def open_object_store(config: JsonMapping) -> ObjectStore:
    """Opens a checkpoint_storage of type s3, gcs or azure. Makes no connection yet.

    Raises:
        CheckpointError: A field is missing or invalid, or the library for this type is not installed.
    """
    name = "container" if config["type"] == "azure" else "bucket"
    if not config.get(name):
        raise CheckpointError(f"checkpoint_storage.{name}: missing")
    return _STORES[config["type"]](config)


def get_prefix(config: JsonMapping) -> str:
    """Returns what all keys of a checkpoint_storage begin with: empty, or ending with a slash."""
    prefix = str(config.get("prefix") or "")
    return prefix + "/" if prefix and not prefix.endswith("/") else prefix


def _get_version(info: JsonMapping) -> str:
    for name in ("ETag", "etag", "LastModified", "last_modified", "updated"):
        if info.get(name):
            return str(info[name])
    return ""


def _import(module: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = {"s3": "s3fs", "gcs": "gcsfs", "azure": "adlfs"}[extra]
        raise CheckpointError(
            f"checkpoint_storage.type {extra} needs the Python package {library} ({error}): run "
            f"{_install_command(extra, library)} in the Python environment of the task"
        ) from None


def _install_command(extra: str, library: str) -> str:
    """Returns the command that installs what an extra needs.

    pip knows the extra only if this package is installed, not if it is on PYTHONPATH.
    """
    try:
        importlib.metadata.version("resolute")
    except importlib.metadata.PackageNotFoundError:
        return f"pip install {library}"
    return f"pip install 'resolute[{extra}]'"


def _find_google_credentials() -> object:
    """Returns the application default credentials; "anon" for an emulator if there are none."""
    auth = importlib.import_module("google.auth")
    scopes = ["https://www.googleapis.com/auth/devstorage.read_write"]
    file = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS") or os.path.expanduser(
        "~/.config/gcloud/application_default_credentials.json"
    )
    if os.environ.get("STORAGE_EMULATOR_HOST") and not os.environ.get("GCE_METADATA_HOST"):
        if not os.path.isfile(file):
            return "anon"
    try:
        credentials, _ = auth.default(scopes=scopes)
    except (auth.exceptions.DefaultCredentialsError, ValueError) as error:
        if os.path.isfile(file):
            raise StorageUnreachable(f"invalid Google credentials: {_describe(error)}") from None
        raise StorageUnreachable(f"{_NO_GOOGLE_ACCOUNT} ({_describe(error)})") from None
    return credentials


def _find_azure_credential(config: JsonMapping) -> object:
    """Returns an account key, a shared access signature, or a chain of identities."""
    given = str(
        config.get("credential")
        or os.environ.get("AZURE_STORAGE_KEY")
        or os.environ.get("AZURE_STORAGE_SAS_TOKEN")
        or ""
    )
    if "sig=" in given:
        return importlib.import_module("azure.core.credentials").AzureSasCredential(
            given.lstrip("?")
        )
    return given or importlib.import_module("azure.identity.aio").DefaultAzureCredential()


def _get_blob_endpoint(connection: str) -> str:
    parts = dict(part.partition("=")[::2] for part in connection.split(";"))
    suffix = parts.get("EndpointSuffix") or "core.windows.net"
    address = parts.get("BlobEndpoint") or f"https://{parts.get('AccountName')}.blob.{suffix}"
    return address.rstrip("/")


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _find_code(error: Exception) -> str:
    """Returns the service's code of an error, for example NoSuchBucket; empty if it has none."""
    for each in _causes(error):
        response = getattr(each, "response", None)  # botocore
        code = response.get("Error", {}).get("Code") if isinstance(response, dict) else None
        code = code or getattr(each, "error_code", None)  # azure.core
        if code:
            return str(getattr(code, "value", code))
    return ""


def _is_refusal(error: Exception) -> bool:
    for each in _causes(error):
        status = getattr(each, "status_code", None) or getattr(each, "code", None)
        if status in (401, 403) or isinstance(each, PermissionError):
            return True
    return str(error).startswith("Forbidden")  # gcsfs


def _describe(error: Exception) -> str:
    """Returns the first line of an error, with the service's code."""
    text = str(error).strip() or type(error).__name__
    line = text.splitlines()[0][:_MAX_ERROR_LENGTH]
    code = _find_code(error)
    return line if not code or code in line else f"{code}: {line}"
