#!/usr/bin/env -S python3 -B
"""Kills, stops and disconnects the parts of a real cluster at random while it trains, then looks for
what was lost: compares with a calm run of the same seed. Exit code 0 only if nothing was.

    tests/chaos/run --minutes 5 --seed 7
"""

import argparse
import os
import pathlib
import sys
import time

import checks
from cluster import Cluster
from faults import Faults, StandbyFaults
from standby import StandbyCluster
from workload import Job, jobs

ENDED = ("STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR")
AGENTS = 3


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


def wait(cluster: Cluster, ids: dict[str, int], patience: float) -> None:
    """Until all have ended."""
    end = time.monotonic() + patience
    for name, experiment in ids.items():
        while True:
            state = cluster.get(f"experiments/{experiment}")[0]["experiment"]["state"]
            if state in ENDED:
                break
            if time.monotonic() > end:
                raise AssertionError(f"{name} is {state} after {patience:.0f} s of patience")
            time.sleep(0.2)


Kind = tuple[type[Cluster], type[Faults]]
ONE: Kind = (Cluster, Faults)
TWO: Kind = (StandbyCluster, StandbyFaults)


def play(
    flags: argparse.Namespace, kind: Kind, *, disturbed: bool
) -> tuple[dict[str, checks.Outcome], list[str], int]:
    """One run: what came of each job, what was wrong with it, and the number of faults."""
    keep = flags.keep
    cluster = kind[0](flags.root.resolve(), AGENTS)
    wrong: list[str] = []
    try:
        todo = jobs(flags.minutes, flags.seed, cluster.folder)
        ids = submit(cluster, todo, flags.sources)
        faults = kind[1](cluster, flags.seed, flags.outage)
        if disturbed:
            faults.run(60 * flags.minutes)
        wait(cluster, ids, 60 * (5 * flags.minutes + 5) + flags.outage)
        outcomes = {name: checks.outcome(cluster, id) for name, id in ids.items()}
        for name, experiment in ids.items():
            folder = cluster.folder / name
            for trial in outcomes[name].trials:
                wrong += checks.check_logs(
                    cluster, trial, folder / "ledger", faults.keepers_killed
                )
            wrong += checks.check_checkpoints(cluster, experiment, folder / "checkpoints")
        for fault, count in sorted(faults.counts.items()):
            print(f"  {count:4} {fault}")
        return outcomes, wrong, faults.counts.total()
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
                        help="seconds for which the database is away, at most")  # fmt: skip
    parser.add_argument("--standby", nargs="?", const="only", default="", choices=["only", "also"],
                        help="with two masters: only, or after a run with one")  # fmt: skip
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path.cwd(),
                        help="where the built programs are")  # fmt: skip
    parser.add_argument("--sources", type=pathlib.Path, help="where those of the trials are",
                        default=pathlib.Path("tests/chaos"))  # fmt: skip
    parser.add_argument("--keep", action="store_true", help="leave data and logs there")
    flags = parser.parse_args()
    os.umask(0o022)
    print(f"seed {flags.seed}: calm run", flush=True)
    calm, wrong, _ = play(flags, ONE, disturbed=False)
    wrong = [f"calm run: {what}" for what in wrong]
    faults = restarts = 0
    for kind in {"": [ONE], "only": [TWO], "also": [ONE, TWO]}[flags.standby]:
        print("chaos" if kind == ONE else "chaos with a standby", flush=True)
        chaos, found, injected = play(flags, kind, disturbed=True)
        wrong += found
        for name, before in calm.items():
            wrong += checks.compare(name, before, chaos[name])
        faults += injected
        restarts += sum(trial.restarts for each in chaos.values() for trial in each.trials)
    for what in wrong:
        print(f"LOST: {what}")
    print(f"{faults} faults injected, {restarts} restarts of trials; lost: {len(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
