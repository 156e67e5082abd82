"""Where keys and tokens for object stores come from: docs/checkpoint-storage.md.

Each source is asked again two minutes before what it lent ends. Raises CheckpointError saying what to
give, NoAnswer where asking again may help; a message never holds a secret.
"""

from __future__ import annotations

import base64
import configparser
import datetime
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import urllib.parse
from typing import Any, Callable

from det._errors import CheckpointError
from det.core._http import Answer, NoAnswer, send
from det.core._signing import S3Keys, query_text

_RENEW_BEFORE = 120.0
_FOREVER = float("inf")
_SOON = 2.0  # Seconds for a service of this machine's own network.
_NO_KEYS = (
    "there are no keys for S3: give access_key and secret_key in checkpoint_storage, or set "
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials, or give this machine "
    "a role"
)
_NO_GOOGLE = (
    "there are no credentials for Google Cloud Storage: set GOOGLE_APPLICATION_CREDENTIALS, or run "
    "gcloud auth application-default login, or give this machine an account"
)
_NO_AZURE = (
    "there are no credentials for Azure's storage: give connection_string, or credential, in "
    "checkpoint_storage, or set AZURE_STORAGE_KEY, or give this machine an identity"
)


class Lent:
    """Something that `ask` gives for a while: (what, when it ends by time.time()). Any thread."""

    def __init__(self, ask: Callable[[], tuple[Any, float]]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._what: Any = None
        self._until = 0.0

    def get(self) -> Any:
        with self._lock:
            if time.time() >= self._until - _RENEW_BEFORE:
                self._what, self._until = self._ask()
            return self._what

    def forget(self) -> None:
        """It is no longer taken."""
        with self._lock:
            self._until = 0.0


def s3_region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"


def ask_s3() -> tuple[S3Keys, float]:
    env = os.environ
    if env.get("AWS_ACCESS_KEY_ID"):
        return (
            S3Keys(
                env["AWS_ACCESS_KEY_ID"],
                env.get("AWS_SECRET_ACCESS_KEY", ""),
                env.get("AWS_SESSION_TOKEN", ""),
            ),
            _FOREVER,
        )
    from_file = _s3_of_file()
    if from_file is not None:
        return from_file, _FOREVER
    lent = _s3_of_container() or _s3_of_machine()
    if lent is None:
        raise CheckpointError(_NO_KEYS)
    return lent


def _s3_of_file() -> S3Keys | None:
    path = os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or os.path.expanduser("~/.aws/credentials")
    parser = configparser.RawConfigParser()
    try:
        parser.read(path, encoding="utf-8")
        profile = parser[os.environ.get("AWS_PROFILE") or "default"]
    except (configparser.Error, KeyError, OSError):
        return None
    if not profile.get("aws_access_key_id"):
        return None
    return S3Keys(
        profile["aws_access_key_id"],
        profile.get("aws_secret_access_key", ""),
        profile.get("aws_session_token", ""),
    )


def _s3_of_container() -> tuple[S3Keys, float] | None:
    relative = os.environ.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
    url = os.environ.get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
    if relative:
        url = "http://169.254.170.2" + relative
    if not url:
        return None
    proof = os.environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN")
    return _s3_of(_ask(url, {"Authorization": proof} if proof else {}))


def _s3_of_machine() -> tuple[S3Keys, float] | None:
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        return None
    base = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or "http://169.254.169.254"
    token = _ask(
        base + "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "21600"}, "PUT"
    )
    if token is None or not token.ok:
        return None
    proof = {"X-aws-ec2-metadata-token": token.body.decode()}
    roles = base + "/latest/meta-data/iam/security-credentials/"
    names = _ask(roles, proof)
    if names is None or not names.ok or not names.body.strip():
        return None
    return _s3_of(_ask(roles + names.body.decode().split("\n")[0].strip(), proof))


def _s3_of(answer: Answer | None) -> tuple[S3Keys, float] | None:
    told = _json(answer) if answer is not None and answer.ok else {}
    if not told.get("AccessKeyId"):
        return None
    keys = S3Keys(told["AccessKeyId"], told.get("SecretAccessKey", ""), told.get("Token", ""))
    try:
        end = datetime.datetime.strptime(told["Expiration"], "%Y-%m-%dT%H:%M:%SZ")
    except (KeyError, ValueError):
        return keys, _FOREVER
    return keys, end.replace(tzinfo=datetime.timezone.utc).timestamp()


def ask_google() -> tuple[str, float]:
    """A token; an empty one where an emulator asks for none."""
    named = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    path = pathlib.Path(
        named or os.path.expanduser("~/.config/gcloud/application_default_credentials.json")
    )
    if named or path.is_file():
        return _google_of_file(path)
    host = os.environ.get("GCE_METADATA_HOST")
    if not host and os.environ.get("STORAGE_EMULATOR_HOST"):
        return "", _FOREVER
    answer = _ask(
        f"http://{host or 'metadata.google.internal'}"
        "/computeMetadata/v1/instance/service-accounts/default/token",
        {"Metadata-Flavor": "Google"},
    )
    if answer is None:
        raise CheckpointError(_NO_GOOGLE)
    return _token_of("this machine's account", answer)


def _google_of_file(path: pathlib.Path) -> tuple[str, float]:
    try:
        account = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"Google's credentials cannot be read: {error}") from None
    except ValueError:
        raise CheckpointError(f"{path} is no JSON of Google's credentials") from None
    uri = account.get("token_uri") or "https://oauth2.googleapis.com/token"
    kind = account.get("type")
    if kind == "service_account":
        form = {
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "assertion": _assertion(account, uri),
        }
    elif kind == "authorized_user":
        form = {"grant_type": "refresh_token"}
        form.update(
            {
                name: account.get(name, "")
                for name in ("client_id", "client_secret", "refresh_token")
            }
        )
    else:
        raise CheckpointError(
            f"{path} has credentials of type {kind!r}; expected service_account or authorized_user"
        )
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return _token_of(uri, send("POST", uri, headers, urllib.parse.urlencode(form).encode()))


