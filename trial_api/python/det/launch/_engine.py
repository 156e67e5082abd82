"""Launchers whose engine starts the ranks with a program of its own, for example mpirun.

The program runs on the first node and reaches the other nodes through a remote shell (_shell.py),
which their launchers serve. On each node it starts this module again, with --rank in front of the
command. That sets the environment variables that all launchers set, runs the command, prefixes its
output with the rank, and reports why it failed.
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

_SLOTS_OF_NODES = "DET_SLOTS_OF_NODES"  # The number of ranks of each node, in order.


@dataclasses.dataclass
class Engine:
    """An engine and how to use it.

    Attributes:
        name: The name of the launcher.
        program: The program: `program -np N command` starts N ranks.
        options: Options that are always passed.
        options_of_root: Options that are passed if the user is root.
        hosts: The option for the nodes, `ADDRESS:RANKS` separated by commas.
        variables: The engine's environment variables for the rank, by torch's names for them.
        shell: Environment variables that name the remote shell; without any, the program runs
            `ssh`.
        without: An option of the launcher: a single rank is started without the program.
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
    """Runs the launcher.

    Returns:
        The exit code of the program, which ends all ranks if one fails. On nodes other than the
        first: 0 after the program on the first node has exited.
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
        program = [*command_line(engine, layout, options), *get_rank_command(engine), *command]
        outcome = _start(engine, layout, program, env)
    except (ValueError, MasterError, OSError) as error:
        print(f"ERROR: det.launch.{engine.name}: {error}", file=sys.stderr, flush=True)
        return 1
    return finish(outcome)


def split(engine: Engine, arguments: list[str]) -> tuple[list[str], list[str]]:
    """Splits the arguments into options of the engine and the launcher's arguments.

    Options of the engine precede "--".
    """
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


def get_rank_command(engine: Engine) -> list[str]:
    """Returns the command that runs this module as a rank."""
    return [sys.executable, "-m", f"det.launch.{engine.name}", "--rank"]


def environment(layout: Layout) -> dict[str, str]:
    """Returns the environment of the engine's processes on this node."""
    return {
        **os.environ,
        **common_environment(layout),
        "DET_CHIEF_IP": layout.addresses[0],
        _SLOTS_OF_NODES: json.dumps(layout.processes),
    }


def command_line(engine: Engine, layout: Layout, options: list[str]) -> list[str]:
    """Returns the command that starts the engine.

    Raises:
        ValueError: The program is not installed.
    """
    program = shutil.which(engine.program)
    if program is None:
        raise ValueError(
            f"{engine.program} is not on the PATH; install it on the machines that run the task"
        )
    root = engine.options_of_root if os.geteuid() == 0 else []
    line = [program, *engine.options, *root, *options, "-np", str(layout.size)]
    if len(layout.slots) > 1:
        nodes = zip(layout.addresses, layout.processes)
        line += [engine.hosts, ",".join(f"{address}:{ranks}" for address, ranks in nodes)]
    return line


def _start(
    engine: Engine, layout: Layout, program: list[str], env: dict[str, str]
) -> _supervisor.Outcome:
    with _nodes(layout.addresses[1:]) as nodes, _make_shell(engine, env) as found:
        rank = _supervisor.Rank(None, program, {**env, **(found if nodes else {})})
        outcome = _supervisor.run([rank], watched=nodes)
    return outcome


@contextlib.contextmanager
def _nodes(addresses: list[str]) -> Iterator[list[_shell.Node]]:
    """Watches the other nodes, which end with the block."""
    nodes: list[_shell.Node] = []
    try:
        for address in addresses:
            nodes.append(_shell.Node(address))
        yield nodes
    finally:
        for node in nodes:
            node.end()


@contextlib.contextmanager
def _make_shell(engine: Engine, env: dict[str, str]) -> Iterator[dict[str, str]]:
    """Provides the environment variables that make the engine use our remote shell."""
    with tempfile.TemporaryDirectory(prefix="det-shell-") as folder:
        ssh = pathlib.Path(folder, "ssh")
        ssh.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m det.launch._shell "$@"\n')
        ssh.chmod(0o700)
        found = {name: value.format(shell=ssh) for name, value in engine.shell.items()}
        yield found or {"PATH": f"{folder}:{env.get('PATH', os.defpath)}"}


def rank_environment(engine: Engine, env: dict[str, str]) -> dict[str, str]:
    """Returns the environment of a rank that the engine has started.

    Raises:
        ValueError: The engine has not started this process.
    """
    result = dict(env)
    result.update(json.loads(result.pop(_shell.OWN, "{}")))
    for ours, name in engine.variables.items():
        if name not in env:
            raise ValueError(f"${name} is not set: {engine.program} has not started this process")
        result[ours] = env[name]
    ranks = json.loads(env.get(_SLOTS_OF_NODES) or "[1]")
    ends = itertools.accumulate(ranks[:-1])
    node = sum(int(result["RANK"]) >= end for end in ends)
    result.update(GROUP_RANK=str(node), GROUP_WORLD_SIZE=str(len(ranks)))
    result.setdefault("MASTER_ADDR", env.get("DET_CHIEF_IP", "127.0.0.1"))
    return result


def run_rank(engine: Engine, command: list[str]) -> int:
    """Runs a rank and returns the exit code of its command; 128 plus the signal that killed it."""
    env = rank_environment(engine, dict(os.environ))
    outcome = _supervisor.run([_supervisor.Rank(int(env["RANK"]), command, env)])
    if outcome.failure:
        print(f"ERROR: {outcome.failure}", file=sys.stderr, flush=True)
    return outcome.code
