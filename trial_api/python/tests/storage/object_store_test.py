import asyncio
import base64
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import object_server
from det import CheckpointError
from det.core import _object_store
from det.core._object_store import ObjectNotFound, open_object_store
from det.errors import StorageUnreachable

KINDS = ("s3", "gcs", "azure")
SAS = "sv=2021&sig=azure-sas%2F%2B%3D"
VARIABLES = ("AWS_", "GOOGLE_", "AZURE_", "GCE_", "STORAGE_")
_keys = {}  # The keys of the service account, created once.

# The libraries pause before they retry; the tests shorten the pause to a hundredth.
_sleep = asyncio.sleep
asyncio.sleep = lambda seconds, *arguments: _sleep(seconds / 100, *arguments)


def service_account(url):
    """Returns the credentials file of a service account, as a dict, and the folder of its keys."""
    if not _keys:
        folder = tempfile.TemporaryDirectory()
        key, public = (os.path.join(folder.name, name) for name in ("key.pem", "public.pem"))
        for command in (
            ["genpkey", "-algorithm", "RSA", "-out", key],
            ["pkey", "-in", key, "-pubout", "-out", public],
        ):
            subprocess.run(["openssl", *command], check=True, stderr=subprocess.DEVNULL)
        text = pathlib.Path(key).read_text(encoding="utf-8")
        _keys.update(folder=folder, private=text, public=public)
    return {
        "type": "service_account",
        "client_email": "robot@example.org",
        "private_key": _keys["private"],
        "token_uri": f"{url}/token?public_key={_keys['public']}",
    }


