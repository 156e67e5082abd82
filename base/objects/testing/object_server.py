#!/usr/bin/env python3
"""A fake of three object stores in one process, for tests: S3, Google Cloud Storage, Azure Blob Storage.

Usage: object_server.py [--fail N] [--region R] [--forever]
Prints "port N" once it listens on 127.0.0.1, and serves until its standard input ends, or until it is killed
(--forever). Keeps objects in memory, lists three per page, and rejects requests that are not signed as the
services' documentation requires; the checks follow the documentation and share no code with the clients.

S3 and Google's XML interface: /BUCKET/KEY, distinguished by the Authorization header. Google's JSON interface:
/storage/v1/b/BUCKET/o/KEY. Azure: /account/CONTAINER/BLOB, recognized by the header x-ms-version. `bucket` and `container` exist. --fail N: every Nth request fails with 503.
--region R: the region of S3's bucket; a signature for another region gets 301 with x-amz-bucket-region. /count
returns the number of objects, /parts the number of running uploads.
"""

import argparse
import base64
import datetime
import hashlib
import hmac
import http.server
import json
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse
from xml.sax.saxutils import escape

ACCESS_KEY = "AKIDEXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
SESSION = "session"
GOOGLE_TOKEN = "gcs-token"
AZURE_KEY = b"azure-key"
AZURE_TOKEN = "azure-token"
PAGE = 3


class ServiceError(Exception):
    def __init__(self, status, code, message="", headers=()):
        super().__init__(code)
        self.status, self.code, self.message, self.headers = status, code, message, dict(headers)


class State:
    def __init__(self, fail, region):
        self.fail, self.region = fail, region
        self.lock = threading.Lock()
        self.requests = 0
        self.objects = {}  # (bucket, key) -> bytes
        self.parts = {}  # upload or (bucket, key) -> {number or id: bytes}


def etag(content):
    return hashlib.md5(content).hexdigest()


