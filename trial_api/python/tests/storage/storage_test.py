"""Tests of every checkpoint storage: a directory, and each kind of bucket."""

import contextlib
import json
import os
import pathlib
import shutil
import tempfile
import unittest
from unittest import mock

from det import CheckpointError
from det.core import CheckpointContext
from det.core._bucket_storage import BucketStorage
from det.core._context import make_storage
from det.core._object_store import open_object_store
from det.core._registry import Registry
from det.core._storage import FolderStorage
from distributed_test import run_ranks
from object_store_test import Server

UUIDS = [f"{i}{'0' * 7}-0000-4000-8000-000000000000" for i in range(8)]


class Folder:
    def __init__(self, folder):
        self.base = pathlib.Path(folder, "store")

    def make(self, owner="me"):
        return FolderStorage(self.base, owner)

    def replace(self, uuid, file, content):
        (self.base / uuid / file).write_bytes(content)

    def drop(self, uuid, file):
        (self.base / uuid / file).unlink()

    def things(self):
        return [path for path in self.base.rglob("*") if path.is_file()]


class InBucket:
    def __init__(self, folder, kind, server):
        self.scratch, self.server = pathlib.Path(folder, "scratch"), server
        self.config = {**server.config(kind), "prefix": "some/where"}

    def make(self, owner="me"):
        return BucketStorage(self.config, owner, self.scratch)

    def replace(self, uuid, file, content):
        open_object_store(self.config).put(f"some/where/{uuid}/{file}", content)

    def drop(self, uuid, file):
        open_object_store(self.config).remove(f"some/where/{uuid}/{file}")

    def things(self):
        return list(self.server.state.objects)


