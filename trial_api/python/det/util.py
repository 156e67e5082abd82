"""Small functions that existing scripts import."""

from __future__ import annotations

import contextlib
import enum
import importlib
import inspect
import json
import numbers
import os
import pathlib
import sys
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Callable

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


@contextlib.contextmanager
def import_from_path(path: str | os.PathLike[str]) -> Iterator[None]:
    """Imports modules from a directory first, for the duration of a `with` block.

    Modules whose names also exist in the directory are hidden during the block and restored after
    it, and modules that the block imported from the directory are forgotten. The code of a
    checkpoint may thus use the same module names as this program.

    Args:
        path: The directory.

    Raises:
        ValueError: The path is not a directory.
    """
    folder = pathlib.Path(path).resolve()
    if not folder.is_dir():
        raise ValueError(f"{path} is not a directory")
    own = {entry.stem if entry.is_file() else entry.name for entry in folder.iterdir()}
    hidden = {name: sys.modules[name] for name in list(sys.modules) if name.split(".")[0] in own}
    for name in hidden:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in list(sys.modules):
            if name.split(".")[0] in own:
                del sys.modules[name]
        sys.modules.update(hidden)


def is_overridden(full_method: Callable[..., object], parent_class: type) -> bool:
    """Returns whether a bound method overrides that of a parent class.

    Args:
        full_method: A bound method of an object.
        parent_class: The class that may define a method of the same name.
    """
    inherited = getattr(parent_class, full_method.__name__, None)
    return getattr(full_method, "__func__", full_method) is not inherited


def has_param(fn: Callable[..., object], name: str, pos: int | None = None) -> bool:
    """Returns whether a function has a parameter of a name.

    Args:
        fn: The function.
        name: The name.
        pos: The number of positional parameters that are enough, whatever their names are.
    """
    parameters = inspect.signature(fn).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return any(p.name == name for p in parameters) or (pos is not None and len(positional) >= pos)


def is_numerical_scalar(value: object) -> bool:
    """Returns whether a value is a number, also one of NumPy or an array without dimensions.

    Args:
        value: The value.
    """
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    return isinstance(value, numbers.Real)


def json_encode(obj: object, indent: str | None = None, sort_keys: bool = False) -> str:
    """Encodes a value as JSON, also numbers, arrays of NumPy, UUIDs, times and enumerations.

    Args:
        obj: The value.
        indent: As in json.dumps().
        sort_keys: As in json.dumps().

    Raises:
        TypeError: It contains another value.
    """
    return json.dumps(obj, indent=indent, sort_keys=sort_keys, default=_to_json)


def _to_json(value: object) -> object:
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, uuid.UUID):
        return str(value)
    for name in ("isoformat", "tolist"):
        convert = getattr(value, name, None)
        if callable(convert):
            return convert()
    raise TypeError(f"a value of type {type(value).__name__} is not JSON")


def merge_dicts(base_dict: Mapping[str, Any], source_dict: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the merged entries of two dictionaries, also of nested ones.

    Args:
        base_dict: The first.
        source_dict: The second, whose values have precedence.
    """
    result = dict(base_dict)
    for name, value in source_dict.items():
        base = result.get(name)
        if isinstance(value, Mapping) and isinstance(base, Mapping):
            value = merge_dicts(base, value)
        result[name] = value
    return result


def force_create_symlink(src: str | pathlib.Path, dst: str | pathlib.Path) -> None:
    """Creates the link dst to src; replaces a link or a file that is there.

    Args:
        src: The path that the link points to.
        dst: The path of the link.

    Raises:
        OSError: The link cannot be created.
    """
    aside = f"{dst}.{os.getpid()}"
    os.symlink(src, aside)
    os.replace(aside, dst)


def sizeof_fmt(val: int | float) -> str:
    """Returns a number of bytes as text, for example "1.5 MiB".

    Args:
        val: The number of bytes.

    Returns:
        The number with one decimal and a unit from B to the largest that is needed, in powers of
        1024.
    """
    amount, unit = float(val), _UNITS[0]
    for unit in _UNITS:
        if abs(amount) < 1024 or unit == _UNITS[-1]:
            break
        amount /= 1024
    return f"{amount:.1f} {unit}"
