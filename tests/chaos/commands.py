"""Commands among the trials of a chaos run: no line is lost, and no program runs twice."""

import pathlib
import re

from cluster import Cluster, eventually

COUNT = 3
MAX_LINES_IN_PIPE = 3  # between a task and its keeper, which reads each line immediately

# Counts into a file and to its output until the file `stop` exists.
SCRIPT = """i=0
while [ ! -e {stop} ]; do
  i=$((i+1)); echo $$ $i >> {ledger}; echo count $$ $i; sleep 0.05
done
echo ended"""


class Commands:
    """Commands without slots that run until `finish`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._stop = cluster.folder / "stop-commands"
        self._ledgers: dict[str, pathlib.Path] = {}
        for number in range(COUNT):
            ledger = cluster.folder / f"command-{number}.ledger"
            script = SCRIPT.format(stop=self._stop, ledger=ledger)
            launched = cluster.det(
                "command", "run", "--detach", "--config", "resources.slots=0", script
            )
            self._ledgers[launched.strip()] = ledger
        for ledger in self._ledgers.values():
            eventually(ledger.exists, "the begin of a command")

    def finish(self, keepers_killed: set[str]) -> list[str]:
        """Ends the commands; returns what was lost."""
        self._stop.touch()
        problems = []
        for command, ledger in self._ledgers.items():
            eventually(lambda c=command: self._state(c) == "STATE_TERMINATED", "the end of a command")
            killed = f"{command}.1" in keepers_killed
            status = self._describe(command)["exitStatus"]
            if ("success" in status) == killed:
                problems.append(f"command {command} ended with {status!r}; keeper killed: {killed}")
            problems += self._check_log(command, ledger, killed)
        return problems

    def _describe(self, command: str) -> dict:
        return self._cluster.get(f"commands/{command}")[0]["command"]

    def _state(self, command: str) -> str:
        return str(self._describe(command)["state"])

    def _check_log(self, command: str, ledger: pathlib.Path, killed: bool) -> list[str]:
        written = [tuple(line.split()) for line in ledger.read_text().splitlines()]
        logged = [
            match.groups()
            for message in self._cluster.get(f"tasks/{command}/logs")
            if (match := re.search(r"count (\d+) (\d+)", message.get("result", message)["log"]))
        ]
        problems = []
        if len({process for process, _ in written}) != 1:
            problems.append(f"command {command} was started more than once")
        if len(logged) != len(set(logged)):
            problems.append(f"command {command}: log lines are stored twice")
        lost = written[len(logged) :] if logged == written[: len(logged)] else written
        if len(lost) > (MAX_LINES_IN_PIPE if killed else 0):
            problems.append(f"command {command}: {len(lost)} log lines are lost, as {lost[0]}")
        return problems
