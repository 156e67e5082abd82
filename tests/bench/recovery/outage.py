"""Measures batches per second before, during and after a master outage in one run.

It uses a real master, agent and Trial (tests/chaos), which records each batch in a file. The
batches sleep to simulate a GPU, so that other load on the machine has little influence.
"""

import os
import pathlib
import shutil
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
CHAOS = HERE.parent.parent / "chaos"
sys.path.append(str(CHAOS))
from cluster import Cluster  # noqa: E402
from harness import eventually  # noqa: E402

PERIOD = 10  # batches between reports


class Training:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.ledger = cluster.folder / "ledger"
        context = cluster.folder / "context"
        context.mkdir()
        shutil.copy(CHAOS / "chaos_trial.cc", context)
        self.experiment = cluster.create(self._config(), context)

    def _config(self) -> dict:
        return {
            "name": "outage",
            "entrypoint": "chaos_trial.cc:ChaosTrial",
            "data": {"pause_ms": 10},
            "hyperparameters": {"global_batch_size": 8, "learning_rate": 0.001},
            "resources": {"slots_per_trial": 1},
            "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 10_000_000}},
            "scheduling_unit": PERIOD,
            "min_validation_period": {"batches": 10_000_000},
            "environment": {"environment_variables": [f"CHAOS_LEDGER={self.ledger}"]},
        }

    def batches(self) -> int:
        return len(self.ledger.read_bytes().splitlines()) if self.ledger.exists() else 0

    def speed(self, seconds: float) -> float:
        """Batches per second during the next `seconds`."""
        first, began = self.batches(), time.monotonic()
        time.sleep(seconds)
        last, ended = self.batches(), time.monotonic()
        return (last - first) / (ended - began)

    def reported(self) -> set[int]:
        """The last batch whose training metrics are in the database."""
        trials = self.cluster.get(f"experiments/{self.experiment}/trials")[0]["trials"]
        path = f"trials/metrics/trial_metrics?trial_ids={trials[0]['id']}&group=training"
        return {
            int(report["totalBatches"])
            for line in self.cluster.get(path)
            for report in line.get("result", line).get("metrics", [])
        }


def outage(root: str, seconds: float, bound: float) -> bool:
    cluster = Cluster(pathlib.Path(root).resolve(), agents=1)
    try:
        training = Training(cluster)
        eventually(lambda: training.batches() > 500, "the first 500 batches", 600)
        before = training.speed(seconds)
        cluster.kill("master")
        during = training.speed(seconds)
        cluster.start_master()
        after = training.speed(seconds)
        expected = set(range(PERIOD, training.batches() // PERIOD * PERIOD, PERIOD))
        eventually(lambda: not expected - training.reported(), "all reports")
    finally:
        cluster.close(keep=bool(os.environ.get("DET_BENCH_KEEP")))
    ratio = 2 * during / (before + after)
    good = ratio >= bound
    print(
        f"training, {seconds:g} s without a master{ratio:>29.3f} x  ({before:.1f}, {during:.1f}, "
        f"{after:.1f} batches/s before, during, after; all {len(expected)} reports stored)"
        f"  at least {bound:g}: {'ok' if good else 'MISSED'}",
        flush=True,
    )
    return good
