#!/usr/bin/env -S python3 -B
"""Tests programs that use the existing `determined` library: its directories, variables and calls.
The library is a replacement for tests (stand_in/) that makes the recorded calls."""
import os
import unittest

os.environ["PYTHONPATH"] = os.path.join(os.getcwd(), "tests/e2e/stand_in")  # The agents pass it to tasks.
import harness  # noqa: E402
from harness import job  # noqa: E402

# Counts to three; saves a checkpoint and reports after each step. Exits when preempted.
COUNT = """
import os, sys
import determined as det
from determined import core
with core.init() as context:
    assert os.path.realpath(os.getcwd()) == os.path.realpath("/run/determined/workdir")
    context.set_status("training")
    first, state = context.restore() or (0, "nothing")
    print(f"begins at {first} with {state}", flush=True)
    for step in range(first + 1, 4):
        context.report("training", step, {"loss": 1 / step})
        context.report_progress(step / 3)
        context.save(step, f"state {step}")
        context.report("validation", step, {"loss": 1 / step})
        if step == 2 and "wait" in sys.argv:
            print("waits", flush=True)
        if context.should_preempt(120 if step == 2 and first == 0 and "wait" in sys.argv else 0):
            print("stops", flush=True)
            sys.exit(0)
    assert abs(context.best() - 1 / 3) < 1e-6, context.best()
    hparams = context.info.trial["hparams"]
    print("hparams", hparams["lr"], len(hparams["words"]), flush=True)
"""

# Each rank sends its number to rank 0, which reports the sum.
MEET = """
import os, socket, time
from determined import core
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
with core.init() as context:
    print(f"[rank={rank}] agent {os.environ['DET_AGENT_ID']}", flush=True)
    if rank == 0:
        total = 0
        with socket.create_server(("", place[1])) as server:
            for _ in range(1, size):
                with server.accept()[0] as other:
                    total += int(other.recv(16))
        context.report("validation", 1, {"loss": total})
        print(f"[rank=0] {size} ranks, sum {total}", flush=True)
    else:
        while True:
            try:
                with socket.create_connection(place) as line:
                    line.sendall(str(rank).encode())
                break
            except ConnectionRefusedError:
                time.sleep(0.02)
"""

CLASS = """
class Net:
    def __init__(self, context):
        self.context = context
    def run(self):
        print("a class of", __name__, flush=True)
        self.context.report("validation", 1, {"loss": 0.5})
"""

INVALID = """
import determined as det
with det.core.init() as context:
    raise det.InvalidHP("no such rate")
"""


@unittest.skipUnless(os.geteuid() == 0, "a private mount for each task needs root")
class DeterminedLibraryTest(harness.ClusterTestCase):
    agents, slots = 2, 1

    def run_job(self, files, *arguments, **changes):
        experiment = self.home.create(job(max_restarts=1, **changes), self.home.context(files),
                                      *arguments)
        described = self.home.finish(experiment)
        trial = self.home.first_trial(experiment)
        return described, trial, self.home.trial_log(trial["id"])

    def test_runs_a_script_after_prep_container(self):
        described, trial, log = self.run_job(
            {"count.py": COUNT, "startup-hook.sh": "export PREPARED=yes\n"},
            entrypoint="echo prepared=$PREPARED; python3 -m determined.exec.prep_container && "
                       "python3 count.py",
            hyperparameters={"lr": 0.1, "words": ["long"] * 50_000})  # Too long for an environment variable.
        self.assert_state(described, "COMPLETED")
        self.assertEqual(0, trial["restarts"], log)
        for line in ("prepared=yes", "begins at 0 with nothing", "hparams 0.1 50000"):
            self.assertIn(line, log)
        storage = described["config"]["checkpoint_storage"]
        saved = self.home.json("experiment", "list-checkpoints", described["id"])["checkpoints"]
        self.assertTrue(saved)
        for checkpoint in saved:
            if checkpoint["state"] == "STATE_COMPLETED":
                self.assertTrue(os.path.exists(
                    f"{storage['host_path']}/{checkpoint['uuid']}/state"), storage)
        self.assertEqual([], os.listdir("/determined_shared_fs"))

    def test_resumes_from_checkpoint_after_preemption(self):
        experiment = self.home.create(
            job(entrypoint="python3 count.py wait",
                hyperparameters={"lr": 0.1, "words": []}), self.home.context({"count.py": COUNT}))
        trial = self.home.first_trial(experiment)["id"]
        harness.eventually(lambda: "waits" in self.home.trial_log(trial), "the second step")
        self.home.det("experiment", "pause", experiment)
        harness.eventually(lambda: "stops" in self.home.trial_log(trial), "its exit after the preemption")
        self.home.det("experiment", "activate", experiment)
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        self.assertIn("begins at 2 with state 2", self.home.trial_log(trial))

    def test_rendezvous_of_two_agents(self):
        described, _, log = self.run_job(
            {"meet.py": MEET}, resources={"slots_per_trial": 2},
            entrypoint="python3 -m determined.launch.torch_distributed python3 meet.py")
        self.assert_state(described, "COMPLETED")
        self.assertIn("2 ranks, sum 1", log)
        for agent in ("agent-0", "agent-1"):
            self.assertIn(f"agent {agent}", log)

    def test_runs_a_class_with_the_launcher_of_the_library(self):
        described, _, log = self.run_job(
            {"model_def.py": CLASS}, entrypoint="model_def:Net",
            searcher={"name": "single", "metric": "loss", "max_length": {"batches": 1}})
        self.assert_state(described, "COMPLETED")
        self.assertIn("a class of model_def", log)

    def test_does_not_retry_invalid_hyperparameters(self):
        _, trial, log = self.run_job({"invalid.py": INVALID}, entrypoint="python3 invalid.py")
        self.assertEqual(0, trial["restarts"], log)
        self.assertEqual(1, len(trial["runs"]), log)


if __name__ == "__main__":
    harness.main()
