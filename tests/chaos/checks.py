"""Compares the results of a chaos run with those of a calm run."""

import dataclasses
import hashlib
import json
import pathlib
import re

from cluster import Cluster
from workload import REPORT_PERIOD

Key = tuple[str, int]  # group, batches
MAX_LINES_IN_PIPE = 3  # between a task and its keeper, which reads each line immediately


@dataclasses.dataclass
class TrialOutcome:
    id: int
    task: str
    hparams: dict
    state: str
    metrics: dict[Key, dict]
    repeated: list[Key]
    restarts: int


@dataclasses.dataclass
class Outcome:
    state: str
    reason: str
    rungs: list
    trials: list[TrialOutcome]


def _messages(lines: list[dict]) -> list[dict]:
    return [line.get("result", line) for line in lines]


def _trial(cluster: Cluster, trial: dict) -> TrialOutcome:
    metrics: dict[Key, dict] = {}
    repeated = []
    path = f"trials/metrics/trial_metrics?trial_ids={trial['id']}"
    for message in _messages(cluster.get(path)):
        for report in message.get("metrics", []):
            if report.get("archived"):
                continue
            key = (report["group"], int(report.get("totalBatches", 0)))
            if key in metrics:
                repeated.append(key)
            metrics[key] = report["metrics"]
    return TrialOutcome(
        trial["id"], trial["taskId"], trial["hparams"], trial["state"], metrics, repeated,
        trial.get("restarts", 0),
    )  # fmt: skip


def outcome(cluster: Cluster, experiment: int) -> Outcome:
    described = cluster.get(f"experiments/{experiment}")[0]["experiment"]
    trials = cluster.get(f"experiments/{experiment}/trials?sort_by=SORT_BY_ID")[0]["trials"]
    search = cluster.get(f"experiments/{experiment}/search")[0]
    rungs = [
        [(rung["length"], int(rung.get("reported", 0)), int(rung.get("continued", 0)),
          rung.get("best")) for rung in bracket["rungs"]]
        for bracket in search["search"].get("brackets", [])
    ]  # fmt: skip
    return Outcome(
        described["state"], described.get("stateReason", ""), rungs,
        [_trial(cluster, trial) for trial in trials],
    )  # fmt: skip


def compare(name: str, calm: Outcome, chaos: Outcome) -> list[str]:
    """Describes the differences. A trial that the search stops may have trained a little further."""
    problems = []
    if chaos.state != "STATE_COMPLETED":
        problems.append(f"{name} ended as {chaos.state}: {chaos.reason}")
    if chaos.rungs != calm.rungs:
        problems.append(f"{name}: different decisions of the search: {chaos.rungs}, calm: {calm.rungs}")
    if [t.hparams for t in calm.trials] != [t.hparams for t in chaos.trials]:
        problems.append(f"{name}: different trials than in the calm run")
        return problems
    for before, after in zip(calm.trials, chaos.trials, strict=True):
        problems += [f"{name}: trial {after.id}: {problem}" for problem in _differences(before, after)]
    return problems


def _differences(calm: TrialOutcome, chaos: TrialOutcome) -> list[str]:
    problems = [f"{key} is stored twice" for key in chaos.repeated]
    if calm.state != chaos.state:
        problems.append(f"{chaos.state} instead of {calm.state}")
    for key in sorted(calm.metrics.keys() & chaos.metrics.keys()):
        if calm.metrics[key] != chaos.metrics[key]:
            problems.append(f"{key} is {chaos.metrics[key]}, calm: {calm.metrics[key]}")
            break
    steps = sorted(batches for group, batches in chaos.metrics if group == "training")
    gaps = set(range(REPORT_PERIOD, (steps or [0])[-1] + 1, REPORT_PERIOD)) - set(steps)
    if gaps or not steps:
        problems.append(f"no training metrics at {sorted(gaps) or 'all'}")
    missing = {key for key in calm.metrics if key[0] == "validation"} - chaos.metrics.keys()
    if missing:
        problems.append(f"validations {sorted(missing)} are missing")
    return problems


def check_logs(
    cluster: Cluster, trial: TrialOutcome, ledger: pathlib.Path, keepers_killed: set[str]
) -> list[str]:
    """Checks that each line of the ledger is in the log exactly once."""
    problems = []
    seen: dict[tuple[int, int], int] = {}
    for message in _messages(cluster.get(f"trials/{trial.id}/logs")):
        match = re.search(rf"batch {trial.id} (\d+) (\d+)", message.get("log", ""))
        if match:
            key = (int(match[1]), int(match[2]))
            seen[key] = seen.get(key, 0) + 1
    twice = sorted(key for key, count in seen.items() if count > 1)
    if twice:
        problems.append(f"trial {trial.id}: {len(twice)} log lines twice, as (run, batch) {twice[0]}")
    written: dict[int, list[int]] = {}
    for line in ledger.read_text().splitlines():
        number, run, batch = map(int, line.split())
        if number == trial.id:
            written.setdefault(run, []).append(batch)
    for run, batches in written.items():
        lost = [batch for batch in batches if (run, batch) not in seen]
        # A process that is killed between writing the ledger and the log may lose its last line; if its
        # keeper is killed, also the lines in the pipe.
        may_lose = MAX_LINES_IN_PIPE if f"{trial.task}.{run}" in keepers_killed else 1
        if lost and lost != batches[-min(len(lost), may_lose) :]:
            problems.append(f"trial {trial.id} run {run}: lost log lines of batches {lost[:5]}...")
    return problems


def check_checkpoints(cluster: Cluster, experiment: int, base: pathlib.Path) -> list[str]:
    """Checks that each registered checkpoint has the files of its manifest with the same content."""
    problems = []
    listed = cluster.get(f"experiments/{experiment}/checkpoints")[0].get("checkpoints", [])
    for checkpoint in (c for c in listed if c["state"] == "STATE_COMPLETED"):
        folder = base / checkpoint["uuid"]
        try:
            manifest = json.loads((folder / "manifest.json").read_text())
            for file in manifest["files"]:
                content = (folder / file["path"]).read_bytes()
                if hashlib.sha256(content).hexdigest() != file["sha256"]:
                    raise OSError(f"{file['path']} is damaged")
        except (OSError, ValueError, KeyError) as error:
            problems.append(f"checkpoint {checkpoint['uuid']}: {error}")
    if not listed:
        problems.append(f"experiment {experiment} has no checkpoint")
    return problems
