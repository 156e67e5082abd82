"""Makes torch.distributed.run of Debian's torch 1.13 work with Python 3.11.

It iterates over the members of the flag `Std` to find NONE, but this Python skips members of value 0.
"""
import enum

_iterate = enum.EnumMeta.__iter__


def _with_zero(cls):
    members = list(_iterate(cls))
    if cls.__name__ == "Std":
        members += [member for member in cls.__members__.values() if not member]
    return iter(members)


enum.EnumMeta.__iter__ = _with_zero
