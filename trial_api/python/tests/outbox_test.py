import errno
import os
import shutil
import tempfile
import threading
import unittest
from unittest import mock

from det.core._outbox import Outbox


class OutboxTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.join(temporary.name, "7", "1")

    def left(self, **options):
        box = Outbox(self.folder, **options)
        self.addCleanup(box.close)
        return box

    def test_records_survive_the_death_of_the_process(self):
        child = os.fork()
        if child == 0:
            box = Outbox(self.folder)
            box.add(b"one")
            box.add(b"two")
            os._exit(0)  # The process ends without closing it.
        os.waitpid(child, 0)
        self.assertEqual([b"one", b"two"], self.left().front(10, 1000))

    def test_forked_process_does_not_keep_the_lock(self):
        ready, may_exit = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            Outbox(self.folder).add(b"one")
            copy = os.fork()  # A worker of a data loader also outlives its parent.
            if copy == 0:
                os.write(ready[1], str(os.getpid()).encode() + b"\n")
                os.read(may_exit[0], 1)
                os._exit(0)
            os.read(ready[0], 20)
            os._exit(0)
        os.waitpid(child, 0)
        self.addCleanup(os.write, may_exit[1], b".")
        self.assertEqual([b"one"], self.left().front(10, 1000))

    def test_removed_records_do_not_return(self):
        box = Outbox(self.folder, segment=16)
        for record in (b"first record", b"second record", b"third record"):
            self.assertTrue(box.add(record))
        box.remove_front(2)
        box.close()
        self.assertEqual([b"third record"], self.left().front(10, 1000))

    def segments(self):
        return sorted(n for n in os.listdir(self.folder) if n.startswith("segment"))

    def test_removes_sent_segments_and_empty_folder(self):
        box = Outbox(self.folder, segment=1)
        for _ in range(5):
            box.add(b"record")
        box.remove_front(4)
        self.assertEqual(["segment.3", "segment.4", "segment.5"], self.segments())
        box.remove_front(1)
        box.close()
        self.assertFalse(os.path.exists(self.folder))

    def test_reused_segment_has_no_old_records(self):
        box = Outbox(self.folder, segment=100)
        held = []
        for number in range(200):
            record = b"record %d" % number
            self.assertTrue(box.add(record))
            held.append(record)
            if number % 5 == 4:
                box.remove_front(4)
                del held[:4]
            self.assertEqual(held, box.front(1000, 100000))
            left = Outbox(
                self.copy()
            )  # The files as the death of the process would leave them now.
            self.assertEqual(held, left.front(1000, 100000))
            left.close()
        box.remove_front(len(held))
        inodes = {os.stat(os.path.join(self.folder, name)).st_ino for name in self.segments()}
        for _ in range(100):
            box.add(b"x" * 40)
            box.remove_front(1)
            inodes |= {os.stat(os.path.join(self.folder, name)).st_ino for name in self.segments()}
        self.assertLessEqual(len(inodes), 3)
        box.close()

    def copy(self):
        copy = self.folder + ".copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.folder, copy)
        return copy

    def test_ignores_frames_of_an_earlier_segment(self):
        box = Outbox(self.folder, segment=40)
        for letter in (b"a", b"b", b"c", b"d", b"e"):  # Two equal frames fill a segment.
            box.add(letter * 12)
            box.remove_front(len(box) - 1)
        box.close()
        self.assertEqual([b"e" * 12], self.left().front(10, 1000))

    def test_adds_while_another_thread_removes(self):
        box = self.left(segment=1000, limit=4000)
        count = 20000

        def add_all():
            for number in range(count):
                while not box.add(b"%d" % number):
                    pass

        adding = threading.Thread(target=add_all)
        adding.start()
        seen = []
        while len(seen) < count:
            front = box.front(7, 1000)
            seen += front
            box.remove_front(len(front))
        adding.join()
        self.assertEqual([b"%d" % number for number in range(count)], seen)

    def test_works_without_mapped_files(self):
        with mock.patch("mmap.mmap", side_effect=OSError(errno.ENODEV, "no such device")):
            box = Outbox(self.folder)
            box.add(b"one")
            box.add(b"two")
            box.remove_front(1)
            box.close()
        self.assertEqual([b"two"], self.left().front(10, 1000))

    def test_ignores_an_incomplete_frame(self):
        box = Outbox(self.folder)
        box.add(b"whole")
        box.add(b"broken off")
        box.close()
        path = os.path.join(self.folder, "segment.1")
        with open(path, "rb") as file:
            content = file.read()
        with open(path, "wb") as file:
            file.write(content.replace(b"broken off", b"broken\0\0\0\0"))
        box = Outbox(self.folder)
        self.assertEqual([b"whole"], box.front(10, 1000))
        box.add(b"next")
        box.close()
        self.assertEqual([b"whole", b"next"], self.left().front(10, 1000))

    def test_refuses_records_when_full(self):
        box = self.left(limit=100)
        while box.add(b"x" * 20):
            pass
        count = len(box)
        self.assertLessEqual(count * 28, 100)
        box.remove_front(1)
        self.assertTrue(box.add(b"y" * 20))
        self.assertFalse(box.add(b"y" * 20))
        self.assertEqual(count, len(box))

    def test_keeps_records_in_memory_when_the_disk_is_full(self):
        box = self.left(memory=2, segment=9)
        box.add(b"1")
        full = OSError(errno.ENOSPC, "no space left")
        with mock.patch("os.posix_fallocate", side_effect=full):
            self.assertTrue(box.add(b"2"))
            self.assertTrue(box.add(b"3"))
            self.assertFalse(box.add(b"4"))
        self.assertFalse(box.add(b"4"))
        box.remove_front(3)
        self.assertTrue(box.add(b"4"))
        self.assertEqual([b"4"], box.front(10, 1000))

    def test_continues_when_the_position_cannot_be_written(self):
        box = Outbox(self.folder)
        box.add(b"1")
        box.add(b"2")
        with mock.patch("os.pwrite", side_effect=OSError(errno.EIO, "broken")):
            box.remove_front(1)
        self.assertEqual([b"2"], box.front(10, 1000))
        box.close()
        # The first report is sent again; the master ignores it.
        self.assertEqual([b"1", b"2"], self.left().front(10, 1000))

    def test_refuses_a_second_process(self):
        self.left()
        with self.assertRaises(BlockingIOError):
            Outbox(self.folder)

    def test_front_is_limited_by_count_and_bytes(self):
        box = self.left()
        for _ in range(5):
            box.add(b"x" * 10)
        self.assertEqual(3, len(box.front(3, 1000)))
        self.assertEqual(2, len(box.front(5, 25)))
        self.assertEqual(1, len(box.front(5, 1)))
