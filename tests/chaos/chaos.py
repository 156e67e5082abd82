#!/usr/bin/env -S python3 -B
"""Kills, stops and disconnects parts of a real cluster at random while it trains, and compares the
result with a calm run of the same seed. The exit code is 0 only if nothing was lost.

    tests/chaos/run --minutes 5 --seed 7
"""

import argparse
import os
import pathlib
import sys
import time

import checks
from cluster import Cluster
from commands import Commands
from faults import Faults, StandbyFaults
from services import Services
from standby import StandbyCluster
from workload import Job, jobs

ENDED = ("STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR")
AGENTS = 3


class TrialFailed(Exception):
    """A trial failed, although no fault was injected."""


def submit(cluster: Cluster, todo: list[Job], sources: pathlib.Path) -> dict[str, int]:
    context = cluster.folder / "context"
    context.mkdir()
    for name in ("chaos_trial.cc", "chaos_model.py"):
        (context / name).write_text((sources / name).read_text())
    ids = {}
    for job in todo:
        folder = cluster.folder / job.name
        (folder / "checkpoints").mkdir(parents=True)
        ids[job.name] = cluster.create(job.config, context)
    return ids


def wait(cluster: Cluster, ids: dict[str, int], timeout: float, *, disturbed: bool) -> None:
    """Waits until all experiments have ended, at most `timeout` seconds.

    Raises:
        TrialFailed: In a run that is not disturbed, a trial failed. Without this, a trial that
            always fails would restart until the timeout.
    """
    end = time.monotonic() + timeout
    running = dict(ids)
    while running:
        for name, experiment in list(running.items()):
            described = cluster.get(f"experiments/{experiment}")[0]["experiment"]
            state = described["state"]
            if state == "STATE_ERROR" and not disturbed:
                raise TrialFailed(f"{name}: {described.get('stateReason')}")
            if not disturbed and (cause := first_failure(cluster, experiment)):
                raise TrialFailed(f"{name}: {cause}")
            if state in ENDED:
                del running[name]
            elif time.monotonic() > end:
                cause = first_failure(cluster, experiment) or "no trial has failed"
                raise AssertionError(f"{name} is {state} after {timeout:.0f} s: {cause}")
        time.sleep(0.2)


def first_failure(cluster: Cluster, experiment: int) -> str:
    """Returns why a trial restarted for the first time; empty if none has."""
    for trial in cluster.get(f"experiments/{experiment}/trials")[0].get("trials", []):
        if trial.get("restarts"):
            messages = cluster.get(f"trials/{trial['id']}/logs")
            lines = [str(each.get("result", each).get("log", "")).strip() for each in messages]
            cause = next((line for line in lines if "restart 1 of" in line), "it restarted")
            return f"trial {trial['id']}: {cause}"
    return ""


Kind = tuple[type[Cluster], type[Faults]]
ONE: Kind = (Cluster, Faults)
TWO: Kind = (StandbyCluster, StandbyFaults)


def run(
    flags: argparse.Namespace, kind: Kind, *, disturbed: bool
) -> tuple[dict[str, checks.Outcome], list[str], int]:
    """Runs all jobs; returns the outcome of each, the problems found, and the number of faults."""
    keep = flags.keep
    cluster = kind[0](flags.root.resolve(), AGENTS)
    problems: list[str] = []
    try:
        todo = jobs(flags.minutes, flags.seed, cluster.folder)
        ids = submit(cluster, todo, flags.sources)
        commands = Commands(cluster)
        services = Services(cluster)
        faults = kind[1](cluster, flags.seed, flags.outage)
        if disturbed:
            faults.run(60 * flags.minutes)
        problems += services.finish(faults.keepers_killed)
        problems += commands.finish(faults.keepers_killed)
        timeout = 60 * (5 * flags.minutes + 5) + flags.outage
        wait(cluster, ids, timeout, disturbed=disturbed)
        outcomes = {name: checks.outcome(cluster, id) for name, id in ids.items()}
        for name, experiment in ids.items():
            folder = cluster.folder / name
            for trial in outcomes[name].trials:
                problems += checks.check_logs(
                    cluster, trial, folder / "ledger", faults.keepers_killed
                )
            problems += checks.check_checkpoints(cluster, experiment, folder / "checkpoints")
        for fault, count in sorted(faults.counts.items()):
            print(f"  {count:4} {fault}")
        return outcomes, problems, faults.counts.total()
    except BaseException:
        keep = True
        raise
    finally:
        if keep:
            print(f"kept: {cluster.folder}")
        cluster.close(keep)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--outage", type=float, default=20,
                        help="maximum duration of a database outage in seconds")  # fmt: skip
    parser.add_argument("--standby", nargs="?", const="only", default="", choices=["only", "also"],
                        help="run with two masters: only, or also after a run with one")  # fmt: skip
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path.cwd(),
                        help="directory of the built programs")  # fmt: skip
    parser.add_argument("--sources", type=pathlib.Path, help="directory of the trial sources",
                        default=pathlib.Path("tests/chaos"))  # fmt: skip
    parser.add_argument("--keep", action="store_true", help="keep data and logs")
    flags = parser.parse_args()
    os.umask(0o022)
    print(f"seed {flags.seed}: calm run", flush=True)
    try:
        calm, problems, _ = run(flags, ONE, disturbed=False)
    except TrialFailed as failure:
        print(f"FAILED: the calm run: {failure}")
        return 1
    problems = [f"calm run: {problem}" for problem in problems]
    faults = restarts = 0
    for kind in {"": [ONE], "only": [TWO], "also": [ONE, TWO]}[flags.standby]:
        print("chaos" if kind == ONE else "chaos with a standby", flush=True)
        chaos, found, injected = run(flags, kind, disturbed=True)
        problems += found
        for name, before in calm.items():
            problems += checks.compare(name, before, chaos[name])
        faults += injected
        restarts += sum(trial.restarts for each in chaos.values() for trial in each.trials)
    for problem in problems:
        print(f"LOST: {problem}")
    print(f"{faults} faults injected, {restarts} restarts of trials; lost: {len(problems)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
