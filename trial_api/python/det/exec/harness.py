"""Runs `module:Class` of the current directory, a PyTorchTrial or DeepSpeedTrial that a configuration
names.

    python3 -m det.exec.harness model_def:Net
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any


def load_class(named: str) -> Any:
    """The class that "package.module:Class" names. Raises ValueError for what is not there."""
    module_name, colon, class_name = named.partition(":")
    if not colon or not module_name or not class_name:
        raise ValueError(f"{named!r} names no class; write module:Class")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        own = module_name.partition(".")[0]
        if error.name == own:
            error.msg += f": there is no {own}.py in {os.getcwd()}"
        else:  # Who wonders has installed it, for another one.
            error.msg += f": {sys.executable}, which runs this, has none"
        raise
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        raise ValueError(f"module {module_name} has no class {class_name}")
    return found


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python3 -m det.exec.harness module:Class", file=sys.stderr)
        return 2
    trial_class = load_class(arguments[0])
    from det import pytorch  # Needs torch, which other tasks need not have.
    from det.pytorch import deepspeed

    kind: Any = deepspeed if issubclass(trial_class, deepspeed.DeepSpeedTrial) else pytorch
    kind.run_trial_class(trial_class)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
