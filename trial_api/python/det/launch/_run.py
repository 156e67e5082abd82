"""What the launchers have in common: command line, ranks, reporting a failure to the master."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import Callable

from det._errors import MasterError
from det._info import connect_to_master, get_cluster_info
from det.core._report_queue import send_unsent
from det.launch import _python, _supervisor
from det.launch._layout import Layout, common_environment, find_layout

_LAST_TIMEOUT = 30.0  # Seconds: the trial ends anyway and does not wait for a master for longer.
SLOTS = ("--slots", "--nproc_per_node", "--nproc-per-node")
# Existing scripts pass options for the libraries' launchers.
_TAKE_OVERRIDES = (
    "torch_distributed",
    "deepspeed",
)
# The launchers of torch's programs: a script that they start usually needs torch.
_NEED_TORCH = _TAKE_OVERRIDES
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '[^']+'$")
Extra = Callable[[Layout, int], dict[str, str]]


def parse(name: str, arguments: list[str]) -> tuple[int | None, list[str]]:
    """Parses the command line. Exits with 2 if it is invalid.

    Returns:
        The number of ranks, None if it is not given, and the command.
    """
    slots: int | None = None
    rest = _without_overrides(arguments) if name in _TAKE_OVERRIDES else list(arguments)
    while rest and rest[0].startswith("-") and rest[0] not in ("--", "--trial"):
        option, equals, value = rest.pop(0).partition("=")
        if option not in SLOTS:
            _usage(name, f"unknown option {option}")
        if not equals:
            value = rest.pop(0) if rest else ""
        if not value.isdigit() or int(value) < 1:
            _usage(name, f"{option} needs a number of processes")
        slots = int(value)
    if rest and rest[0] == "--":
        rest = rest[1:]
    if not rest:
        _usage(name, "no command to run")
    return slots, make_command(rest, needs_torch=name in _NEED_TORCH)


def _without_overrides(arguments: list[str]) -> list[str]:
    """Removes arguments before `--` that are options of the library's own launcher."""
    if "--" not in arguments:
        return list(arguments)
    end = arguments.index("--")
    known: list[str] = []
    foreign: list[str] = []
    for i, word in enumerate(arguments[:end]):
        is_known = word.partition("=")[0] in SLOTS or (i > 0 and arguments[i - 1] in SLOTS)
        (known if is_known else foreign).append(word)
    if foreign and (not foreign[0].startswith("-") or foreign[0] == "--trial"):
        return list(arguments)  # What runs, and its known arguments.
    if foreign:
        words = " ".join(foreign)
        print(
            f"WARNING: ignoring {words}: the launcher of the library is not used",
            file=sys.stderr,
            flush=True,
        )
    return known + arguments[end:]


def make_command(words: list[str], *, needs_torch: bool = False) -> list[str]:
    """Completes a command: Python runs a script, and the harness runs a class.

    A class is run by a Python that has torch, and so is a script with `needs_torch` if there is one.
    Exits with 1 if a class cannot be run; its trial does not restart.
    """
    if words[0] == "--trial":
        if len(words) != 2:
            raise SystemExit("--trial needs one argument, module:Class")
        return [_choose_python(words[1]), "-m", "det.exec.harness", words[1]]
    if words[0].endswith(".py"):
        return [_choose_python() if needs_torch else _get_python(), *words]
    return words


def _get_python() -> str:
    return os.environ.get(_python.VARIABLE) or sys.executable


def _choose_python(trial_class: str = "") -> str:
    """Returns the Python for a class, or for a script, which may not need torch in spite of all."""
    python = _python.find_python()
    if python.path is None:
        if not trial_class:
            return _get_python()
        message = f"cannot run {trial_class}: {python.describe()}"
        print(f"ERROR: {message}", file=sys.stderr, flush=True)
        report_failure(message, "INVALID_CODE")
        raise SystemExit(1)
    if python.path != sys.executable:
        print(f"INFO: {python.describe()}", file=sys.stderr, flush=True)
    return python.path


def launch(name: str, arguments: list[str], extra: Extra, *, one_process: bool = False) -> int:
    """Runs a command once for each slot of this node.

    Args:
        name: The name of the launcher.
        arguments: The arguments of the command line.
        extra: Returns more environment variables of a rank, given the layout and the local rank.
        one_process: Whether to run the command only once, as for the strategy in_process.

    Returns:
        The exit code: 0, or that of the first rank that failed (128 plus its signal).
    """
    slots, command = parse(name, arguments)
    try:
        layout = find_layout(slots, one_process)
        outcome = _supervisor.run(make_ranks(layout, command, extra))
    except (ValueError, MasterError, OSError) as error:
        print(f"ERROR: det.launch.{name}: {error}", file=sys.stderr, flush=True)
        return 1
    if _NO_MODULE.search(outcome.failure) and os.path.basename(command[0]).startswith("python"):
        # The user may have installed it for another Python.
        path = shutil.which(command[0]) or command[0]
        outcome.failure += f": it is not installed for {path}, which runs this program"
    return finish(outcome)


def finish(outcome: _supervisor.Outcome) -> int:
    """Prints and reports the failure of a rank, if one failed, and sends unsent reports.

    Returns:
        The exit code.
    """
    if outcome.failure:
        print(f"ERROR: {outcome.failure}", file=sys.stderr, flush=True)
        report_failure(outcome.failure)
    info = get_cluster_info()
    if info is not None:
        send_unsent(info)
    return outcome.code


def make_ranks(layout: Layout, command: list[str], extra: Extra) -> list[_supervisor.Rank]:
    """Returns the ranks of this node."""
    common = {**os.environ, **common_environment(layout)}
    return [
        _supervisor.Rank(
            layout.first_rank + local,
            command,
            {**common, **layout.environment(local), **extra(layout, local)},
        )
        for local in range(layout.processes[layout.node])
    ]


def report_failure(message: str, reason: str = "FAILED") -> None:
    """Reports to the master why this task fails, which the exit code cannot express.

    Args:
        message: The cause.
        reason: FAILED, or INVALID_CODE if a restart would fail, too.
    """
    info = get_cluster_info()
    if info is None:
        return
    with connect_to_master(info) as master:
        if master.retry_timeout is None or master.retry_timeout > _LAST_TIMEOUT:
            master.retry_timeout = _LAST_TIMEOUT
        try:
            master.post(
                "/det.trial.v1.TrialRuntime/ReportEarlyExit",
                {
                    "allocationId": info.allocation_id,
                    "reason": reason,
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
        "       --slots: the number of processes on this machine (default: one per slot)",
        file=sys.stderr,
    )
    raise SystemExit(2)
