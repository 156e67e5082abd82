"""The jobs of a chaos run. Each of their trials gives bitwise identical results on every run."""

import dataclasses
import pathlib

VALIDATION_PERIOD = 50
REPORT_PERIOD = 10
PAUSE_MS = 10
BATCHES_PER_SECOND = 70  # approximate, with this pause


@dataclasses.dataclass(frozen=True)
class Job:
    config: dict
    name: str


CPP, PYTHON = "chaos_trial.cc:ChaosTrial", "chaos_model:ChaosTrial"


def _config(
    name: str, seed: int, entrypoint: str, slots: int, searcher: dict, ledger: pathlib.Path
) -> dict:
    return {
        "name": name,
        "entrypoint": entrypoint,
        "data": {"pause_ms": PAUSE_MS},
        "hyperparameters": {
            "global_batch_size": 8,
            "learning_rate": {"type": "log", "base": 10, "minval": -4, "maxval": -1.5},
        },
        "resources": {"slots_per_trial": slots},
        "searcher": {"metric": "loss", **searcher},
        "scheduling_unit": REPORT_PERIOD,
        "min_validation_period": {"batches": VALIDATION_PERIOD},
        "min_checkpoint_period": {"batches": VALIDATION_PERIOD},
        "reproducibility": {"experiment_seed": seed},
        # Killed ranks count as restarts.
        "max_restarts": 100_000,
        "checkpoint_storage": {
            "type": "shared_fs",
            "host_path": str(ledger.parent / "checkpoints"),
            "save_trial_latest": 5,
        },
        "environment": {"environment_variables": [f"CHAOS_LEDGER={ledger}"]},
    }


def jobs(minutes: float, seed: int, folder: pathlib.Path) -> list[Job]:
    """Jobs that keep six slots busy for about `minutes` in a calm run.

    Each search runs one trial at a time, so that its decisions depend only on the reports.
    """
    batches = int(minutes * 60 * BATCHES_PER_SECOND) // VALIDATION_PERIOD * VALIDATION_PERIOD
    batches = max(batches, 4 * VALIDATION_PERIOD)
    rung = max(VALIDATION_PERIOD, batches // 8 // VALIDATION_PERIOD * VALIDATION_PERIOD)
    single = {"name": "single", "max_length": {"batches": batches}}
    searchers = {
        "gang": (CPP, 2, single),
        "python": (PYTHON, 2, single),
        "asha": (CPP, 1, {"name": "async_halving", "max_length": {"batches": 4 * rung},
                     "num_rungs": 2, "divisor": 4, "max_trials": 5,
                     "max_concurrent_trials": 1}),
        "random": (CPP, 1, {"name": "random", "max_length": {"batches": max(VALIDATION_PERIOD,
                                                                       batches // 4)},
                       "max_trials": 4, "max_concurrent_trials": 1}),
    }  # fmt: skip
    return [
        Job(_config(name, seed, entrypoint, slots, searcher, folder / name / "ledger"), name)
        for name, (entrypoint, slots, searcher) in searchers.items()
    ]