def _assertion(account: dict[str, Any], uri: str) -> str:
    """RFC 7523. The standard library signs with no RSA key; the program openssl does."""
    now = int(time.time())
    claims = {
        "iss": account.get("client_email"),
        "scope": "https://www.googleapis.com/auth/devstorage.read_write",
        "aud": uri,
        "iat": now,
        "exp": now + 3600,
    }
    text = ".".join(
        _base64url(json.dumps(part).encode()) for part in ({"alg": "RS256", "typ": "JWT"}, claims)
    )
    with tempfile.NamedTemporaryFile(mode="w") as key:  # Readable by this user alone.
        key.write(account.get("private_key", ""))
        key.flush()
        try:
            signed = subprocess.run(
                ["openssl", "dgst", "-sha256", "-sign", key.name],
                input=text.encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=True,
            )
        except FileNotFoundError:
            raise CheckpointError(
                "the program openssl signs for Google's service accounts; install it"
            ) from None
        except subprocess.CalledProcessError:
            raise CheckpointError("the private_key of Google's credentials is none") from None
    return f"{text}.{_base64url(signed.stdout)}"


def ask_azure() -> tuple[str, float]:
    base = os.environ.get("AZURE_POD_IDENTITY_AUTHORITY_HOST") or "http://169.254.169.254"
    query = [("api-version", "2018-02-01"), ("resource", "https://storage.azure.com/")]
    answer = _ask(
        f"{base}/metadata/identity/oauth2/token?{query_text(query)}", {"Metadata": "true"}
    )
    if answer is None:
        raise CheckpointError(_NO_AZURE)
    return _token_of("this machine's identity", answer)


def _token_of(who: str, answer: Answer) -> tuple[str, float]:
    _check_passing(who, answer)
    told = _json(answer)
    if not answer.ok or not told.get("access_token"):
        raise CheckpointError(
            f"no token from {who}: it answered {answer.status} {told.get('error_description', '')}"
        )
    try:
        seconds = float(told.get("expires_in", 300))
    except (TypeError, ValueError):
        seconds = 300.0
    return str(told["access_token"]), time.time() + seconds


def _ask(url: str, headers: dict[str, str], method: str = "GET") -> Answer | None:
    """None: there is no such service here."""
    try:
        answer = send(method, url, headers, local=True, timeout=_SOON)
    except NoAnswer:
        return None
    _check_passing("who lends credentials here", answer)
    return answer


def _check_passing(who: str, answer: Answer) -> None:
    """Raises NoAnswer where the same may be answered otherwise in a moment."""
    if answer.passes:
        raise NoAnswer(f"{who} answered {answer.status}")


def _json(answer: Answer) -> dict[str, Any]:
    try:
        told = json.loads(answer.body)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
