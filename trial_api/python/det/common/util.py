"""Small functions that existing scripts import."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TypeVar

from det.util import force_create_symlink, sizeof_fmt

_T = TypeVar("_T")


def chunks(lst: Sequence[_T], chunk_size: int) -> Iterator[Sequence[_T]]:
    """Yields the parts of a sequence, each of a size but for the last.

    Args:
        lst: The sequence.
        chunk_size: The size of a part.
    """
    for start in range(0, len(lst), chunk_size):
        yield lst[start : start + chunk_size]


def debug_mode() -> bool:
    """Returns whether DET_DEBUG asks for more output."""
    return os.environ.get("DET_DEBUG", "").lower() in ("true", "1", "yes")


__all__ = ["chunks", "debug_mode", "force_create_symlink", "sizeof_fmt"]
