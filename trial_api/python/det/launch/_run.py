"""What the launchers have in common: the command line, the ranks, the word to the master."""

from __future__ import annotations

import os
import sys
from typing import Callable

from det._errors import MasterError
from det._info import connect_to_master, get_cluster_info
from det.core._report_queue import send_unsent
from det.launch import _supervisor
from det.launch._layout import Layout, common_environment, find_layout

_LAST_PATIENCE = 30.0  # Seconds: the trial ends anyway, it need not wait for a master that is away.
SLOTS = ("--slots", "--nproc_per_node", "--nproc-per-node")
_TAKE_OVERRIDES = ("torch_distributed", "deepspeed")  # As scripts know them.
Extra = Callable[[Layout, int], dict[str, str]]


def parse(name: str, arguments: list[str]) -> tuple[int | None, list[str]]:
    """The number of ranks, where it is given, and the command. Exits with 2 on wrong usage."""
    slots: int | None = None
    rest = _without_overrides(arguments) if name in _TAKE_OVERRIDES else list(arguments)
    while rest and rest[0].startswith("-") and rest[0] not in ("--", "--trial"):
        option, equals, value = rest.pop(0).partition("=")
        if option not in SLOTS:
            _usage(name, f"{option} is not known")
        if not equals:
            value = rest.pop(0) if rest else ""
        if not value.isdigit() or int(value) < 1:
            _usage(name, f"{option} takes a number of processes")
        slots = int(value)
    if rest and rest[0] == "--":
        rest = rest[1:]
    if not rest:
        _usage(name, "there is nothing to run")
    return slots, command_of(rest)


def _without_overrides(arguments: list[str]) -> list[str]:
    """What stands before `--` and is no option of ours was meant for the library's own launcher."""
    if "--" not in arguments:
        return list(arguments)
    end = arguments.index("--")
    own: list[str] = []
    others: list[str] = []
    for i, word in enumerate(arguments[:end]):
        of_ours = word.partition("=")[0] in SLOTS or (i > 0 and arguments[i - 1] in SLOTS)
        (own if of_ours else others).append(word)
    if others and (not others[0].startswith("-") or others[0] == "--trial"):
        return list(arguments)  # What runs, and its own arguments.
    if others:
        words = " ".join(others)
        print(
            f"WARNING: {words}: no such launcher is used here; left out",
            file=sys.stderr,
            flush=True,
        )
    return own + arguments[end:]


def command_of(words: list[str]) -> list[str]:
    """A script is run by this Python, a class by the harness, else it is a command."""
    if words[0] == "--trial":
        if len(words) != 2:
            raise SystemExit("--trial takes one module:Class")
        return [sys.executable, "-m", "det.exec.harness", words[1]]
    if words[0].endswith(".py"):
        return [sys.executable, *words]
    return words


def launch(name: str, arguments: list[str], extra: Extra, *, one_process: bool = False) -> int:
    """Runs a command once per slot of this node (once, with one_process or where the configuration says
    in_process), each with its rank and what `extra` adds. The exit code: 0, or that of the first rank
    that failed (128 + its signal).
    """
    slots, command = parse(name, arguments)
    try:
        layout = find_layout(slots, one_process)
        outcome = _supervisor.run(ranks_of(layout, command, extra))
    except (ValueError, MasterError, OSError) as error:
        print(f"ERROR: det.launch.{name}: {error}", file=sys.stderr, flush=True)
        return 1
    return finish(outcome)


def finish(outcome: _supervisor.Outcome) -> int:
    """Says and tells how a rank failed, if one did, and what they have left; the exit code."""
    if outcome.failure:
        print(f"ERROR: {outcome.failure}", file=sys.stderr, flush=True)
        tell_failure(outcome.failure)
    info = get_cluster_info()
    if info is not None:
        send_unsent(info)
    return outcome.code


def ranks_of(layout: Layout, command: list[str], extra: Extra) -> list[_supervisor.Rank]:
    common = {**os.environ, **common_environment(layout)}
    return [
        _supervisor.Rank(
            layout.first_rank + local,
            command,
            {**common, **layout.environment(local), **extra(layout, local)},
        )
        for local in range(layout.processes[layout.node])
    ]


def tell_failure(message: str) -> None:
    """Why this task is about to end, where the exit code cannot tell."""
    info = get_cluster_info()
    if info is None:
        return
    with connect_to_master(info) as master:
        if master.patience is None or master.patience > _LAST_PATIENCE:
            master.patience = _LAST_PATIENCE
        try:
            master.post(
                "/det.trial.v1.TrialRuntime/ReportEarlyExit",
                {
                    "allocationId": info.allocation_id,
                    "reason": "FAILED",
                    "message": message[:1000],
                },
            )
        except MasterError as error:
            print(f"WARNING: {error}", file=sys.stderr, flush=True)


def _usage(name: str, problem: str) -> None:
    print(
        f"det.launch.{name}: {problem}\n"
        f"usage: python3 -m det.launch.{name} [--slots N] [--] script.py ARGUMENT...\n"
        f"       python3 -m det.launch.{name} [--slots N] [--] --trial module:Class\n"
        "       --slots: processes on this machine, off the cluster; on it one per slot",
        file=sys.stderr,
    )
    raise SystemExit(2)
