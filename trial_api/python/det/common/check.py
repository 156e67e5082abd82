"""Checks of values, for existing scripts. Each raises CheckFailedError."""

from __future__ import annotations

from collections.abc import Container, Sized
from typing import Any


class CheckFailedError(Exception):
    """A check failed."""


def _check(holds: bool, problem: str, reason: str | None) -> None:
    if not holds:
        raise CheckFailedError(f"{problem}: {reason}" if reason else problem)


def true(val: object, reason: str | None = None) -> None:
    """Checks that a value is true."""
    _check(bool(val), f"{val!r} is not true", reason)


def false(val: object, reason: str | None = None) -> None:
    """Checks that a value is false."""
    _check(not val, f"{val!r} is not false", reason)


def is_none(val: object, reason: str | None = None) -> None:
    """Checks that a value is None."""
    _check(val is None, f"{val!r} is not None", reason)


def is_not_none(val: object, reason: str | None = None) -> None:
    """Checks that a value is not None."""
    _check(val is not None, "the value is None", reason)


def eq(val: object, expected: object, reason: str | None = None) -> None:
    """Checks that two values are equal."""
    _check(val == expected, f"{val!r} is not equal to {expected!r}", reason)


def not_eq(x: object, y: object, reason: str | None = None) -> None:
    """Checks that two values differ."""
    _check(x != y, f"{x!r} is equal to {y!r}", reason)


def gt(x: Any, y: Any, reason: str | None = None) -> None:
    """Checks that x > y."""
    _check(x > y, f"{x!r} is not greater than {y!r}", reason)


def gt_eq(x: Any, y: Any, reason: str | None = None) -> None:
    """Checks that x >= y."""
    _check(x >= y, f"{x!r} is less than {y!r}", reason)


def lt(x: Any, y: Any, reason: str | None = None) -> None:
    """Checks that x < y."""
    _check(x < y, f"{x!r} is not less than {y!r}", reason)


def lt_eq(x: Any, y: Any, reason: str | None = None) -> None:
    """Checks that x <= y."""
    _check(x <= y, f"{x!r} is greater than {y!r}", reason)


def equal_lengths(x: Sized, y: Sized, reason: str | None = None) -> None:
    """Checks that two containers have the same length."""
    _check(len(x) == len(y), f"the lengths {len(x)} and {len(y)} differ", reason)


def len_eq(val: Sized, expected_len: int, reason: str | None = None) -> None:
    """Checks the length of a container."""
    _check(len(val) == expected_len, f"the length is {len(val)}, not {expected_len}", reason)


def is_in(val: object, expected: Container[Any], reason: str | None = None) -> None:
    """Checks that a container has a value."""
    _check(val in expected, f"{val!r} is not in {expected!r}", reason)


def not_in(val: object, expected: Container[Any], reason: str | None = None) -> None:
    """Checks that a container does not have a value."""
    _check(val not in expected, f"{val!r} is in {expected!r}", reason)


def is_type(val: object, expected: type, reason: str | None = None) -> None:
    """Checks the type of a value, which may not be a subclass."""
    _check(type(val) is expected, f"{val!r} is not a {expected.__name__}", reason)


def is_instance(val: object, expected: Any, reason: str | None = None) -> None:
    """Checks that a value is an instance of a class."""
    _check(isinstance(val, expected), f"{val!r} is not an instance of {expected}", reason)


def is_not_instance(val: object, expected: Any, reason: str | None = None) -> None:
    """Checks that a value is not an instance of a class."""
    _check(not isinstance(val, expected), f"{val!r} is an instance of {expected}", reason)


def is_subclass(val: Any, expected: type, reason: str | None = None) -> None:
    """Checks that a class is a subclass of another."""
    _check(issubclass(val, expected), f"{val!r} is not a subclass of {expected}", reason)


check_true, check_false = true, false
check_none, check_not_none = is_none, is_not_none
check_eq, check_not_eq = eq, not_eq
check_gt, check_gt_eq, check_lt, check_lt_eq = gt, gt_eq, lt, lt_eq
check_eq_len, check_len = equal_lengths, len_eq
check_in, check_not_in = is_in, not_in
check_type, check_isinstance, check_not_isinstance = is_type, is_instance, is_not_instance
check_issubclass = is_subclass
