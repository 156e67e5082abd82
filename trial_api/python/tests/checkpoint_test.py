import errno
import json
import math
import os
import pathlib
import tempfile
import threading
import unittest
from unittest import mock

from det import CheckpointError
from det._errors import StorageUnreachable
from det.core import CheckpointContext, DistributedContext
from det.core._registry import Registry
from det.core._storage import FolderStorage
from distributed_test import run_ranks


class FakeRegistry(Registry):
    def __init__(self):
        self.saved_ones, self.damaged_ones, self.deleted_ones = [], [], []
        self.refusal = None

    def saved(self, uuid, metadata, files):
        self.saved_ones.append((uuid, metadata, {file["path"] for file in files}))

    def damaged(self, uuid, why, instead, steps):
        self.damaged_ones.append((uuid, instead, steps))

    def deleted(self, uuid):
        if self.refusal:
            raise self.refusal
        self.deleted_ones.append(uuid)


class CheckpointTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.base = pathlib.Path(temporary.name, "checkpoints")
        self.registry = FakeRegistry()

    def context(self, ranks=None, **options):
        return CheckpointContext(
            ranks or DistributedContext.single(),
            FolderStorage(self.base, "o"),
            self.registry,
            **options,
        )

    def save(self, steps, text="state", context=None):
        with (context or self.context()).store_path({"steps_completed": steps}) as (path, uuid):
            (path / "sub").mkdir()
            (path / "sub" / "state").write_text(text)
        return uuid

    def damage(self, uuid):
        (self.base / uuid / "sub" / "state").write_text("other")

    def test_saves_files_with_checksums(self):
        uuid = self.save(3)
        names = {"sub/state", "metadata.json", "manifest.json"}
        self.assertEqual([(uuid, {"steps_completed": 3}, names)], self.registry.saved_ones)
        manifest = json.loads((self.base / uuid / "manifest.json").read_text())
        self.assertEqual("o", manifest["owner"])
        self.assertEqual(["sub/state", "metadata.json"], [f["path"] for f in manifest["files"]])
        with self.context().restore_path(uuid) as path:
            self.assertEqual("state", (path / "sub" / "state").read_text())
        self.assertEqual({"steps_completed": 3}, self.context().get_metadata(uuid))
        self.assertEqual([uuid], os.listdir(self.base))

    def test_leaves_nothing_when_the_block_raises(self):
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            with self.context().store_path({"steps_completed": 1}) as (path, _):
                (path / "half").write_text("")
                1 // 0
        self.assertEqual([], os.listdir(self.base))
        self.assertEqual([], self.registry.saved_ones)

    def test_leaves_nothing_when_the_disk_is_full(self):
        full = OSError(errno.ENOSPC, "no space left")
        with mock.patch("os.fsync", side_effect=full):
            with self.assertRaisesRegex(CheckpointError, "no space left.*; check the free space"):
                self.save(1)
        self.assertEqual([], os.listdir(self.base))
        self.assertEqual([], self.registry.saved_ones)

    def test_refuses_metadata_without_steps_completed(self):
        with self.assertRaisesRegex(ValueError, "steps_completed of the metadata is None"):
            with self.context().store_path({}):
                pass
        self.assertFalse(self.base.exists() and os.listdir(self.base))

    def test_saves_metadata_with_nan_and_numbers_of_numpy(self):
        class NumPyNumber:
            """A number like numpy.int64."""

            def item(self):
                return 3

        metadata = {"steps_completed": NumPyNumber(), "loss": math.nan, "best": -math.inf}
        with self.context().store_path(metadata) as (_, uuid):
            pass
        expected = {"steps_completed": 3, "loss": "NaN", "best": "-Infinity"}
        self.assertEqual(expected, self.context().get_metadata(uuid))
        self.assertEqual(expected, self.registry.saved_ones[0][1])

    def test_upload_and_download_apply_the_selector(self):
        source, target = self.base.parent / "source", self.base.parent / "target"
        (source / "a").mkdir(parents=True)
        for name in ("a/yes", "no"):
            (source / name).write_text(name)
        context = self.context()
        uuid = context.upload(source, {"steps_completed": 1}, selector=lambda n: n != "no")
        context.download(uuid, target)
        self.assertTrue((target / "a" / "yes").exists())
        self.assertFalse((target / "no").exists())

    def test_detects_damaged_files(self):
        uuid = self.save(1)
        self.damage(uuid)
        with self.assertRaisesRegex(CheckpointError, f"{uuid}.*sub/state is damaged"):
            with self.context().restore_path(uuid):
                pass
        (self.base / uuid / "sub" / "state").unlink()
        with self.assertRaisesRegex(CheckpointError, "missing"):
            self.context().download(uuid, self.base.parent / "target")
        with self.assertRaisesRegex(CheckpointError, "not the UUID"):
            self.context().get_metadata("../x")

    def test_falls_back_to_the_newest_undamaged_checkpoint(self):
        first, second, third = (self.save(steps) for steps in (1, 2, 3))
        self.damage(third)
        self.damage(second)
        self.assertEqual(first, self.context(latest=third, latest_steps=3).newest_whole())
        self.assertEqual([(third, first, 1), (second, first, 1)], self.registry.damaged_ones)
        with self.assertRaisesRegex(CheckpointError, "damaged"):
            # Without latest_steps the checkpoint is another trial's, and no other may replace it.
            self.context(latest=third).newest_whole()
        self.assertIsNone(self.context().newest_whole())

    def test_raises_when_the_storage_does_not_answer(self):
        self.save(1)
        context = self.context(latest=self.save(2), latest_steps=2)
        away = StorageUnreachable("it answered 503")
        with mock.patch.object(context._storage, "open", side_effect=away):
            with self.assertRaisesRegex(StorageUnreachable, "503"):
                context.newest_whole()
        self.assertEqual([], self.registry.damaged_ones)

    def test_treats_unreadable_files_as_damaged(self):
        first, second = (self.save(steps) for steps in (1, 2))
        whole = (self.base / second / "manifest.json").read_text()
        for broken in (
            "{",
            "[]",
            '{"files": 1}',
            '{"files": [1]}',
            '{"files": [{"path": 1}]}',
            '{"files": [{"path": "sub/state"}]}',
        ):
            (self.base / second / "manifest.json").write_text(broken)
            with self.subTest(broken), self.assertRaisesRegex(CheckpointError, "manifest.json is"):
                with self.context().restore_path(second):
                    pass
            self.assertEqual(first, self.newest(second))
        (self.base / second / "manifest.json").unlink()
        with self.assertRaisesRegex(CheckpointError, "manifest.json is missing; use another"):
            with self.context().restore_path(second):
                pass
        self.assertEqual(first, self.newest(second))
        (self.base / second / "manifest.json").write_text(whole)
        read, path = open, self.base / second / "sub" / "state"

        def fails(name, *options, **more):
            if name == path:
                raise OSError(errno.EIO, "broken")
            return read(name, *options, **more)

        with mock.patch("builtins.open", fails):
            with self.assertRaisesRegex(CheckpointError, "broken.*another checkpoint"):
                with self.context().restore_path(second):
                    pass
            self.assertEqual(first, self.newest(second))

    def newest(self, latest):
        return self.context(latest=latest, latest_steps=2).newest_whole()

    def test_adds_files_of_each_rank_when_sharded(self):
        def body(ranks):
            context = self.context(ranks)
            with context.store_path({"steps_completed": 1}, shard=True) as (path, uuid):
                (path / f"rank{ranks.rank}").write_text("x")
                (path / "same").write_text("same")
            return uuid

        uuids = set(run_ranks(body, 3))
        self.assertEqual(1, len(uuids))
        self.assertEqual(
            {"rank0", "rank1", "rank2", "same", "metadata.json", "manifest.json"},
            set(os.listdir(self.base / uuids.pop())),
        )
        self.assertEqual(1, len(self.registry.saved_ones))

    def test_fails_on_every_rank_when_files_conflict(self):
        def body(ranks):
            with self.assertRaisesRegex(CheckpointError, "'state' of rank 1"):
                context = self.context(ranks)
                with context.store_path({"steps_completed": 1}, shard=True) as (path, _):
                    (path / "state").write_text(str(ranks.rank))

        run_ranks(body, 2)
        self.assertEqual([], os.listdir(self.base))

    def test_fails_on_every_rank_when_one_fails(self):
        def body(ranks):
            expected = ValueError if ranks.rank == 1 else CheckpointError
            with self.assertRaisesRegex(expected, "mine"):
                with self.context(ranks).store_path({"steps_completed": 1}, shard=True):
                    if ranks.rank == 1:
                        raise ValueError("mine")

        run_ranks(body, 2)
        self.assertEqual([], os.listdir(self.base))
        self.assertEqual([], self.registry.saved_ones)

    def test_saves_while_training_continues(self):
        go = threading.Event()

        def body(ranks):
            context = self.context(ranks)

            def write(path):
                go.wait(30)
                (path / f"rank{ranks.rank}").write_text("x")

            pending = context.start_save({"steps_completed": 1}, write, shard=True)
            together = ranks.allgather(pending.done())
            go.set()
            uuid = pending.result()
            context.close()
            return together, uuid

        (before, uuid), _ = run_ranks(body, 2)
        self.assertEqual([False, False], before)
        self.assertTrue((self.base / uuid / "rank1").exists())

    def test_next_save_raises_when_the_previous_one_failed(self):
        context = self.context()
        context.start_save({"steps_completed": 1}, lambda path: 1 // 0)
        with self.assertRaises(ZeroDivisionError):
            context.start_save({"steps_completed": 2}, lambda path: None)
        context.close()
        self.assertEqual([], self.registry.saved_ones)

    def test_refuses_other_ranks_when_not_sharded(self):
        def body(ranks):
            if ranks.rank == 1:
                with self.assertRaisesRegex(RuntimeError, "only rank 0 saves"):
                    with self.context(ranks).store_path({"steps_completed": 1}):
                        pass

        run_ranks(body, 2)

    def test_ranks_of_a_node_share_the_verified_files(self):
        uuid = self.save(1)
        self.damage(uuid)

        def body(ranks):
            with self.assertRaisesRegex(CheckpointError, "damaged"):
                with self.context(ranks).restore_path(uuid):
                    pass

        run_ranks(body, 2)

    def test_failure_on_one_rank_is_raised_on_the_others_of_its_node(self):
        uuid = self.save(1)

        def body(ranks):
            expected = ZeroDivisionError if ranks.rank == 0 else CheckpointError
            with self.assertRaisesRegex(expected, "division"):
                self.context(ranks).download(uuid, self.base.parent / "x", selector=lambda _: 1 / 0)
            context = self.context(ranks, latest=uuid)
            with mock.patch.object(context, "_find_whole", lambda _: 1 / 0):
                with self.assertRaisesRegex(expected, "division"):
                    context.newest_whole()

        run_ranks(body, 2)

    def test_deletes_files_when_the_master_agrees(self):
        uuid, context = self.save(1), self.context()
        self.registry.refusal = RuntimeError("held by experiment 4")
        with self.assertRaisesRegex(RuntimeError, "held"):
            context.delete(uuid)
        with context.restore_path(uuid):
            pass
        self.registry.refusal = None
        context.delete(uuid)
        self.assertEqual([], os.listdir(self.base))
        self.assertEqual([uuid], self.registry.deleted_ones)
        with self.assertRaisesRegex(CheckpointError, "there is no checkpoint"):
            context.delete(uuid)

    def test_deletes_nothing_before_the_master_agrees(self):
        uuid, context = self.save(1), self.context()
        seen = []

        def die(_uuid):
            seen.extend(os.listdir(self.base))
            raise KeyboardInterrupt

        with mock.patch.object(self.registry, "deleted", die):
            with self.assertRaises(KeyboardInterrupt):
                context.delete(uuid)
        self.assertEqual([uuid], seen)
        # The next context removes incomplete checkpoints, but not this one.
        with self.context().restore_path(uuid):
            pass

    def test_removes_incomplete_checkpoints_of_an_earlier_attempt(self):
        FolderStorage(self.base, "o").begin("12345678-1234-1234-1234-123456789abc", 0)
        FolderStorage(self.base, "other").begin("12345678-1234-1234-1234-123456789abc", 0)
        self.context()
        self.assertEqual([".tmp-other-12345678-1234-1234-1234-123456789abc"], os.listdir(self.base))

    def test_opens_checkpoints_without_a_manifest(self):
        uuid = "12345678-1234-1234-1234-123456789abc"
        (self.base / uuid).mkdir(parents=True)
        with self.assertRaisesRegex(CheckpointError, "not complete"):
            self.context().download(uuid, self.base.parent / "target")
        (self.base / uuid / "metadata.json").write_text('{"steps_completed": 1}')
        with self.context().restore_path(uuid) as path:
            self.assertEqual(self.base / uuid, path)
