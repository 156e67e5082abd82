"""Launchers whose engine starts the ranks by a program of its own: on the first node, which reaches the
others by a shell (_shell.py) that their launchers serve. What the program starts is this module again,
with --rank in front of the command: it gives the rank the names that all launchers set, runs the command,
puts its rank in front of its lines, and says what it died of.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Iterator

from det._errors import MasterError
from det.launch import _shell, _supervisor
from det.launch._layout import Layout, common_environment, find_layout
from det.launch._run import SLOTS, finish, parse

_SLOTS_OF_NODES = "DET_SLOTS_OF_NODES"  # Ranks of each node, in order.


@dataclasses.dataclass
class Engine:
    """program: `program -np N command` starts it. hosts: its option for nodes, `ADDRESS:RANKS` with
    commas between. variables: by which its processes know their rank, by the names of torch. shell:
    variables that name it the command by which other nodes are reached; without them it runs `ssh`.
    without: an option of the launcher's, with which a single rank is started without the program.
    """

    name: str
    program: str
    options: list[str]
    options_of_root: list[str]
    hosts: str
    variables: dict[str, str]
    shell: dict[str, str] = dataclasses.field(default_factory=dict)
    without: str | None = None


def main(engine: Engine, arguments: list[str]) -> int:
    """The exit code of the program, which ends all ranks when one fails; of another node's launcher 0,
    once the first one's has ended.
    """
    if arguments[:1] == ["--rank"]:
        return run_rank(engine, arguments[1:])
    options, rest = split(engine, arguments)
    alone = engine.without in options
    options = [option for option in options if option != engine.without]
    slots, command = parse(engine.name, rest)
    try:
        layout = find_layout(slots)
        if alone and layout.size == 1:
            rank = {**os.environ, **common_environment(layout), **layout.environment(0)}
            return finish(_supervisor.run([_supervisor.Rank(0, command, rank)]))
        env = environment(layout)
        if layout.node > 0:
            return finish(_shell.serve(env))
        program = [*command_line(engine, layout, options), *of_rank(engine), *command]
        outcome = _start(engine, layout, program, env)
    except (ValueError, MasterError, OSError) as error:
        print(f"ERROR: det.launch.{engine.name}: {error}", file=sys.stderr, flush=True)
        return 1
    return finish(outcome)


def split(engine: Engine, arguments: list[str]) -> tuple[list[str], list[str]]:
    """Options of the engine, which stand in front of "--", and what is the launcher's."""
    at = arguments.index("--") if "--" in arguments else int(arguments[:1] == [engine.without])
    options: list[str] = []
    own: list[str] = []
    words = iter(arguments[:at])
    for word in words:
        name, given, _ = word.partition("=")
        if name not in SLOTS:
            options.append(word)
        else:
            own += [word] if given else [word, next(words, "")]
    return options, own + arguments[at:]


def of_rank(engine: Engine) -> list[str]:
    return [sys.executable, "-m", f"det.launch.{engine.name}", "--rank"]


def environment(layout: Layout) -> dict[str, str]:
    """Of the engine's processes on this node."""
    return {
        **os.environ,
        **common_environment(layout),
        "DET_CHIEF_IP": layout.addresses[0],
        _SLOTS_OF_NODES: json.dumps(layout.processes),
    }


def command_line(engine: Engine, layout: Layout, options: list[str]) -> list[str]:
    """Raises ValueError for what it cannot do."""
    program = shutil.which(engine.program)
    if program is None:
        raise ValueError(f"{engine.program} is not on the PATH; install it where the task runs")
    root = engine.options_of_root if os.geteuid() == 0 else []
    line = [program, *engine.options, *root, *options, "-np", str(layout.size)]
    if len(layout.slots) > 1:
        nodes = zip(layout.addresses, layout.processes)
        line += [engine.hosts, ",".join(f"{address}:{ranks}" for address, ranks in nodes)]
    return line


def _start(
    engine: Engine, layout: Layout, program: list[str], env: dict[str, str]
) -> _supervisor.Outcome:
    with _nodes(layout.addresses[1:]) as nodes, _shell_of(engine, env) as found:
        rank = _supervisor.Rank(None, program, {**env, **(found if nodes else {})})
        outcome = _supervisor.run([rank], watched=nodes)
    return outcome


@contextlib.contextmanager
def _nodes(addresses: list[str]) -> Iterator[list[_shell.Node]]:
    """The others; they end behind the block."""
    nodes: list[_shell.Node] = []
    try:
        for address in addresses:
            nodes.append(_shell.Node(address))
        yield nodes
    finally:
        for node in nodes:
            node.end()


@contextlib.contextmanager
def _shell_of(engine: Engine, env: dict[str, str]) -> Iterator[dict[str, str]]:
    """Variables by which the engine finds the shell."""
    with tempfile.TemporaryDirectory(prefix="det-shell-") as folder:
        ssh = pathlib.Path(folder, "ssh")
        ssh.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m det.launch._shell "$@"\n')
        ssh.chmod(0o700)
        found = {name: value.format(shell=ssh) for name, value in engine.shell.items()}
        yield found or {"PATH": f"{folder}:{env.get('PATH', os.defpath)}"}


def rank_environment(engine: Engine, env: dict[str, str]) -> dict[str, str]:
    """Of a process that the engine has started. Raises ValueError where it has not."""
    told = dict(env)
    told.update(json.loads(told.pop(_shell.OWN, "{}")))
    for ours, name in engine.variables.items():
        if name not in env:
            raise ValueError(f"${name} is missing: {engine.program} has not started this process")
        told[ours] = env[name]
    ranks = json.loads(env.get(_SLOTS_OF_NODES) or "[1]")
    ends = itertools.accumulate(ranks[:-1])
    node = sum(int(told["RANK"]) >= end for end in ends)
    told.update(GROUP_RANK=str(node), GROUP_WORLD_SIZE=str(len(ranks)))
    told.setdefault("MASTER_ADDR", env.get("DET_CHIEF_IP", "127.0.0.1"))
    return told


def run_rank(engine: Engine, command: list[str]) -> int:
    """The command's exit code, 128 + its signal."""
    env = rank_environment(engine, dict(os.environ))
    outcome = _supervisor.run([_supervisor.Rank(int(env["RANK"]), command, env)])
    if outcome.failure:
        print(f"ERROR: {outcome.failure}", file=sys.stderr, flush=True)
    return outcome.code
