"""Fetching of event files from buckets, for TensorBoard."""

import contextlib
import io
import pathlib
import tempfile
import threading
import unittest
from unittest import mock

from det import CheckpointError
from det.core._object_store import ObjectStore, open_object_store
from det.tensorboard import _sources
from det.tensorboard._sources import Following, make_fetchers
from object_store_test import KINDS, Server

TOP = "c/tensorboard/experiment/"
EVENTS = "events.out.tfevents.1.host"


class SourcesTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.target = pathlib.Path(temporary.name, "files")
        self.target.mkdir()

    def serve(self):
        server = Server()
        self.addCleanup(server.close)
        return server

    def source(self, config, experiment, *trials):
        return {"storage": config, "prefix": f"{TOP}{experiment}/", "trials": list(trials)}

    def files(self):
        return {
            path.relative_to(self.target).as_posix(): path.read_bytes()
            for path in self.target.rglob("*")
            if path.is_file()
        }

    def test_fetches_new_files_and_new_parts_of_files(self):
        for number, kind in enumerate(KINDS):
            server = self.serve()
            with self.subTest(kind), server.gcs():
                config = {**server.config(kind), "prefix": "some/where"}
                store = open_object_store(config)
                key, run = f"some/where/{TOP}{number}/trial/2/", f"experiment/{number}/trial/2/"
                [fetcher] = make_fetchers([self.source(config, number)], self.target)
                fetcher.fetch()
                self.assertFalse(fetcher.found)
                store.put(key + EVENTS, b"one ")
                store.put(key + "plugins/host.xplane.pb", b"trace")
                store.put(f"some/where/{TOP}{number}0/trial/2/{EVENTS}", b"another experiment")
                fetcher.fetch()
                self.assertTrue(fetcher.found)
                local = self.target / run
                inode = (local / EVENTS).stat().st_ino
                store.put(key + EVENTS, b"one two")
                store.put(key + "plugins/host.xplane.pb", b"other trace")
                with mock.patch.object(
                    ObjectStore, "get_range", autospec=True, side_effect=ObjectStore.get_range
                ) as tails:
                    fetcher.fetch()
                    fetcher.fetch()
                self.assertEqual([(key + EVENTS, 4, 7)], [c.args[1:] for c in tails.mock_calls])
                self.assertEqual(inode, (local / EVENTS).stat().st_ino)
                found = {k: v for k, v in self.files().items() if k.startswith(run)}
                self.assertEqual(
                    {run + EVENTS: b"one two", run + "plugins/host.xplane.pb": b"other trace"},
                    found,
                )
        self.assertEqual(2 * len(KINDS), len(self.files()))

    def test_fetches_from_several_storages_with_their_own_credentials(self):
        servers = [self.serve() for _ in KINDS]
        with servers[1].gcs():
            sources = []
            for number, (server, kind) in enumerate(zip(servers, KINDS)):
                config = server.config(kind)
                open_object_store(config).put(f"{TOP}{number}/trial/1/{EVENTS}", kind.encode())
                sources.append(self.source(config, number))
            folder = self.target.parent / "shared"
            trial = folder / f"{TOP}9/trial/1"
            trial.mkdir(parents=True)
            (trial / EVENTS).write_bytes(b"shared_fs")
            sources.append(self.source({"type": "shared_fs", "host_path": str(folder)}, 9))
            for fetcher in make_fetchers(sources, self.target):
                fetcher.fetch()
                self.assertTrue(fetcher.found)
        runs = [f"experiment/{number}/trial/1" for number in (0, 1, 2)]
        expected = {f"{run}/{EVENTS}": kind.encode() for run, kind in zip(runs, KINDS)}
        self.assertEqual(expected, self.files())
        link = self.target / "experiment/9/trial/1"
        self.assertEqual(b"shared_fs", (link / EVENTS).read_bytes())

    def test_fetches_only_the_selected_trials(self):
        server = self.serve()
        config = server.config("s3")
        store = open_object_store(config)
        for trial in (1, 2, 22):
            store.put(f"{TOP}1/trial/{trial}/{EVENTS}", b"e")
        [fetcher] = make_fetchers([self.source(config, 1, 2)], self.target)
        fetcher.fetch()
        self.assertEqual([f"experiment/1/trial/2/{EVENTS}"], list(self.files()))

    def test_fetches_a_file_again_when_another_took_its_place(self):
        server = self.serve()
        store = open_object_store(server.config("s3"))
        [fetcher] = make_fetchers([self.source(server.config("s3"), 1)], self.target)
        for content in (b"first", b"then", b"next"):
            store.put(f"{TOP}1/trial/1/{EVENTS}", content)
            fetcher.fetch()
            self.assertEqual([content], list(self.files().values()))

    def test_shows_the_files_of_other_storages_when_one_fails(self):
        server = self.serve()
        good, bad = server.config("s3"), {**server.config("s3"), "bucket": "none"}
        open_object_store(good).put(f"{TOP}1/trial/1/{EVENTS}", b"e")
        found, failed, printed = threading.Event(), threading.Event(), io.StringIO()
        warn = mock.patch.object(
            _sources, "_warn", side_effect=lambda text: (printed.write(text), failed.set())
        )
        sources = [self.source(bad, 2), self.source(good, 1)]
        with warn:
            following = Following(make_fetchers(sources, self.target), found.set)
            self.assertTrue(found.wait(30))
            self.assertTrue(failed.wait(30))
            following.stop()
        self.assertIn("create the bucket", printed.getvalue())

    def test_shows_other_files_when_one_cannot_be_read(self):
        server = self.serve()
        store = open_object_store(server.config("s3"))
        for trial in (1, 2, 3):
            store.put(f"{TOP}1/trial/{trial}/{EVENTS}", b"e")
        [fetcher] = make_fetchers([self.source(server.config("s3"), 1)], self.target)
        get_file = ObjectStore.get_file

        def refuse_one(self, key, path):
            if "/trial/1/" in key:
                raise CheckpointError("refused")
            get_file(self, key, path)

        with mock.patch.object(ObjectStore, "get_file", refuse_one):
            with contextlib.suppress(CheckpointError):
                fetcher.fetch()
        self.assertEqual(2, len(self.files()))
        self.assertTrue(fetcher.found)
        fetcher.fetch()
        self.assertEqual(3, len(self.files()))


if __name__ == "__main__":
    unittest.main()
