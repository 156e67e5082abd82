"""Encodes metrics as the JSON that the master accepts."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from typing import Callable

_MAX_INT = int(sys.float_info.max)


def _plain(value: object) -> object:
    """Converts values that json does not know: numbers and arrays of numpy and torch."""
    for name in ("item", "tolist"):
        convert = getattr(value, name, None)
        if callable(convert):
            try:
                return convert()
            except (ValueError, RuntimeError):  # More than one element.
                continue
    raise TypeError(
        f"a value of type {type(value).__name__} is not a number, a string or a list of them"
    )


_ENCODER = json.JSONEncoder(
    allow_nan=False, check_circular=False, separators=(",", ":"), default=_plain
)

# An encoder creates its C part in each call, which takes longer than encoding a report.
_make_fast = getattr(json.encoder, "c_make_encoder", None)
_fast: Callable[[object, int], Iterable[str]] | None = _make_fast and _make_fast(
    None, _plain, json.encoder.encode_basestring_ascii, None, ":", ",", False, False, False
)


def encode(value: Mapping[str, object]) -> str:
    """Encodes a mapping; NaN and the infinities become the strings that the master accepts.

    Raises:
        TypeError: A value is not JSON.
    """
    try:
        return "".join(_fast(value, 0)) if _fast else _ENCODER.encode(value)
    except ValueError:
        return _ENCODER.encode(to_json(value))
    except TypeError as error:
        raise TypeError(f"{_place(value)}: {error}") from None


def check_metrics(metrics: Mapping[str, object]) -> None:
    """Refuses metrics that the master would refuse, and with them all later ones.

    Raises:
        ValueError: An integer is greater than every double, or two names are the same as text.
    """
    for name, value in metrics.items():
        if type(name) is not str and str(name) in metrics:
            raise ValueError(f"metrics {name!r} and {str(name)!r} have the same name")
        if type(value) is int and not -_MAX_INT <= value <= _MAX_INT:
            raise ValueError(
                f"metric {name!r} is an integer of {value.bit_length()} bits; expected a number up to "
                f"{sys.float_info.max:g}"
            )


def _place(value: object) -> str:
    """Returns the path of the value that encode() cannot encode."""
    items = value.items() if isinstance(value, Mapping) else ()
    for name, inner in items:
        try:
            encode(inner)
        except TypeError:
            rest = _place(inner)
            return f"{name}.{rest}" if rest else str(name)
    return ""


def to_json(value: object) -> object:
    """Converts numbers and arrays of numpy and torch; NaN and the infinities become strings.

    Raises:
        TypeError: A value is not JSON.
    """
    if isinstance(value, Mapping):
        return {name: to_json(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(inner) for inner in value]
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if not isinstance(value, float):
        return to_json(_plain(value))
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
