import base64
import contextlib
import datetime
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
from det.core import _buckets, _objects
from det.core._http import Answer
from det.core._signing import Call, S3Keys, quote, sign_azure, sign_s3

KINDS = ("s3", "gcs", "azure")
SAS = "sv=2021&sig=azure-sas%2F%2B%3D"


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
        return {"type": kind, **{
            "s3": {"bucket": "bucket", "access_key": object_server.ACCESS_KEY,
                   "secret_key": object_server.SECRET_KEY, "endpoint_url": self.url},
            "gcs": {"bucket": "bucket"},
            "azure": {"container": "container", "connection_string":
                      f"AccountName=account;AccountKey={key};BlobEndpoint={self.url}/account/"},
        }[kind]}

    @contextlib.contextmanager
    def environment(self, **variables):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("AWS_", "GOOGLE_", "AZURE_", "GCE_", "STORAGE_"))}
        kept.update(HOME="/nonexistent", **variables)
        with mock.patch.dict(os.environ, kept, clear=True):
            yield

    def gcs(self):
        return self.environment(STORAGE_EMULATOR_HOST=self.host, GCE_METADATA_HOST=self.host)


def open_bucket(config):
    bucket = _buckets.open_bucket(config)
    bucket.pause = lambda seconds: None
    return bucket


class SigningTest(unittest.TestCase):
    """The examples of Amazon's documentation."""

    def signature(self, call):
        keys = S3Keys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        sign_s3(call, "examplebucket.s3.amazonaws.com", keys, "us-east-1",
                datetime.datetime(2013, 5, 24))
        self.assertNotIn("wJalr", repr(keys))
        return call.headers["Authorization"].rpartition("=")[2]

    def test_s3(self):
        self.assertEqual(
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            self.signature(Call("GET", "/test.txt", [], {"Range": "bytes=0-9"})))
        put = Call("PUT", "/" + quote("test$file.text", "/"), [],
                   {"Date": "Fri, 24 May 2013 00:00:00 GMT",
                    "x-amz-storage-class": "REDUCED_REDUNDANCY"}, b"Welcome to Amazon S3.")
        self.assertEqual("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
                         self.signature(put))
        self.assertEqual("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
                         self.signature(Call("GET", "/", [("lifecycle", "")])))
        self.assertEqual("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
                         self.signature(Call("GET", "/", [("prefix", "J"), ("max-keys", "2")])))

    def test_azures_date_is_in_english(self):
        call = Call("GET", "/c/b")
        sign_azure(call, "account", b"key", datetime.datetime(2026, 1, 2, 3, 4, 5))
        self.assertEqual("Fri, 02 Jan 2026 03:04:05 GMT", call.headers["x-ms-date"])


