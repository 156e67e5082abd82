"""Launchers whose engine starts the ranks by a program of its own, on one node. The program's child
is this module again, with --rank in front of the command: it gives the rank the names that all
launchers set, and becomes the command."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
from typing import Dict, List

from det._errors import MasterError
from det.launch import _supervisor
from det.launch._layout import Layout, common_environment, find_layout
from det.launch._run import finish, parse


@dataclasses.dataclass
class Engine:
    """program: `program -np N command` starts it. variables: by which its processes know their
    rank, by the names of torch."""

    name: str
    program: str
    options: List[str]
    options_of_root: List[str]
    variables: Dict[str, str]


def main(engine: Engine, arguments: List[str]) -> int:
    """The exit code of the program, which ends all ranks when one fails."""
    if arguments[:1] == ["--rank"]:
        become(engine, arguments[1:])
    slots, command = parse(engine.name, arguments)
    try:
        layout = find_layout(slots)
        program = command_line(engine, layout)
        env = {**os.environ, **common_environment(layout), "DET_CHIEF_IP": layout.addresses[0]}
        wrapped = [*program, sys.executable, "-m", f"det.launch.{engine.name}", "--rank", *command]
        outcome = _supervisor.run([_supervisor.Rank(None, wrapped, env)])
    except (ValueError, MasterError, OSError) as error:
        print(f"ERROR: det.launch.{engine.name}: {error}", file=sys.stderr, flush=True)
        return 1
    return finish(outcome)


def command_line(engine: Engine, layout: Layout) -> List[str]:
    """Raises ValueError for what it cannot do."""
    if len(layout.slots) > 1:
        raise ValueError(
            f"{engine.program} reaches other nodes by remote shells, which are not there: use "
            "det.launch.torch_distributed, or as many slots_per_trial as one node has"
        )
    program = shutil.which(engine.program)
    if program is None:
        raise ValueError(f"{engine.program} is not on the PATH; install it where the task runs")
    root = engine.options_of_root if os.geteuid() == 0 else []
    return [program, *engine.options, *root, "-np", str(layout.size)]


def rank_environment(engine: Engine, env: Dict[str, str]) -> Dict[str, str]:
    """Of a process that the engine has started. Raises ValueError where it has not."""
    told = dict(env)
    for ours, name in engine.variables.items():
        if name not in env:
            raise ValueError(f"${name} is missing: {engine.program} has not started this process")
        told[ours] = env[name]
    told.update(GROUP_RANK="0", GROUP_WORLD_SIZE="1")
    told.setdefault("MASTER_ADDR", env.get("DET_CHIEF_IP", "127.0.0.1"))
    return told


def become(engine: Engine, command: List[str]) -> None:
    """Replaces this process by the command."""
    env = rank_environment(engine, dict(os.environ))
    os.execvpe(command[0], command, env)
