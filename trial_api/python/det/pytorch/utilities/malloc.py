"""Configures the memory allocator of the C library."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of <malloc.h>.


def keep_freed_memory() -> None:
    """Makes glibc keep freed memory instead of returning it to the kernel.

    Each step on a CPU allocates and frees the same megabytes for activations. By default, glibc
    returns them to the kernel and gets them back zeroed, page by page. Does nothing with other C
    libraries.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, 32 << 20)  # The maximum.
        mallopt(_TRIM_THRESHOLD, 1 << 30)