class ObjectsTest(unittest.TestCase):
    def serve(self, **options):
        server = Server(**options)
        self.addCleanup(server.close)
        return server

    def test_what_is_put_is_read_listed_and_removed(self):
        for kind in KINDS:
            server = self.serve()
            with self.subTest(kind), server.gcs():
                bucket = open_bucket(server.config(kind))
                odd = "p/a b+c$~&'=%41/é.txt"
                bucket.put(odd, b"hello")
                bucket.put(odd, b"hello again")
                self.assertEqual(b"hello again", bucket.get(odd))
                self.assertEqual(b"aga", bucket.read(odd, 6, 3))
                self.assertEqual(b"", bucket.read(odd, 11, 3))
                bucket.put("p/empty", b"")
                self.assertEqual(b"", bucket.get("p/empty"))
                with self.assertRaises(_objects.NoObject):
                    bucket.get("p/absent")
                keys = [odd, "p/empty"] + [f"p/f<{i}>" for i in range(5)]
                for key in keys[2:] + ["q/other"]:
                    bucket.put(key, b"x")
                self.assertEqual(sorted(keys), bucket.list("p/"))
                self.assertEqual([], bucket.list("none/"))
                for key in keys + [odd]:
                    bucket.remove(key)
                self.assertEqual(1, len(server.state.objects))

    def test_files_of_any_size_past_failures(self):
        with tempfile.TemporaryDirectory() as folder:
            path, back = pathlib.Path(folder, "file"), pathlib.Path(folder, "back")
            for kind in KINDS:
                server = self.serve(fail=3)
                with self.subTest(kind), server.gcs():
                    bucket = open_bucket(server.config(kind))
                    for size in (0, 5, _objects.PART + 12_345_678):
                        path.write_bytes(os.urandom(size))
                        bucket.put_file("big", path)
                        bucket.get_file("big", back)
                        self.assertTrue(path.read_bytes() == back.read_bytes(), size)
                    self.assertEqual({}, server.state.parts)

    def test_what_is_put_together_is_there_when_the_server_says_so(self):
        with tempfile.NamedTemporaryFile() as file:
            file.truncate(_objects.PART + 1)
            server = self.serve()
            bucket = open_bucket(server.config("s3"))
            bucket.pause = lambda seconds: None
            for key in ("fails-late", "answer-lost"):
                bucket.put_file(key, pathlib.Path(file.name))
                self.assertEqual(b"\0", bucket.read(key, _objects.PART, 10), key)

    def test_only_amazons_buckets_move_to_another_region(self):
        elsewhere = Answer(400, {"x-amz-bucket-region": "eu-north-1"}, b"")
        server = self.serve()
        amazons = {"bucket": "b", "access_key": "a", "secret_key": "s"}
        for config, wanted in (
                ({**amazons, "type": "s3"}, "https://s3.eu-north-1.amazonaws.com/b/key"),
                ({**amazons, "type": "s3", "endpoint_url": "http://m:9"}, "http://m:9/b/key"),
                ({"type": "gcs", "bucket": "b"}, server.url + "/b/key")):
            with self.subTest(config["type"]), server.gcs():
                bucket = open_bucket(config)
                with mock.patch.object(_objects, "send", return_value=elsewhere) as send:
                    with self.assertRaises(CheckpointError):
                        bucket.put("key", b"")
                self.assertEqual(wanted, send.call_args[0][1])

    def test_what_an_object_holds_is_no_answer(self):
        server = self.serve()
        for kind in KINDS:
            with self.subTest(kind), server.gcs():
                bucket = open_bucket(server.config(kind))
                text = b"<?xml version='1.0'?><Error><Code>InternalError</Code></Error>"
                bucket.put("log.xml", text)
                self.assertEqual(text, bucket.get("log.xml"))

    def test_an_upload_that_fails_for_good_is_aborted(self):
        with tempfile.NamedTemporaryFile() as file:
            file.truncate(_objects.PART + 1)
            server = self.serve()
            bucket = open_bucket(server.config("s3"))
            with mock.patch.object(_objects, "_parts", side_effect=CheckpointError("torn")):
                with self.assertRaisesRegex(CheckpointError, "torn"):
                    bucket.put_file("big", pathlib.Path(file.name))
            self.assertEqual(({}, {}), (server.state.parts, server.state.objects))

    def test_what_is_refused_is_said_without_secrets(self):
        server = self.serve()
        for kind in KINDS:
            with self.subTest(kind), server.gcs():
                config = {**server.config(kind), "bucket": "absent", "container": "absent"}
                with self.assertRaisesRegex(
                        CheckpointError,
                        f"absent at {server.url}: cannot write key: it answered 404 .*; make it"):
                    open_bucket(config).put("key", b"x")
        config = {**server.config("s3"), "secret_key": "of-another"}
        with self.assertRaisesRegex(CheckpointError, "403 SignatureDoesNotMatch.*check the cred"):
            try:
                open_bucket(config).put("key", b"x")
            except CheckpointError as error:
                self.assertNotIn("of-another", str(error))
                raise

    def test_a_server_that_is_away(self):
        for kind in ("s3", "azure"):
            server = Server()
            server.close()
            with self.subTest(kind), self.assertRaisesRegex(CheckpointError, "refused"):
                open_bucket(server.config(kind)).put("key", b"x")

    def test_keys_for_s3_come_from_many_places(self):
        server = self.serve()
        config = {"type": "s3", "bucket": "bucket", "endpoint_url": server.url + "/"}
        key, secret = object_server.ACCESS_KEY, object_server.SECRET_KEY
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("[default]\naws_access_key_id = other\n\n[mine]\n"
                       f"aws_access_key_id={key}\naws_secret_access_key = {secret}\n")
            file.flush()
            for variables in (
                {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret},
                {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret,
                 "AWS_SESSION_TOKEN": "session"},
                {"AWS_SHARED_CREDENTIALS_FILE": file.name, "AWS_PROFILE": "mine"},
                {"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url + "/container-credentials",
                 "AWS_CONTAINER_AUTHORIZATION_TOKEN": "container-proof"},
                {"AWS_EC2_METADATA_SERVICE_ENDPOINT": server.url},
            ):
                with self.subTest(list(variables)), server.environment(**variables):
                    open_bucket(config).put("key", b"x")
        with server.environment(AWS_EC2_METADATA_DISABLED="true"):
            with self.assertRaisesRegex(CheckpointError, "there are no keys for S3: give access_key"):
                open_bucket(config).put("key", b"x")

    def test_keys_that_are_no_longer_taken_are_asked_for_again(self):
        server = self.serve()
        with server.environment(AWS_EC2_METADATA_SERVICE_ENDPOINT=server.url):
            bucket = open_bucket({"type": "s3", "bucket": "bucket", "endpoint_url": server.url})
            bucket.put("key", b"x")
            with mock.patch.object(object_server, "SESSION", "next"):
                bucket.put("key", b"y")
        self.assertEqual([b"y"], list(server.state.objects.values()))

    def test_the_buckets_region_is_learnt(self):
        server = self.serve(region="eu-north-1")
        with server.environment(AWS_REGION="us-west-2"):
            bucket = open_bucket(server.config("s3"))
            bucket.put("key", b"x")
            self.assertEqual(b"x", bucket.get("key"))

    def test_googles_accounts(self):
        server = self.serve()
        with tempfile.TemporaryDirectory() as folder:
            key, public = os.path.join(folder, "key.pem"), os.path.join(folder, "public.pem")
            for command in (["genpkey", "-algorithm", "RSA", "-out", key],
                            ["pkey", "-in", key, "-pubout", "-out", public]):
                subprocess.run(["openssl", *command], check=True, stderr=subprocess.DEVNULL)
            robot = {"type": "service_account", "client_email": "robot@example.org",
                     "private_key": pathlib.Path(key).read_text(encoding="utf-8"),
                     "token_uri": f"{server.url}/token?public_key={public}"}
            user = {"type": "authorized_user", "client_id": "id", "client_secret": "s",
                    "refresh_token": "refresh", "token_uri": f"{server.url}/token"}
            path = os.path.join(folder, "credentials.json")
            for account, problem in (
                (robot, None), (user, None), ({**robot, "client_email": "x"}, "no token from"),
                ({**user, "refresh_token": "x"}, "no token from"),
                ({**robot, "private_key": "x"}, "private_key .* is none"),
                ({"type": "odd"}, "expected service_account or authorized_user"),
            ):
                pathlib.Path(path).write_text(json.dumps(account), encoding="utf-8")
                with self.subTest(account=account.get("type"), problem=problem), \
                        server.environment(STORAGE_EMULATOR_HOST=server.url,
                                           GOOGLE_APPLICATION_CREDENTIALS=path):
                    bucket = open_bucket(server.config("gcs"))
                    if problem is None:
                        bucket.put("key", b"x")
                        continue
                    with self.assertRaisesRegex(CheckpointError, problem):
                        bucket.put("key", b"x")

    def test_azures_credentials(self):
        server = self.serve()
        key = base64.b64encode(object_server.AZURE_KEY).decode()
        plain = {"type": "azure", "container": "container", "account_url": server.url + "/account"}
        for variables, more in (
            ({"AZURE_STORAGE_KEY": key}, {}),
            ({"AZURE_STORAGE_SAS_TOKEN": "?" + SAS}, {}),
            ({"AZURE_POD_IDENTITY_AUTHORITY_HOST": server.url}, {}),
            ({}, {"credential": key}),
            ({}, {"credential": SAS}),
            ({}, {"account_url": "", "connection_string":
                  f"BlobEndpoint={server.url}/account;SharedAccessSignature={SAS}"}),
        ):
            with self.subTest(variables=variables, more=more), server.environment(**variables):
                open_bucket({**plain, **more}).put("key", b"x")
        for more, problem in (({"credential": "d3Jvbmc="}, "403 AuthenticationFailed"),
                              ({"credential": "!"}, "no base64"), ({"account_url": "x"}, "needs")):
            with server.environment(), self.assertRaisesRegex(CheckpointError, problem):
                open_bucket({**plain, **more}).put("key", b"x")

    def test_places_that_are_none(self):
        for config, problem in (({"type": "s3"}, "bucket: missing"),
                                ({"type": "azure"}, "container: missing"),
                                ({"type": "s3", "bucket": "b", "endpoint_url": "minio"}, "no URL")):
            with self.assertRaisesRegex(CheckpointError, problem):
                _buckets.open_bucket(config)


if __name__ == "__main__":
    sys.exit(unittest.main())
