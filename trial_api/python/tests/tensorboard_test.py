import math
import struct
import tempfile
import unittest

from det.tensorboard import EventWriter, crc32c
from event_files import fields, points, records


class TensorboardTest(unittest.TestCase):
    def test_crc32c_matches_the_standard(self):
        self.assertEqual(0xE3069283, crc32c(b"123456789"))
        self.assertEqual(0x8A9136AA, crc32c(bytes(32)))  # RFC 3720, B.4

    def test_written_events_can_be_read(self):
        with tempfile.TemporaryDirectory() as folder:
            with EventWriter(folder) as writer:
                writer.add_scalar("loss", 0.5, 300)
                writer.add_scalars({"a": 1, "b": "no number"}, 301)
                writer.add_text("notes", "good", 302)
            self.assertIn(".tfevents.", writer.path.name)
            events = [dict(fields(event)) for event in records(writer.path)]
        self.assertEqual([0, 300, 301, 302], [event[2] for event in events])
        self.assertEqual(b"brain.Event:2", events[0][3])
        values = [dict(fields(dict(fields(event[5]))[1])) for event in events[1:]]
        self.assertEqual([b"loss", b"a", b"notes"], [value[1] for value in values])
        self.assertEqual(0.5, struct.unpack("<f", values[0][2])[0])
        tensor = dict(fields(values[2][8]))
        self.assertEqual((7, b"good"), (tensor[1], tensor[8]))

    def test_writes_purge_step(self):
        with tempfile.TemporaryDirectory() as folder:
            with EventWriter(folder, purge_step=301) as writer:
                writer.add_scalar("loss", 0.5, 400)
            events = [dict(fields(event)) for event in records(writer.path)]
        self.assertEqual([0, 301, 400], [event[2] for event in events])
        self.assertEqual({1: 1}, dict(fields(events[1][7])))  # SessionLog.START

    def test_values_too_large_for_float32_are_infinite(self):
        with tempfile.TemporaryDirectory() as folder:
            with EventWriter(folder) as writer:
                writer.add_scalars({"a": 1e300, "b": -1e300, "c": math.nan, "d": 2}, 1)
            result = points(writer.path)
        self.assertEqual([("a", 1, math.inf), ("b", 1, -math.inf)], result[:2])
        self.assertTrue(math.isnan(result[2][2]))
        self.assertEqual(("d", 1, 2.0), result[3])
