"""Finds the Python that runs a program that needs torch.

The first python3 on PATH, for example that of conda or pyenv, often has no torch, while another one
of the machine has. `python3 -m det.launch._python` prints the result; `det deploy local up` calls it.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import subprocess
import sys

VARIABLE = "DET_PYTHON_EXECUTABLE"
_SYSTEM = "/usr/bin/python3"
_TIMEOUT = 30.0  # Seconds; a Python on a network file system may start slowly.
# Prints the path of the Python and whether it has the module, which it does not import.
_PROBE = (
    "import importlib.util, json, sys; spec = importlib.util.find_spec(sys.argv[1]); "
    "print(json.dumps([sys.executable, sys.version_info >= (3, 9) and "
    "spec is not None and spec.origin is not None]))"
)


@dataclasses.dataclass
class Python:
    """The result of a search.

    Attributes:
        path: The Python that has the module; None if none has it.
        tried: The Pythons that do not have it, in the order of the search.
        module: The module.
    """

    path: str | None
    tried: list[str]
    module: str

    def describe(self) -> str:
        """Returns which Python was found, and which have no such module, as one sentence."""
        others = " and ".join(self.tried)
        verb = "has" if len(self.tried) == 1 else "have"
        missing = f"{others} {verb} no module {self.module}"
        if self.path is None:
            return (
                f"{missing}: install it (apt-get install python3-{self.module}, or pip), or set "
                f"{VARIABLE} in environment.environment_variables to a Python that has it"
            )
        return f"{self.path} is used, because {missing}" if self.tried else f"{self.path} is used"


def find_python(module: str = "torch") -> Python:
    """Returns the Python that runs programs which need a module.

    It is $DET_PYTHON_EXECUTABLE if that is set; otherwise the first one that has the module: this
    one, each python3 on PATH, /usr/bin/python3.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return _find_among([chosen], module)
    if _has_module(module):
        return Python(sys.executable, [], module)
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    named = [os.path.join(folder, "python3") for folder in folders]
    return _find_among([sys.executable, *named, _SYSTEM], module)


def _has_module(module: str) -> bool:
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None  # A folder without code has no origin.


def _find_among(candidates: list[str], module: str) -> Python:
    tried: list[str] = []
    for candidate in dict.fromkeys(candidates):
        path, found = _probe(candidate, module)
        if found:
            return Python(path, tried, module)
        if path is not None and path not in tried:
            tried.append(path)
    return Python(None, tried or [f"{candidates[0]} (which does not run)"], module)


def _probe(python: str, module: str) -> tuple[str | None, bool]:
    """Returns the path of a Python, None if it does not run, and whether it has the module."""
    try:
        result = subprocess.run(
            [python, "-B", "-c", _PROBE, module],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=True,
        )
        path, found = json.loads(result.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None, False
    return path or python, found


if __name__ == "__main__":
    python = find_python()
    print(python.describe())
    sys.exit(python.path is None)
