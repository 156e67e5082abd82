"""Reads TensorBoard's event files, with every checksum compared."""

import struct

from det.tensorboard import masked_crc


def records(path):
    """Yields the frames of a file."""
    data, found = path.read_bytes(), []
    while data:
        (size,), (crc,) = struct.unpack("<Q", data[:8]), struct.unpack("<I", data[8:12])
        assert crc == masked_crc(data[:8])
        body, (crc,) = data[12 : 12 + size], struct.unpack("<I", data[12 + size : 16 + size])
        assert crc == masked_crc(body)
        found.append(body)
        data = data[16 + size :]
    return found


def fields(data):
    """Yields (number, value) of each field of a protobuf message; an inner message stays bytes."""

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


def points(path):
    """Returns (tag, step, value) of each number, in the order of the file."""
    found = []
    for event in map(dict, map(fields, records(path))):
        if 5 in event:
            for value in (dict(fields(data)) for _, data in fields(event[5])):
                if 2 in value:
                    found.append((value[1].decode(), event[2], struct.unpack("<f", value[2])[0]))
    return found