class Server:
    """A server of objects, and the configuration and the environment for each kind of bucket."""

    def __init__(self, **options):
        self.server = object_server.serve(**options)
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        self.url = f"http://{self.host}"
        self.state = self.server.RequestHandlerClass.state

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def config(self, kind):
        key = base64.b64encode(object_server.AZURE_KEY).decode()
        return {
            "s3": {
                "type": "s3",
                "bucket": "bucket",
                "access_key": object_server.ACCESS_KEY,
                "secret_key": object_server.SECRET_KEY,
                "endpoint_url": self.url,
            },
            "gcs": {"type": "gcs", "bucket": "bucket"},
            "azure": {
                "type": "azure",
                "container": "container",
                "connection_string": f"AccountName=account;AccountKey={key};BlobEndpoint={self.url}"
                "/account/",
            },
        }[kind]

    @contextlib.contextmanager
    def environment(self, **variables):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(VARIABLES)}
        kept.update(HOME="/nonexistent", **variables)
        with mock.patch.dict(os.environ, kept, clear=True):
            yield

    @contextlib.contextmanager
    def gcs(self):
        """Makes Google's libraries find this server, and a service account that it knows."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(service_account(self.url), file)
            file.flush()
            with self.environment(
                STORAGE_EMULATOR_HOST=self.host, GOOGLE_APPLICATION_CREDENTIALS=file.name
            ):
                yield


class ObjectStoreTest(unittest.TestCase):
    def serve(self, **options):
        server = Server(**options)
        self.addCleanup(server.close)
        return server

    def test_reads_lists_and_removes_what_it_wrote(self):
        for kind in KINDS:
            server = self.serve()
            with self.subTest(kind), server.gcs():
                store = open_object_store(server.config(kind))
                odd = "p/a b+c$~&'=%41/é.txt"
                store.put(odd, b"hello")
                store.put(odd, b"hello again")
                self.assertEqual(b"hello again", store.get(odd))
                self.assertTrue(store.exists(odd))
                store.put("p/empty", b"")
                self.assertEqual(b"", store.get("p/empty"))
                self.assertFalse(store.exists("p/absent"))
                with self.assertRaises(ObjectNotFound):
                    store.get("p/absent")
                keys = [odd, "p/empty"] + [f"p/f<{i}>" for i in range(5)]
                for key in keys[2:] + ["q/other", "p2"]:
                    store.put(key, b"x")
                self.assertEqual(sorted(keys), store.list("p/"))
                self.assertEqual([], store.list("none/"))
                before = store.describe("p/")
                self.assertEqual(11, before[odd][0])
                store.put("p/empty", b"")
                store.put(odd, b"HELLO AGAIN")
                self.assertNotEqual(before[odd], store.describe("p/")[odd])
                self.assertEqual(b"LO AG", store.get_range(odd, 3, 8))
                for key in [*keys, odd]:
                    store.remove(key)
                self.assertEqual(2, len(server.state.objects))

    def test_transfers_files_of_any_size_when_requests_fail(self):
        with tempfile.TemporaryDirectory() as folder:
            path, back = pathlib.Path(folder, "file"), pathlib.Path(folder, "back")
            for kind in KINDS:
                server = self.serve(fail=4)
                with self.subTest(kind), server.gcs():
                    store = open_object_store(server.config(kind))
                    for size in (0, 5, 2 * _object_store.PART_SIZE + 12_345_678):
                        path.write_bytes(os.urandom(size))
                        store.put_file("big", path)
                        store.get_file("big", back)
                        self.assertTrue(path.read_bytes() == back.read_bytes(), size)
                    self.assertEqual({}, server.state.parts)

    def test_upload_is_complete_only_when_the_server_confirms_it(self):
        with tempfile.NamedTemporaryFile() as file:
            file.truncate(2 * _object_store.PART_SIZE + 1)
            server = self.serve()
            store = open_object_store(server.config("s3"))
            for key in ("fails-late", "answer-lost"):
                store.put_file(key, pathlib.Path(file.name))
                size = len(server.state.objects["bucket", key])
                self.assertEqual(2 * _object_store.PART_SIZE + 1, size, key)

    def test_aborts_upload_that_fails(self):
        with tempfile.NamedTemporaryFile() as file:
            file.truncate(2 * _object_store.PART_SIZE + 1)
            server = self.serve()
            store = open_object_store(server.config("s3"))
            refuse = object_server.ServiceError(400, "InvalidPart", "torn")
            parts = object_server.Handler.s3_parts

            def fail_second(handler, place):
                if handler.params.get("partNumber") == "2":
                    raise refuse
                return parts(handler, place)

            with mock.patch.object(object_server.Handler, "s3_parts", fail_second):
                with self.assertRaisesRegex(CheckpointError, "cannot write big: .*torn"):
                    store.put_file("big", pathlib.Path(file.name))
            self.assertEqual(({}, {}), (server.state.parts, server.state.objects))

    def test_reads_content_that_looks_like_an_error(self):
        server = self.serve()
        for kind in KINDS:
            with self.subTest(kind), server.gcs():
                store = open_object_store(server.config(kind))
                text = b"<?xml version='1.0'?><Error><Code>InternalError</Code></Error>"
                store.put("log.xml", text)
                self.assertEqual(text, store.get("log.xml"))

    def test_every_call_reports_a_missing_bucket(self):
        server = self.serve()
        words = f"absent at {server.url}.*create the bucket, or name another one"
        for kind in KINDS:
            with self.subTest(kind), server.gcs():
                config = {**server.config(kind), "bucket": "absent", "container": "absent"}
                store = open_object_store(config)
                for call in (
                    lambda store=store: store.put("key", b"x"),
                    lambda store=store: store.put_file("key", pathlib.Path(__file__)),
                    lambda store=store: store.get("key"),
                    lambda store=store: store.exists("key"),
                    lambda store=store: store.list("folder/"),
                ):
                    with self.assertRaisesRegex(StorageUnreachable, words):
                        call()

    def test_reports_rejection_without_secrets(self):
        server = self.serve()
        config = {**server.config("s3"), "secret_key": "of-another"}
        with self.assertRaisesRegex(
            StorageUnreachable, "SignatureDoesNotMatch.*check the credentials"
        ) as raised:
            open_object_store(config).put("key", b"x")
        self.assertNotIn("of-another", str(raised.exception))

    def test_reports_server_that_does_not_respond(self):
        for kind in ("s3", "azure"):
            server = Server()
            server.close()
            with self.subTest(kind), self.assertRaisesRegex(StorageUnreachable, server.url):
                open_object_store(server.config(kind)).put("key", b"x")

    def test_reports_full_local_disk_as_local_error(self):
        server = self.serve()
        store = open_object_store(server.config("s3"))
        store.put("key", b"x")
        with self.assertRaises(OSError) as raised:
            store.get_file("key", pathlib.Path("/nonexistent/folder/file"))
        self.assertNotIsInstance(raised.exception, CheckpointError)

    def test_s3_keys_come_from_botocores_sources(self):
        server = self.serve()
        config = {"type": "s3", "bucket": "bucket", "endpoint_url": server.url + "/"}
        key, secret = object_server.ACCESS_KEY, object_server.SECRET_KEY
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(
                "[default]\naws_access_key_id = other\n\n[mine]\n"
                f"aws_access_key_id={key}\naws_secret_access_key = {secret}\n"
            )
            file.flush()
            for variables in (
                {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret},
                {
                    "AWS_ACCESS_KEY_ID": key,
                    "AWS_SECRET_ACCESS_KEY": secret,
                    "AWS_SESSION_TOKEN": "session",
                },
                {"AWS_SHARED_CREDENTIALS_FILE": file.name, "AWS_PROFILE": "mine"},
                {
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url + "/container-credentials",
                    "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-proof",
                },
                {"AWS_EC2_METADATA_SERVICE_ENDPOINT": server.url},
            ):
                with self.subTest(list(variables)), server.environment(**variables):
                    open_object_store(config).put("key", b"x")
        with server.environment(AWS_EC2_METADATA_DISABLED="true"):
            with self.assertRaisesRegex(CheckpointError, "no credentials for S3: set access_key"):
                open_object_store(config).put("key", b"x")

    def test_expired_s3_keys_are_renewed(self):
        server = self.serve()
        config = {"type": "s3", "bucket": "bucket", "endpoint_url": server.url}
        with server.environment(AWS_EC2_METADATA_SERVICE_ENDPOINT=server.url):
            store = open_object_store(config)
            store.put("key", b"x")
            with mock.patch.object(object_server, "SESSION", "next"):
                store.put("key", b"y")
        self.assertEqual([b"y"], list(server.state.objects.values()))

    def test_detects_the_region_of_the_bucket(self):
        server = self.serve(region="eu-north-1")
        for variable in ("AWS_REGION", "AWS_DEFAULT_REGION"):
            with self.subTest(variable), server.environment(**{variable: "us-west-2"}):
                store = open_object_store(server.config("s3"))
                store.put("key", b"x")
                self.assertEqual(b"x", store.get("key"))

    def test_google_credentials_come_from_a_file(self):
        server = self.serve()
        robot = service_account(server.url)
        user = {
            "type": "authorized_user",
            "client_id": "id",
            "client_secret": "s",
            "refresh_token": "refresh",
        }
        from google.oauth2 import credentials

        for account, problem in (
            (robot, None),
            (user, None),
            ({**robot, "private_key": "x"}, "invalid Google credentials"),
            ({"type": "odd"}, "invalid Google credentials"),
        ):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(account, file)
                file.flush()
                with (
                    self.subTest(account=account.get("type"), problem=problem),
                    server.environment(
                        STORAGE_EMULATOR_HOST=server.url, GOOGLE_APPLICATION_CREDENTIALS=file.name
                    ),
                    mock.patch.object(
                        credentials, "_GOOGLE_OAUTH2_TOKEN_ENDPOINT", server.url + "/token"
                    ),
                ):
                    store = open_object_store(server.config("gcs"))
                    if problem is None:
                        store.put("key", b"x")
                        continue
                    with self.assertRaisesRegex(CheckpointError, problem):
                        store.put("key", b"x")

    def test_google_emulator_needs_no_account(self):
        server = self.serve()
        with server.environment(STORAGE_EMULATOR_HOST=server.host):
            with self.assertRaisesRegex(StorageUnreachable, "wrong token.*check the credentials"):
                open_object_store(server.config("gcs")).put("key", b"x")
            with mock.patch.object(object_server, "GOOGLE_TOKEN", ""):
                open_object_store(server.config("gcs")).put("key", b"x")

    def test_azure_credentials_come_from_configuration_or_environment(self):
        server = self.serve()
        key = base64.b64encode(object_server.AZURE_KEY).decode()
        plain = {"type": "azure", "container": "container", "account_url": server.url + "/account"}
        for variables, more in (
            ({"AZURE_STORAGE_KEY": key}, {}),
            ({"AZURE_STORAGE_SAS_TOKEN": "?" + SAS}, {}),
            ({}, {"credential": key}),
            ({}, {"credential": SAS}),
            ({"AZURE_STORAGE_CONNECTION_STRING": "AccountName=other"}, {"credential": key}),
            (
                {},
                {
                    "account_url": "",
                    "connection_string": f"BlobEndpoint={server.url}/account;"
                    f"SharedAccessSignature={SAS}",
                },
            ),
        ):
            with self.subTest(variables=variables, more=more), server.environment(**variables):
                open_object_store({**plain, **more}).put("key", b"x")
        for more, problem in (
            ({"credential": "d3Jvbmc="}, "AuthenticationFailed.*check the credentials"),
            ({"credential": "!"}, "container at"),
            ({"account_url": "x"}, "azure needs connection_string"),
        ):
            with server.environment(), self.assertRaisesRegex(CheckpointError, problem):
                open_object_store({**plain, **more}).put("key", b"x")

    def test_azure_identity_of_the_machine_is_the_last_resort(self):
        server = self.serve()
        import fsspec.asyn

        # The second variable skips a probe of the machine's service, which has a short timeout.
        with server.environment(
            AZURE_POD_IDENTITY_AUTHORITY_HOST=server.url,
            AZURE_TOKEN_CREDENTIALS="ManagedIdentityCredential",
        ):
            identity = _object_store._find_azure_credential({})
            get = identity.get_token("https://storage.azure.com/.default")
            token = fsspec.asyn.sync(fsspec.asyn.get_loop(), lambda: get)
        self.assertEqual(object_server.AZURE_TOKEN, token.token)

    def test_rejects_invalid_configurations(self):
        for config, problem in (
            ({"type": "s3"}, "bucket: missing"),
            ({"type": "azure"}, "container: missing"),
            (
                {"type": "s3", "bucket": "b", "endpoint_url": "minio"},
                "endpoint_url: 'minio' is not the URL of a server",
            ),
        ):
            with self.assertRaisesRegex(CheckpointError, problem):
                open_object_store(config)

    def test_error_names_missing_library_and_install_command(self):
        server = self.serve()
        for kind, module in (("s3", "s3fs"), ("gcs", "gcsfs.core"), ("azure", "adlfs")):
            library = module.partition(".")[0]
            with self.subTest(kind), mock.patch.dict(sys.modules, {module: None}):
                with self.assertRaisesRegex(
                    CheckpointError, f"type {kind} needs .* {library} .*pip install {library}"
                ):
                    open_object_store(server.config(kind))
                with mock.patch("importlib.metadata.version", return_value="0.1.0"):
                    with self.assertRaisesRegex(
                        CheckpointError, rf"pip install 'resolute\[{kind}\]'"
                    ):
                        open_object_store(server.config(kind))


if __name__ == "__main__":
    sys.exit(unittest.main())
