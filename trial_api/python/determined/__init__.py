"""`det` under the name that existing scripts import.

`determined.core` is the same module as `det.core`, so a class is the same class under both names.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import Any, Optional

import det
from det import *  # noqa: F403
from det import __version__  # noqa: F401
from det._unsupported import NAMES, find_module_hint, make_error

_OURS, _THEIRS = "det", __name__
_LOADED = ("common", "gpu", "util")


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds `determined.x` as `det.x`; as a loader, also for `python3 -m determined.x`."""

    def __init__(self, spec: Optional[importlib.machinery.ModuleSpec] = None) -> None:
        self._spec = spec  # The module of det.

    def find_spec(
        self,
        fullname: str,
        path: Optional[Sequence[str]],
        target: Optional[types.ModuleType] = None,
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if not fullname.startswith(_THEIRS + "."):
            return None
        hint = find_module_hint(fullname)
        if hint is not None:
            raise make_error(fullname, hint)
        real = importlib.util.find_spec(_OURS + fullname[len(_THEIRS) :])
        if real is None:
            return None
        package = real.submodule_search_locations is not None
        spec = importlib.machinery.ModuleSpec(
            fullname, _Alias(real), origin=real.origin, is_package=package
        )
        spec.has_location = real.has_location
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        assert self._spec is not None
        module = importlib.import_module(self._spec.name)
        _add_hints(module, spec.name)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__spec__ = self._spec  # The import system has set the spec of the alias.

    def get_code(self, fullname: str) -> Any:
        assert self._spec is not None and self._spec.loader is not None
        return self._spec.loader.get_code(self._spec.name)  # type: ignore[attr-defined]

    def get_source(self, fullname: str) -> Any:
        assert self._spec is not None and self._spec.loader is not None
        return self._spec.loader.get_source(self._spec.name)  # type: ignore[attr-defined]

    def is_package(self, fullname: str) -> bool:
        assert self._spec is not None
        return self._spec.submodule_search_locations is not None


def _add_hints(module: types.ModuleType, name: str) -> None:
    """Makes names that do not exist here raise an ImportError that says what to write instead."""
    hints = NAMES.get(name)
    if hints is None or "__getattr__" in vars(module):
        return

    def get_missing(attribute: str) -> object:
        if attribute in hints:
            raise make_error(f"{name}.{attribute}", hints[attribute])
        raise AttributeError(f"module {module.__name__!r} has no attribute {attribute!r}")

    vars(module)["__getattr__"] = get_missing


def __getattr__(name: str) -> object:
    """Loads a module that `import determined` has always loaded, or a name of det."""
    if name in _LOADED:
        return importlib.import_module(f"{_THEIRS}.{name}")
    if name in NAMES[_THEIRS]:
        raise make_error(f"{_THEIRS}.{name}", NAMES[_THEIRS][name])
    return getattr(det, name)


if not any(isinstance(finder, _Alias) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Alias())
core = det.core
_add_hints(core, __name__ + ".core")
sys.modules[__name__ + ".core"] = det.core
