"""The C library's memory."""

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # Of <malloc.h>.


def keep_freed_memory() -> None:
    """Every step on a CPU takes and frees the same megabytes for activations. By default, the C
    library gives them back to the kernel and gets them again, zeroed, page by page. Elsewhere than
    with glibc nothing happens."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, 32 << 20)  # The greatest it takes.
        mallopt(_TRIM_THRESHOLD, 1 << 30)
