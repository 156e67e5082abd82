"""Runs a PyTorchTrial or DeepSpeedTrial, `module:Class` of the current directory.

python3 -m det.exec.harness model_def:Net
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType


def load_class(named: str) -> type:
    """Imports the class that "package.module:Class" names.

    Raises:
        ValueError: The text does not name a class, or the module has no such class.
        ModuleNotFoundError: There is no such module.
    """
    module_name, colon, class_name = named.partition(":")
    if not colon or not module_name or not class_name:
        raise ValueError(f"{named!r} does not name a class; expected module:Class")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        own = module_name.partition(".")[0]
        if error.name == own:
            error.msg += f": there is no {own}.py in {os.getcwd()}"
        else:  # The user may have installed it for another Python.
            error.msg += f": it is not installed for {sys.executable}, which runs this program"
        raise
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        raise ValueError(f"module {module_name} has no class {class_name}")
    return found


def main(arguments: list[str]) -> int:
    """Runs the program; returns its exit code."""
    if len(arguments) != 1:
        print("usage: python3 -m det.exec.harness module:Class", file=sys.stderr)
        return 2
    trial_class = load_class(arguments[0])
    from det import pytorch  # Needs torch, which not all tasks have.
    from det.pytorch import deepspeed

    kind: ModuleType = deepspeed if issubclass(trial_class, deepspeed.DeepSpeedTrial) else pytorch
    kind.run_trial_class(trial_class)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
