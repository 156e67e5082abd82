"""A report of metrics, in the form of the outbox and in that of the master."""

from __future__ import annotations

import datetime
import json
import marshal
import sys
import time
from collections.abc import Mapping

from det._types import Metrics
from det.core import _json

_PLAIN = {float, int, str}  # No subclasses: marshal does not accept those of numpy, for example.
_MARSHAL = (
    2  # The output of this version depends on the values only; later ones contain references.
)


_LENGTHS = ("batches", "epochs", "records")  # The Trial classes add them to each validation.


def describe_missing_metric(name: str, metrics: Mapping[str, object]) -> str | None:
    """Returns why a validation is useless for the search, and what to do; None if it is not.

    Args:
        name: The name of the searcher's metric.
        metrics: The metrics of the validation.
    """
    if name not in metrics:
        known = ", ".join(repr(other) for other in metrics if other not in _LENGTHS) or "none"
        return (
            f"the validation has no metric {name!r}, which searcher.metric of the experiment config "
            f"names; it has: {known}; report {name!r}, or set searcher.metric to one of these"
        )
    value = metrics[name]
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        return (
            f"the validation metric {name!r}, which searcher.metric of the experiment config names, is "
            f"{value!r}; expected a number"
        )
    return None


class ReportedMetrics:
    """Selects the metrics that a framework's callback has not reported for a step yet.

    A framework may evaluate the same weights again, for example after the last batch.

    Args:
        changing: Endings of metrics, such as times, that differ at each evaluation.
    """

    def __init__(self, changing: tuple[str, ...] = ()) -> None:
        self._changing = changing
        self._latest: dict[str, tuple[int, Metrics]] = {}  # Steps and metrics of each group.
        self._warned = False

    def select_new(self, group: str, steps_completed: int, metrics: Metrics) -> Metrics:
        """Returns the metrics to report; warns once if a metric has another value than before."""
        steps, known = self._latest.get(group, (-1, {}))
        if steps != steps_completed:
            known = {}
        new = {name: value for name, value in metrics.items() if name not in known}
        self._latest[group] = (steps_completed, {**known, **new})
        for name, value in metrics.items():
            if name in new or name.endswith(self._changing) or repr(value) == repr(known[name]):
                continue
            if not self._warned:
                self._warned = True
                print(
                    f"WARNING: the {group} metric {name!r} is {value} at {steps_completed} steps, but "
                    f"was reported as {known[name]}; the first value of a step is kept",
                    file=sys.stderr,
                    flush=True,
                )
        return new


def pack(
    group: str,
    steps_completed: int,
    metrics: Metrics,
    batch_metrics: list[Metrics] | None = None,
) -> bytes:
    """Packs a report for the outbox, with the time of now.

    Plain numbers become JSON only in unpack(), because that would be half the cost of a report on
    the training thread.

    Raises:
        TypeError: A value is not JSON.
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
    """Returns the JSON of a packed report."""
    return packed if packed[:1] == b"{" else _text(*marshal.loads(packed)).encode()


def read(packed: bytes) -> tuple[str, int, float, Metrics, list[Metrics]]:
    """Returns the group, steps, time in seconds since 1970, metrics and batch metrics of a report."""
    if packed[:1] != b"{":
        group, steps_completed, nanoseconds, metrics = marshal.loads(packed)
        return group, steps_completed, nanoseconds // 1000 / 1e6, metrics, []
    report = json.loads(packed)
    seconds = datetime.datetime.fromisoformat(report["reportTime"]).timestamp()
    batches = report.get("batchMetrics", [])
    return report["group"], report["stepsCompleted"], seconds, report["metrics"], batches


def _text(
    group: str,
    steps_completed: int,
    nanoseconds: int,
    metrics: Metrics,
    batch_metrics: list[Metrics] | None = None,
) -> str:
    report: dict[str, object] = {
        "group": group,
        "stepsCompleted": steps_completed,
        "reportTime": format_time(nanoseconds),
        "metrics": metrics,
    }
    if batch_metrics:
        report["batchMetrics"] = batch_metrics
    return _json.encode(report)


_second = (0, "")  # The latest second as text: there are many reports per second.


def format_time(nanoseconds: int) -> str:
    """Formats a time of time.time_ns() for the master, to the microsecond."""
    global _second
    seconds, microseconds = divmod(nanoseconds // 1000, 1_000_000)
    known, text = _second
    if known != seconds:
        text = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()[:19]
        _second = (seconds, text)
    return f"{text}.{microseconds:06d}+00:00"
