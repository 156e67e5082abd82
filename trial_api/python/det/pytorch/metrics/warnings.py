"""Warnings about metrics that are not reported as a Trial returns them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable

_warned: set[tuple[str, str]] = set()


def warn_once(names: Iterable[str], reported: Collection[str], why: str) -> None:
    """Warns about the names that are not reported, once per process for each name and reason."""
    for name in dict.fromkeys(names):
        if name not in reported and (name, why) not in _warned:
            _warned.add((name, why))
            print(f"WARNING: metric {name!r} {why}", file=sys.stderr, flush=True)
