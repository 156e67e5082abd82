"""Runs a command and prefixes each line that it writes with its rank, for users' own launchers.

    python3 -m det.launch.wrap_rank RANK python3 train.py

RANK is a number, or names of environment variables separated by commas; the first that is set
contains the rank.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from det.launch import _supervisor
from det.launch._run import make_command

_NO_REDIRECT = "--no-redirect-stdio"  # Existing scripts pass it. Output is never redirected.


def main(arguments: list[str]) -> int:
    """Runs the program.

    Returns:
        The exit code of the command (128 plus its signal); 2 for invalid usage, 1 if it cannot be
        started.
    """
    words = [word for word in arguments[:1] if word != _NO_REDIRECT] + arguments[1:]
    if not words:
        return _usage("no rank")
    command = words[2:] if words[1:2] == ["--"] else words[1:]
    if not command:
        return _usage("no command to run")
    try:
        rank = find_rank(words[0], os.environ)
        one = _supervisor.Rank(rank, make_command(command), dict(os.environ))
        return _supervisor.run([one]).code
    except (ValueError, OSError) as error:
        print(f"ERROR: det.launch.wrap_rank: {error}", file=sys.stderr, flush=True)
        return 1


def find_rank(text: str, env: Mapping[str, str]) -> int:
    """Returns the rank.

    Raises:
        ValueError: There is no rank.
    """
    rank = text if text.isdigit() else next(filter(None, map(env.get, text.split(","))), "")
    if not rank.isdigit():
        raise ValueError(
            f"{text!r} is not a valid rank; expected a number, or variables that contain one"
        )
    return int(rank)


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
