"""Compares the public names of this package with those of the package that existing scripts import."""

import importlib

from det import _unsupported
from existing_names import NAMES

# These need libraries that users install.
_WITH_TORCH = (
    "determined.pytorch",
    "determined.keras",
    "determined.tensorboard.metric_writers.pytorch",
)
_WITH_OTHERS = ("determined.lightning", "determined.transformers")


def get_modules(with_torch):
    """Returns the modules that a Python with or without torch can import."""
    names = [name for name in NAMES if not name.startswith(_WITH_OTHERS)]
    return [name for name in names if name.startswith(_WITH_TORCH) == with_torch]


def find_differences(modules):
    """Returns what is missing, refused without a hint, or listed as refused and present."""
    problems = []
    for module in modules:
        refused = _unsupported.NAMES.get(module, {})
        hint = _unsupported.find_module_hint(module)
        try:
            importlib.import_module(module)
        except ImportError as error:
            if hint is None or hint not in str(error):
                problems.append(f"{module}: {error!r}")
            continue
        if hint is not None:
            problems.append(f"{module} is listed as refused, and exists")
        for name in NAMES[module]:
            expected = refused.get(name)
            actual = get_refusal(module, name)
            if (expected is None) != (actual is None) or (expected or "") not in (actual or ""):
                problems.append(f"{module}.{name}: expected {expected!r}, and it raises {actual!r}")
        problems += [
            f"{module}.{name} is listed as refused, and the other package does not have it"
            for name in refused
            if name not in NAMES[module]
        ]
    return problems


def get_refusal(module, name):
    """Returns the message of the ImportError of `from MODULE import NAME`; None if there is none."""
    try:
        exec(f"from {module} import {name}", {})
    except ImportError as error:
        return str(error)
    except RuntimeError as error:  # core_v2 has some names only after init().
        assert "call core_v2.init() first" in str(error)
    return None
