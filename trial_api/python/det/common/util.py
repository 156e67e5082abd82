"""Small functions that existing scripts import."""

from __future__ import annotations

import functools
import importlib
import io
import os
import random
import time
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, Callable, TypeVar

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


def strtobool(val: str) -> bool:
    """Converts text such as "yes", "1", "off" or "false" to a bool.

    Args:
        val: The text.

    Raises:
        ValueError: It is neither true nor false.
    """
    if val.lower() in ("y", "yes", "t", "true", "on", "1"):
        return True
    if val.lower() in ("n", "no", "f", "false", "off", "0"):
        return False
    raise ValueError(f"{val!r} is not a truth value; expected yes or no")


def preserve_random_state(fn: Callable[..., _T]) -> Callable[..., _T]:
    """Decorates a function so that it does not change the state of the module random.

    Args:
        fn: The function.
    """

    @functools.wraps(fn)
    def call(*args: object, **kwargs: object) -> _T:
        state = random.getstate()
        try:
            return fn(*args, **kwargs)
        finally:
            random.setstate(state)

    return call


def wait_for(
    predicate: Callable[[], tuple[bool, _T]], timeout: float = 60, interval: float = 0.1
) -> _T:
    """Calls a function until it returns (True, value).

    Args:
        predicate: The function.
        timeout: The seconds after which to give up.
        interval: The seconds between two calls.

    Returns:
        The value.

    Raises:
        TimeoutError: The time is over.
    """
    until = time.monotonic() + timeout
    while True:
        done, value = predicate()
        if done:
            return value
        if time.monotonic() > until:
            raise TimeoutError(f"gave up after {timeout} s")
        time.sleep(interval)


def yaml_safe_load(f: Any) -> Any:
    """Parses YAML with ruamel.yaml or PyYAML, whichever is installed.

    Args:
        f: The text, or an open file.

    Raises:
        ImportError: Neither is installed.
    """
    try:
        ruamel = importlib.import_module("ruamel.yaml")
    except ImportError:
        return _import_yaml().safe_load(f)
    return ruamel.YAML(typ="safe", pure=True).load(f)


def yaml_safe_dump(data: Any, stream: Any = None, default_flow_style: bool | None = None) -> Any:
    """Formats a value as YAML with PyYAML or ruamel.yaml, whichever is installed.

    Args:
        data: The value.
        stream: The file to write to. None: the text is returned.
        default_flow_style: Whether lists and maps are written in one line.

    Raises:
        ImportError: Neither is installed.
    """
    try:
        ruamel = importlib.import_module("ruamel.yaml")
    except ImportError:
        flow = bool(default_flow_style)
        return _import_yaml().safe_dump(data, stream, default_flow_style=flow)
    yaml = ruamel.YAML(typ="safe", pure=True)
    if default_flow_style is not None:
        yaml.default_flow_style = default_flow_style
    if stream is not None:
        return yaml.dump(data, stream)
    text = io.StringIO()
    yaml.dump(data, text)
    return text.getvalue()


def _import_yaml() -> ModuleType:
    try:
        return importlib.import_module("yaml")
    except ImportError:
        raise ImportError(
            "YAML needs the Python package ruamel.yaml or PyYAML: run pip install ruamel.yaml in the "
            "Python environment of the task"
        ) from None


__all__ = [
    "chunks",
    "debug_mode",
    "force_create_symlink",
    "preserve_random_state",
    "sizeof_fmt",
    "strtobool",
    "wait_for",
    "yaml_safe_dump",
    "yaml_safe_load",
]
