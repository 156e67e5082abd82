"""Starts a program as an agent starts a task, and forwards its output to the scripted master."""

import json
import os
import re
import subprocess
import threading

from fake_master import task_environment

BATCHES, PERIOD, BATCH_SIZE = 8, 4, 4
TIMEOUT = 300  # Seconds; only protects against hanging.


def make_config(folder, ranks):
    return {
        "searcher": {"name": "single", "metric": "sum", "max_length": {"batches": BATCHES}},
        "min_validation_period": {"batches": PERIOD},
        "min_checkpoint_period": {"batches": PERIOD},
        "scheduling_unit": 1,
        "checkpoint_policy": "none",
        "resources": {"slots_per_trial": ranks},
        "checkpoint_storage": {"type": "shared_fs", "host_path": f"{folder}/checkpoints"},
        "hyperparameters": {},
    }


def environment(master, folder, number, run, ports):
    """Returns the environment of an attempt of the trial.

    The attempt resumes from the latest registered checkpoint.
    """
    ranks = run.get("ranks", 1)
    latest = max(master.checkpoints, key=master.checkpoints.get, default=None)
    steps = master.checkpoints.get(latest, 0)
    config = make_config(folder, ranks)
    hparams = {"global_batch_size": BATCH_SIZE, "incidents": run.get("incidents", [])}
    data = {
        "experiment_id": 3,
        "trial_id": 7,
        "trial_run_id": number,
        "trial_seed": 5,
        "allocation_id": f"3.7.{number}",
        "task_id": f"3.7.{number}",
        "hparams": hparams,
        "config": config,
        "latest_checkpoint": latest,
        "warm_start": False,
        "steps_completed": steps,
        "validate_at": [],
        "checkpoint_dir": config["checkpoint_storage"]["host_path"],
    }
    run_dir = os.path.join(folder, f"run-{number}")
    os.makedirs(os.path.join(run_dir, "info"))
    with open(os.path.join(run_dir, "info", "trial.json"), "w", encoding="utf-8") as file:
        json.dump(data, file)
    return task_environment(
        master,
        folder,
        DET_RUN_DIR=run_dir,
        DET_TASK_ID=f"3.7.{number}",
        DET_ALLOCATION_ID=f"3.7.{number}",
        DET_TRIAL_RUN_ID=str(number),
        DET_SLOT_IDS=json.dumps(list(range(ranks))),
        DET_SLOT_TYPE="cpu",
        DET_LATEST_CHECKPOINT=latest,
        DET_STEPS_COMPLETED=str(steps),
        DET_HPARAMS=json.dumps(hparams),
        DET_EXPERIMENT_CONFIG=json.dumps(config),
        C10D_PORT=str(ports[0]),
        INTER_TRAIN_PROCESS_COMM_PORT_1=str(ports[1]),
        **run.get("environment", {}),
    )


def start_and_wait(command, master, env, cwd):
    """Runs a command; returns its exit code."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **env},
        cwd=cwd,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    bound = threading.Timer(TIMEOUT, lambda: os.killpg(process.pid, 9))
    bound.start()
    try:
        with process.stdout:
            for line in process.stdout:
                # Rules match lines of the program without the rank.
                master.record(
                    "log " + re.sub(r"^\[rank=\d+\] (?=holding |settling )", "", line.rstrip("\n"))
                )
        return process.wait()
    finally:
        bound.cancel()
