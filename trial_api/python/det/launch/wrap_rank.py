"""Puts the rank in front of each line that a command writes; for launchers of the user's own, as
det.launch's do it by themselves.

python3 -m det.launch.wrap_rank RANK python3 train.py

RANK: a number, or names of variables with commas between them, of which the first that is set says it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from det.launch import _supervisor
from det.launch._run import command_of

_HERE = "--no-redirect-stdio"  # Of existing scripts; lines stay here in any case.


def main(arguments: list[str]) -> int:
    """The command's exit code (128 + its signal), 2 for wrong usage, 1 where it cannot be started."""
    words = [word for word in arguments[:1] if word != _HERE] + arguments[1:]
    if not words:
        return _usage("no rank is given")
    command = words[2:] if words[1:2] == ["--"] else words[1:]
    if not command:
        return _usage("there is nothing to run")
    try:
        rank = find_rank(words[0], os.environ)
        one = _supervisor.Rank(rank, command_of(command), dict(os.environ))
        return _supervisor.run([one]).code
    except (ValueError, OSError) as error:
        print(f"ERROR: det.launch.wrap_rank: {error}", file=sys.stderr, flush=True)
        return 1


def find_rank(told: str, env: Mapping[str, str]) -> int:
    """Raises ValueError where no rank is told."""
    said = told if told.isdigit() else next(filter(None, map(env.get, told.split(","))), "")
    if not said.isdigit():
        raise ValueError(f"{told!r} says no rank: give a number, or variables that hold one")
    return int(said)


def _usage(problem: str) -> int:
    print(
        f"det.launch.wrap_rank: {problem}\n"
        "usage: python3 -m det.launch.wrap_rank RANK [--] COMMAND ARGUMENT...\n"
        "       RANK: a number, or VARIABLE[,VARIABLE...]",
        file=sys.stderr,
    )
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
