"""A report of metrics: as the outbox holds it, and as the master takes it."""

from __future__ import annotations

import datetime
import marshal
import time
from collections.abc import Mapping
from typing import Any

from det.core import _json

_PLAIN = {float, int, str}  # No subclasses: those of numpy, say, are no floats to marshal.
_MARSHAL = 2  # A version whose bytes depend on the values alone; later ones also refer back.


def pack(
    group: str,
    steps_completed: int,
    metrics: Mapping[str, Any],
    batch_metrics: list[Mapping[str, Any]] | None = None,
) -> bytes:
    """Of now. Plain numbers become JSON later, by unpack(): here that would be half of what a
    report costs the training thread. Raises TypeError for what is no JSON value.
    """
    nanoseconds = time.time_ns()
    if not batch_metrics and type(metrics) is dict and type(steps_completed) is int:
        for name, value in metrics.items():
            if type(value) not in _PLAIN or type(name) is not str:
                break
        else:
            return marshal.dumps((group, steps_completed, nanoseconds, metrics), _MARSHAL)
    return _text(group, steps_completed, nanoseconds, metrics, batch_metrics).encode()


def unpack(packed: bytes) -> bytes:
    """JSON."""
    return packed if packed[:1] == b"{" else _text(*marshal.loads(packed)).encode()


def _text(
    group: str,
    steps_completed: int,
    nanoseconds: int,
    metrics: Mapping[str, Any],
    batch_metrics: list[Mapping[str, Any]] | None = None,
) -> str:
    report: dict[str, Any] = {
        "group": group,
        "stepsCompleted": steps_completed,
        "reportTime": time_text(nanoseconds),
        "metrics": metrics,
    }
    if batch_metrics:
        report["batchMetrics"] = batch_metrics
    return _json.encode(report)


_second = (0, "")  # The newest that was written out: many reports come within one.


def time_text(nanoseconds: int) -> str:
    """Of time.time_ns(), as the master reads it, to the microsecond."""
    global _second
    seconds, microseconds = divmod(nanoseconds // 1000, 1_000_000)
    known, text = _second
    if known != seconds:
        text = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()[:19]
        _second = (seconds, text)
    return f"{text}.{microseconds:06d}+00:00"
