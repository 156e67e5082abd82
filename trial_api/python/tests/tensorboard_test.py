import struct
import tempfile
import unittest

from det.tensorboard import EventWriter, crc32c, masked_crc


def records(path):
    """The frames of a file, each checksum compared."""
    data, found = path.read_bytes(), []
    while data:
        (size,), (crc,) = struct.unpack("<Q", data[:8]), struct.unpack("<I", data[8:12])
        assert crc == masked_crc(data[:8])
        body, (crc,) = data[12:12 + size], struct.unpack("<I", data[12 + size:16 + size])
        assert crc == masked_crc(body)
        found.append(body)
        data = data[16 + size:]
    return found


def fields(data):
    """(number, value) of each field of a protobuf message; a message within stays bytes."""
    def varint():
        nonlocal data
        value = shift = 0
        while True:
            byte, data = data[0], data[1:]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    found = []
    while data:
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            value, data = data[:size], data[size:]
        found.append((key >> 3, value))
    return found


class TensorboardTest(unittest.TestCase):
    def test_the_checksum_of_the_standard(self):
        self.assertEqual(0xE3069283, crc32c(b"123456789"))
        self.assertEqual(0x8A9136AA, crc32c(bytes(32)))  # RFC 3720, B.4

    def test_what_is_written_can_be_read(self):
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