def sign_v4(method, path, query, headers, signed, content, at, region, secret):
    """docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html"""
    quoted = sorted((urllib.parse.quote(k, safe="-_.~"), urllib.parse.quote(v, safe="-_.~"))
                    for k, v in query)
    request = "\n".join([
        method, path, "&".join(f"{k}={v}" for k, v in quoted),
        "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in signed),
        ";".join(signed), content])
    scope = f"{at[:8]}/{region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", at, scope,
                      hashlib.sha256(request.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def shared_key(method, path, query, headers, body):
    """learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key"""
    plain = ["content-encoding", "content-language", "content-length", "content-md5",
             "content-type", "date", "if-modified-since", "if-match", "if-none-match",
             "if-unmodified-since", "range"]
    values = {**headers, "content-length": str(len(body)) if body else "", "date": ""}
    text = method + "\n" + "".join(values.get(name, "") + "\n" for name in plain)
    for name in sorted(n for n in headers if n.startswith("x-ms-")):
        text += f"{name}:{headers[name]}\n"
    text += "/account" + path
    for name, value in sorted((k.lower(), v) for k, v in query):
        text += f"\n{name}:{value}"
    return base64.b64encode(hmac.digest(AZURE_KEY, text.encode(), "sha256")).decode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    state: State

    def log_message(self, *_):
        pass

    def handle_any(self):
        length = int(self.headers.get("Content-Length", 0))
        self.body = self.rfile.read(length)
        parts = urllib.parse.urlsplit(self.path)
        self.url_path = parts.path
        self.query = urllib.parse.parse_qsl(parts.query, keep_blank_values=True)
        self.params = dict(self.query)
        self.request_headers = {name.lower(): value for name, value in self.headers.items()}
        with self.state.lock:
            try:
                self.state.requests += 1
                if self.state.fail and self.state.requests % self.state.fail == 0:
                    raise ServiceError(503, "SlowDown", "try again")
                status, headers, body = self.answer()
            except ServiceError as error:
                status = error.status
                headers = {"Content-Type": "application/xml", "x-ms-error-code": error.code,
                           **error.headers}
                body = (f"<?xml version=\"1.0\"?><Error><Code>{error.code}</Code><Message>"
                        f"{escape(error.message)}</Message></Error>").encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

    def answer(self):
        if self.url_path == "/count":
            return 200, {}, str(len(self.state.objects)).encode()
        if self.url_path == "/parts":
            return 200, {}, str(len(self.state.parts)).encode()
        for prefix, handler in CREDENTIAL_SOURCES.items():
            if self.url_path.startswith(prefix):
                return 200, {"Content-Type": "application/json"}, handler(self)
        if "x-ms-version" in self.request_headers:
            return self.azure()
        if self.url_path.startswith(GOOGLE_PATHS):
            return self.google()
        return self.s3()

    # S3, and Google's interface with the same form.

    def s3(self):
        proof = self.request_headers.get("authorization", "")
        if proof.startswith("Bearer "):
            if proof != "Bearer " + GOOGLE_TOKEN:
                raise ServiceError(401, "AuthenticationRequired", "wrong token")
        else:
            self.check_v4(proof)
        bucket, _, key = urllib.parse.unquote(self.url_path[1:]).partition("/")
        if bucket != "bucket":
            raise ServiceError(404, "NoSuchBucket", "The specified bucket does not exist")
        if not key:
            return self.s3_list(bucket)
        if self.command == "POST" or "uploadId" in self.params:
            return self.s3_parts((bucket, key))
        return self.one((bucket, key), "NoSuchKey")

    def check_v4(self, proof):
        match = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request,"
                             r"\s*SignedHeaders=([^,]+),\s*Signature=([0-9a-f]{64})", proof)
        if not match:
            raise ServiceError(403, "AccessDenied", "not signed")
        access, _, region, signed, signature = match.groups()
        content, at = self.request_headers.get("x-amz-content-sha256", ""), self.request_headers.get("x-amz-date", "")
        if content != hashlib.sha256(self.body).hexdigest():
            raise ServiceError(400, "XAmzContentSHA256Mismatch", "the content differs")
        made = datetime.datetime.strptime(at, "%Y%m%dT%H%M%SZ")
        if abs((datetime.datetime.utcnow() - made).total_seconds()) > 900:
            raise ServiceError(403, "RequestTimeTooSkewed", at)
        names = signed.split(";")
        needed = {"host"} | {name for name in self.request_headers if name.startswith("x-amz-")}
        if not needed <= set(names):
            raise ServiceError(403, "AccessDenied", "unsigned headers")
        if self.request_headers.get("x-amz-security-token", SESSION) != SESSION:
            raise ServiceError(403, "ExpiredToken", "The provided token has expired.")
        expected = sign_v4(self.command, self.url_path, self.query, self.request_headers, names, content, at,
                           region, SECRET_KEY)
        if access != ACCESS_KEY or not hmac.compare_digest(signature, expected):
            raise ServiceError(403, "SignatureDoesNotMatch", "the signature is wrong")
        if self.state.region and region != self.state.region:
            raise ServiceError(301, "PermanentRedirect", "another endpoint",
                          {"x-amz-bucket-region": self.state.region})

    def s3_list(self, bucket):
        keys, more = self.page(bucket, self.params.get("continuation-token", ""))
        body = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
            f"<ETag>&quot;{etag(self.state.objects[bucket, key])}&quot;</ETag>"
            f"<Size>{len(self.state.objects[bucket, key])}</Size></Contents>"
            for key in keys)
        if more:
            body += (f"<NextContinuationToken>{escape(more)}</NextContinuationToken>"
                     "<IsTruncated>true</IsTruncated>")
        return 200, {"Content-Type": "application/xml"}, f"<ListBucketResult>{body}</ListBucketResult>".encode()

    def s3_parts(self, place):
        if "uploads" in self.params:
            upload = f"upload-{self.state.requests}"
            self.state.parts[upload] = {}
            return 200, {}, f"<R><UploadId>{upload}</UploadId></R>".encode()
        upload = self.params["uploadId"]
        if upload not in self.state.parts:
            raise ServiceError(404, "NoSuchUpload")
        if self.command == "PUT":
            number = int(self.params["partNumber"])
            self.state.parts[upload][number] = self.body
            return 200, {"ETag": f'"etag-{number}"'}, b""
        if self.command == "POST" and place[1].endswith("fails-late"):
            if not self.state.parts[upload].pop("failed", None):
                self.state.parts[upload]["failed"] = True
                late = b"<Error><Code>InternalError</Code></Error>"
                return 200, {}, b"<?xml version='1.0'?>" + b" " * 300 + late
        parts = self.state.parts.pop(upload)
        if self.command == "DELETE":
            return 204, {}, b""
        named = re.findall(r"<PartNumber>(\d+)</PartNumber>\s*<ETag>\"?etag-(\d+)\"?</ETag>",
                           self.body.decode().replace("&quot;", '"'))
        if [int(a) for a, b in named if a == b] != sorted(parts):
            raise ServiceError(400, "InvalidPart", "parts are missing")
        if any(len(parts[number]) < 5 << 20 for number in sorted(parts)[:-1]):
            raise ServiceError(400, "EntityTooSmall")
        self.state.objects[place] = b"".join(parts[number] for number in sorted(parts))
        if place[1].endswith("answer-lost"):
            raise ServiceError(500, "InternalError")
        return 200, {}, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>"

    # Google's JSON interface: cloud.google.com/storage/docs/json_api

    def google(self):
        proof = "Bearer " + GOOGLE_TOKEN if GOOGLE_TOKEN else ""
        if self.request_headers.get("authorization", "") != proof:
            raise ServiceError(401, "AuthenticationRequired", "wrong token")
        match = re.fullmatch(r"(?:/upload)?(?:/download)?/storage/v1/b/([^/]+)/o(?:/(.+))?", self.url_path)
        bucket, key = (urllib.parse.unquote(part or "") for part in match.groups())
        if bucket != "bucket":
            raise ServiceError(404, "NoSuchBucket", "The specified bucket does not exist.")
        if self.command == "POST":
            return self.google_upload(bucket)
        if "upload_id" in self.params:
            return self.google_cancel()
        if not key:
            keys, more = self.page(bucket, self.params.get("pageToken", ""))
            found = {"kind": "storage#objects", "items": [self.google_resource((bucket, key)) for key in keys]}
            return self.json({**found, "nextPageToken": more} if more else found)
        if self.command == "GET" and self.params.get("alt") != "media":
            if (bucket, key) not in self.state.objects:
                raise ServiceError(404, "notFound", "No such object")
            return self.json(self.google_resource((bucket, key)))
        status, headers, body = self.one((bucket, key), "NotFound")
        return (204 if self.command == "DELETE" else status), headers, body

    def google_upload(self, bucket):
        kind = self.params.get("uploadType")
        if kind == "multipart":
            boundary = re.search(r'boundary="?([^";]+)', self.request_headers["content-type"])[1].encode()
            _, described, rest = self.body.split(b"--" + boundary + b"\n", 2)
            name = json.loads(described.partition(b"\n\n")[2])["name"]
            content = rest.partition(b"\n\n")[2]
            self.state.objects[bucket, name] = content[:content.rindex(b"\n--" + boundary)]
            return self.json(self.google_resource((bucket, name)))
        if "upload_id" not in self.params:
            upload = f"upload-{self.state.requests}"
            self.state.parts[upload] = {"name": json.loads(self.body)["name"], 0: b""}
            where = f"http://{self.request_headers['host']}{self.url_path}?uploadType=resumable&upload_id={upload}"
            return 200, {"Location": where}, b""
        upload = self.state.parts[self.params["upload_id"]]
        first, last, size = map(int, re.fullmatch(
            r"bytes (\d+)-(\d+)/(\d+)", self.request_headers["content-range"]).groups())
        if first != len(upload[0]) or last - first + 1 != len(self.body):
            raise ServiceError(400, "badRequest", "Invalid content range")
        upload[0] += self.body
        if last + 1 < size:
            return 308, {"Range": f"bytes=0-{last}"}, b""
        del self.state.parts[self.params["upload_id"]]
        self.state.objects[bucket, upload["name"]] = upload[0]
        return self.json(self.google_resource((bucket, upload["name"])))

    def google_cancel(self):
        self.state.parts.pop(self.params["upload_id"], None)
        return 499, {}, b""

    def google_resource(self, place):
        return {"kind": "storage#object", "bucket": place[0], "name": place[1],
                "size": str(len(self.state.objects[place])), "etag": etag(self.state.objects[place])}

    def json(self, value):
        return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()

    # Azure.

    def azure(self):
        proof = self.request_headers.get("authorization", "")
        if self.params.get("sig") == "azure-sas/+=" or proof == "Bearer " + AZURE_TOKEN:
            pass
        elif proof.startswith("Bearer "):
            raise ServiceError(401, "InvalidAuthenticationInfo", "wrong token")
        elif proof != "SharedKey account:" + shared_key(
                self.command, self.url_path, self.query, self.request_headers, self.body):
            raise ServiceError(403, "AuthenticationFailed", "the signature is wrong")
        account, container, key = (urllib.parse.unquote(self.url_path[1:]) + "//").split("/", 2)
        key = key.rstrip("/")
        if (account, container) != ("account", "container"):
            raise ServiceError(404, "ContainerNotFound", "The specified container does not exist.")
        comp = self.params.get("comp")
        if not key:
            return self.azure_list(container)
        if comp == "block":
            self.state.parts.setdefault((container, key), {})[self.params["blockid"]] = self.body
            return 201, {}, b""
        if comp == "blocklist":
            blocks = self.state.parts.pop((container, key), {})
            named = re.findall(r"<Latest>([^<]+)</Latest>", self.body.decode())
            if set(named) - set(blocks):
                raise ServiceError(400, "InvalidBlockList")
            self.state.objects[container, key] = b"".join(blocks[name] for name in named)
            return 201, {}, b""
        if self.command == "PUT" and self.request_headers.get("x-ms-blob-type") != "BlockBlob":
            raise ServiceError(400, "MissingRequiredHeader", "x-ms-blob-type")
        return self.one((container, key), "BlobNotFound")

    def azure_list(self, container):
        if self.params.get("comp") != "list" or self.params.get("restype") != "container":
            raise ServiceError(400, "InvalidQueryParameterValue")
        keys, more = self.page(container, self.params.get("marker", ""))
        body = "".join(
            f"<Blob><Name>{escape(key)}</Name><Properties><Content-Length>"
            f"{len(self.state.objects[container, key])}</Content-Length>"
            f"<Etag>{etag(self.state.objects[container, key])}</Etag><BlobType>BlockBlob</BlobType>"
            "</Properties></Blob>" for key in keys)
        return 200, {"Content-Type": "application/xml"}, (
            f"<EnumerationResults ContainerName=\"{container}\"><Blobs>{body}</Blobs>"
            f"<NextMarker>{escape(more)}"
                         "</NextMarker></EnumerationResults>").encode()

    # Both.

    def page(self, bucket, after):
        """Returns the keys of a page, and the key after which the next page begins."""
        prefix = self.params.get("prefix", "")
        keys = sorted(key for place, key in self.state.objects
                      if place == bucket and key.startswith(prefix) and key > after)
        return keys[:PAGE], keys[PAGE - 1] if len(keys) > PAGE else ""

    def one(self, place, absent):
        objects = self.state.objects
        if self.command == "PUT":
            objects[place] = self.body
            return 201 if "x-ms-version" in self.request_headers else 200, {"ETag": '"e"'}, b""
        if place not in objects:
            if self.command == "DELETE" and absent == "NoSuchKey":
                return 204, {}, b""
            raise ServiceError(404, absent, "The specified key does not exist.")
        if self.command == "DELETE":
            del objects[place]
            return 202 if "x-ms-version" in self.request_headers else 204, {}, b""
        content = objects[place]
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.request_headers.get("x-ms-range") or self.request_headers.get("range", ""))
        if not asked:
            return 200, {}, content
        first = int(asked[1])
        if first >= len(content):
            raise ServiceError(416, "InvalidRange")
        last = int(asked[2]) if asked[2] else len(content) - 1
        last = min(last, len(content) - 1)
        headers = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
        return 206, headers, content[first:last + 1]

    # Sources of keys and tokens.

    def get_metadata_token(self):
        if self.command != "PUT" or "x-aws-ec2-metadata-token-ttl-seconds" not in self.request_headers:
            raise ServiceError(400, "BadRequest")
        return b"imds-token"

    def get_role(self):
        if self.request_headers.get("x-aws-ec2-metadata-token") != "imds-token":
            raise ServiceError(401, "Unauthorized")
        return b"role" if self.url_path.endswith("/") else make_temporary_keys()

    def get_container_keys(self):
        if self.request_headers.get("authorization") != "container-proof":
            raise ServiceError(401, "Unauthorized")
        return make_temporary_keys()

    def get_google_token(self):
        if self.request_headers.get("metadata-flavor") != "Google":
            raise ServiceError(403, "Forbidden")
        return json.dumps({"access_token": GOOGLE_TOKEN, "expires_in": 3599}).encode()

    def get_azure_token(self):
        if self.request_headers.get("metadata") != "true" or \
                self.params.get("resource", "").rstrip("/") != "https://storage.azure.com":
            raise ServiceError(400, "BadRequest")
        return json.dumps({"access_token": AZURE_TOKEN, "expires_in": "3599", "token_type": "Bearer",
                           "resource": self.params["resource"]}).encode()

    def exchange(self):
        """OAuth token endpoint for refresh tokens and assertions."""
        form = dict(urllib.parse.parse_qsl(self.body.decode()))
        if form.get("grant_type") == "refresh_token":
            if (form.get("refresh_token"), form.get("client_id")) != ("refresh", "id"):
                raise ServiceError(400, "invalid_grant")
        elif form.get("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer":
            check_assertion(form["assertion"], self.params["public_key"])
        else:
            raise ServiceError(400, "unsupported_grant_type")
        return json.dumps({"access_token": GOOGLE_TOKEN, "expires_in": 3599}).encode()


GOOGLE_PATHS = ("/storage/v1/", "/upload/storage/v1/", "/download/storage/v1/")
CREDENTIAL_SOURCES = {
    "/latest/api/token": Handler.get_metadata_token,
    "/latest/meta-data/iam/security-credentials/": Handler.get_role,
    "/container-credentials": Handler.get_container_keys,
    "/computeMetadata/v1/instance/service-accounts/default/token": Handler.get_google_token,
    "/metadata/identity/oauth2/token": Handler.get_azure_token,
    "/token": Handler.exchange,
}


def make_temporary_keys():
    end = datetime.datetime.utcnow() + datetime.timedelta(hours=1)
    return json.dumps({"AccessKeyId": ACCESS_KEY, "SecretAccessKey": SECRET_KEY, "Token": SESSION,
                       "Expiration": end.strftime("%Y-%m-%dT%H:%M:%SZ")}).encode()


def check_assertion(assertion, public_key):
    """Checks an assertion (RFC 7523), signed with RS256; public_key is a PEM file named in the token URL."""
    text, _, signature = assertion.rpartition(".")
    claims = json.loads(base64.urlsafe_b64decode(text.split(".")[1] + "=="))
    with tempfile.NamedTemporaryFile() as file:
        file.write(base64.urlsafe_b64decode(signature + "=="))
        file.flush()
        checked = subprocess.run(
            ["openssl", "dgst", "-sha256", "-verify", public_key, "-signature", file.name],
            input=text.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if checked.returncode != 0 or claims["iss"] != "robot@example.org" or \
            "devstorage" not in claims["scope"] or claims["exp"] <= claims["iat"]:
        raise ServiceError(400, "invalid_grant")


def serve(fail=0, region=""):
    """Starts a server on threads of this process; its address is `server_address`."""
    handler = type("Bound", (Handler,), {"state": State(fail, region)})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fail", type=int, default=0)
    parser.add_argument("--region", default="")
    parser.add_argument("--forever", action="store_true")
    options = parser.parse_args()
    server = serve(options.fail, options.region)
    print(f"port {server.server_address[1]}", flush=True)
    if options.forever:
        threading.Event().wait()
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