class StorageTest(unittest.TestCase):
    @contextlib.contextmanager
    def places(self):
        """Provides each kind of storage, empty."""
        with self.folder() as folder:
            yield [Folder(folder)] + [self.bucket(folder, kind) for kind in ("s3", "gcs", "azure")]

    @contextlib.contextmanager
    def folder(self):
        folder = tempfile.mkdtemp()
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def bucket(self, folder, kind):
        server = Server(fail=11)
        self.addCleanup(server.close)
        if kind == "gcs":
            environment = server.gcs()
            environment.__enter__()
            self.addCleanup(environment.__exit__, None, None, None)
        return InBucket(os.path.join(folder, kind), kind, server)

    def write(self, storage, uuid, rank, name, text):
        folder = storage.begin(uuid, rank)
        self.assertEqual([], os.listdir(folder))
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        return storage.end(uuid, rank)

    def save(self, storage, uuid, steps):
        parts = [
            self.write(storage, uuid, 0, "deep/a.bin", "of rank 0"),
            self.write(storage, uuid, 1, "b.bin", ""),
        ]
        return storage.publish(uuid, parts, {"steps_completed": steps})

    def test_fetches_only_the_selected_files(self):
        with self.places() as places:
            for place in places:
                uuid = UUIDS[0]
                self.save(place.make(), uuid, 3)
                storage = place.make("another")
                opened = storage.open(uuid, lambda name: name == "deep/a.bin")
                self.assertEqual("of rank 0", (opened / "deep/a.bin").read_text())
                if isinstance(place, InBucket):
                    self.assertFalse((opened / "b.bin").exists())
                storage.open(uuid)
                self.assertTrue((storage.open(uuid, lambda name: False) / "b.bin").exists())

    def test_opens_what_was_published(self):
        with self.places() as places:
            for place in places:
                storage, uuid = place.make(), UUIDS[0]
                first = self.write(storage, uuid, 0, "deep/a.bin", "of rank 0")
                self.assertEqual([("deep/a.bin", 9)], [(f["path"], f["size"]) for f in first])
                with self.assertRaises(CheckpointError):
                    place.make().open(uuid)
                second = self.write(storage, uuid, 1, "b.bin", "")
                files = storage.publish(uuid, [first, second], {"steps_completed": 3})
                self.assertEqual(
                    ["b.bin", "deep/a.bin", "manifest.json", "metadata.json"],
                    sorted(file["path"] for file in files),
                )
                other = place.make("another")
                other.require(uuid)
                self.assertEqual({"steps_completed": 3}, other.metadata(uuid))
                folder = other.open(uuid)
                self.assertEqual("of rank 0", (folder / "deep" / "a.bin").read_text())
                self.assertEqual("", (folder / "b.bin").read_text())
                self.assertEqual(
                    sorted(file["path"] for file in files),
                    sorted(
                        path.relative_to(folder).as_posix()
                        for path in folder.rglob("*")
                        if path.is_file()
                    ),
                )
                self.assertEqual(folder, other.open(uuid))
                storage.remove(uuid)
                self.assertEqual([], place.things())
                with self.assertRaisesRegex(CheckpointError, "there is no checkpoint"):
                    place.make().require(uuid)

    def test_rejects_different_files_with_one_name(self):
        with self.places() as places:
            for place in places:
                storage = place.make()
                same = [self.write(storage, UUIDS[0], rank, "a", "1") for rank in range(2)]
                storage.publish(UUIDS[0], same, {})
                parts = [self.write(storage, UUIDS[1], rank, "a", str(rank)) for rank in range(2)]
                with self.assertRaisesRegex(
                    CheckpointError, "'a' of rank 1 has the name of another file"
                ):
                    storage.publish(UUIDS[1], parts, {})
                with self.assertRaises(CheckpointError):
                    place.make().open(UUIDS[1])

    def test_detects_damage(self):
        with self.places() as places:
            for place in places:
                storage = place.make()
                for uuid in UUIDS[:4]:
                    self.save(storage, uuid, 1)
                place.replace(UUIDS[0], "deep/a.bin", b"of rank 1")
                place.drop(UUIDS[1], "deep/a.bin")
                place.replace(UUIDS[2], "manifest.json", b"{")
                place.drop(UUIDS[3], "manifest.json")
                for uuid, words in zip(
                    UUIDS,
                    (
                        "is damaged",
                        "is missing",
                        "is damaged",
                        "is damaged: manifest.json is missing",
                    ),
                ):
                    with self.assertRaisesRegex(
                        CheckpointError, words + ".*use another checkpoint"
                    ):
                        place.make().open(uuid)
                with self.assertRaisesRegex(CheckpointError, "not the UUID"):
                    place.make().open("../other")

    def test_opens_checkpoints_of_another_library(self):
        with self.places() as places:
            for place in places:
                self.save(place.make(), UUIDS[0], 1)
                place.drop(UUIDS[0], "manifest.json")
                place.replace(UUIDS[0], "metadata.json", b'{"steps_completed": 7}')
                storage = place.make()
                self.assertEqual(
                    "of rank 0", (storage.open(UUIDS[0]) / "deep" / "a.bin").read_text()
                )
                self.assertEqual({"steps_completed": 7}, storage.metadata(UUIDS[0]))

    def test_removes_leftovers_of_the_same_owner(self):
        with self.places() as places:
            for place in places:
                mine, another = place.make(), place.make("another")
                self.save(mine, UUIDS[0], 1)
                self.write(mine, UUIDS[1], 0, "half", "x")
                half = self.write(another, UUIDS[2], 0, "half", "x")
                before = len(place.things())
                place.make().remove_leftovers()
                self.assertLess(len(place.things()), before)
                place.make().open(UUIDS[0])
                another.publish(UUIDS[2], [half], {})
                place.make().open(UUIDS[2])

    def test_saved_lists_own_checkpoints_newest_first(self):
        with self.places() as places:
            for place in places:
                mine = place.make()
                for uuid, steps in zip(UUIDS, (1, 3, 2)):
                    self.save(mine, uuid, steps)
                self.save(place.make("another"), UUIDS[3], 2)
                self.write(mine, UUIDS[4], 0, "half", "x")
                self.assertEqual([UUIDS[2], UUIDS[0]], place.make().saved(2))
                self.assertEqual([UUIDS[1], UUIDS[2], UUIDS[0]], place.make().saved(9))
                self.assertEqual([], place.make("").saved(9))

    def test_copies_changed_files_beside_the_checkpoints(self):
        with self.places() as places, self.folder() as source:
            events = pathlib.Path(source, "deep", "events")
            events.parent.mkdir()
            for place in places:
                storage = place.make()
                events.write_text("1")
                storage.copy_beside(pathlib.Path(source), "tensorboard/7")
                self.assertEqual(1, len(place.things()))
                events.write_text("12")
                storage.copy_beside(pathlib.Path(source), "tensorboard/7")
                storage.copy_beside(pathlib.Path(source, "absent"), "tensorboard/7")
                self.assertEqual(1, len(place.things()))
                self.assertIn("tensorboard/7/deep/events", str(place.things()[0]))

    def test_copies_new_parts_of_event_files(self):
        with self.places() as places, self.folder() as source:
            events = pathlib.Path(source, "events.out.tfevents.1")
            for place in places:
                storage = place.make()
                for content in ("one", "one two", "one two three", "another", ""):
                    events.write_text(content)
                    storage.copy_beside(pathlib.Path(source), "tensorboard/7")
                    [copied] = place.things()
                    if isinstance(place, InBucket):
                        found = place.server.state.objects[copied].decode()
                    else:
                        found = copied.read_text()
                    self.assertEqual(content, found)

    def test_loses_nothing_when_publishing_is_interrupted(self):
        with self.folder() as folder:
            place = self.bucket(folder, "s3")
            self.save(place.make(), UUIDS[0], 5)
            open_object_store(place.config).put(f"some/where/owners/me/{UUIDS[0]}", b"")
            place.make().remove_leftovers()
            self.assertEqual([UUIDS[0]], place.make().saved(9))
            place.make().open(UUIDS[0])

    def test_leaves_nothing_on_the_local_disk(self):
        with self.folder() as folder:
            place = self.bucket(folder, "s3")
            storage = place.make()
            self.save(storage, UUIDS[0], 1)
            storage.open(UUIDS[0])
            self.assertNotEqual([], os.listdir(place.scratch))
            del storage
            self.assertEqual([], os.listdir(place.scratch))

    def test_two_ranks_save_and_restore_through_a_bucket(self):
        with self.folder() as folder:
            place = self.bucket(folder, "s3")
            storages = [
                place.make(),
                place.make(),
            ]  # The files that it has fetched are removed with it.

            def save(ranks):
                context = CheckpointContext(ranks, storages[ranks.rank], Registry("bucket"))
                with context.store_path({"steps_completed": 4}, shard=True) as (path, uuid):
                    (path / f"part-{ranks.rank}").write_text(str(ranks.rank))
                with context.restore_path(uuid) as path:
                    return sorted(os.listdir(path))

            names = ["manifest.json", "metadata.json", "part-0", "part-1"]
            self.assertEqual([names, names], run_ranks(save, 2))

    def test_make_storage_opens_what_is_configured(self):
        with self.folder() as folder, mock.patch.dict(os.environ, {"TMPDIR": folder}):
            server = Server()
            self.addCleanup(server.close)
            storage = make_storage({**server.config("s3"), "prefix": "p"})
            self.save(storage, UUIDS[0], 1)
            self.assertEqual("s3://bucket/p", storage.place)
            [metadata] = [
                content
                for (_, key), content in server.state.objects.items()
                if key == f"p/{UUIDS[0]}/metadata.json"
            ]
            self.assertEqual(1, json.loads(metadata)["steps_completed"])
        self.assertIsInstance(make_storage("a/folder"), FolderStorage)
        with self.assertRaisesRegex(ValueError, "unknown checkpoint_storage type 'ftp'"):
            make_storage({"type": "ftp"})


if __name__ == "__main__":
    unittest.main()
