"""Small things that scripts import from here."""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any, Callable

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


@contextlib.contextmanager
def import_from_path(path: str | os.PathLike[str]) -> Iterator[None]:
    """In the block modules are found in this folder first, those of the folder's own names there
    alone; behind it they are imported no more, and modules that had their names are there again. So
    the code of a checkpoint may have modules of the names that this program has.

    Raises:
        ValueError: it is no folder.
    """
    folder = pathlib.Path(path).resolve()
    if not folder.is_dir():
        raise ValueError(f"{path} is no folder to import from")
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


def is_overridden(full_method: Callable[..., Any], parent_class: type) -> bool:
    """Whether a bound method is of a class below this one, and not its own."""
    inherited = getattr(parent_class, full_method.__name__, None)
    return getattr(full_method, "__func__", full_method) is not inherited


def force_create_symlink(src: str | pathlib.Path, dst: str | pathlib.Path) -> None:
    """Dst leads to src from now on; a link or a file that was there is replaced."""
    aside = f"{dst}.{os.getpid()}"
    os.symlink(src, aside)
    os.replace(aside, dst)


def sizeof_fmt(val: int | float) -> str:
    """Bytes in words: "1.5 MiB"."""
    amount, unit = float(val), _UNITS[0]
    for unit in _UNITS:
        if abs(amount) < 1024 or unit == _UNITS[-1]:
            break
        amount /= 1024
    return f"{amount:.1f} {unit}"
