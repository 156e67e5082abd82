#!/usr/bin/env -S python3 -B
"""Tests programs outside of the cluster: core_v2 of the existing client and ours, and det.init()."""
import json
import os
import re
import signal
import subprocess
import sys

sys.path[:0] = [os.path.join(os.getcwd(), "tests", name) for name in ("existing_client", "e2e")]
import existing_client  # noqa: E402
import harness  # noqa: E402

USER, PASSWORD = "boss", "Existing-Passw0rd"

CORE_V2 = """
import sys
from determined.experimental import core_v2

core_v2.init(config=core_v2.Config(
    name="detached", hparams={"lr": 0.1}, labels=["red"], external_experiment_id=sys.argv[1],
    external_trial_id="t", checkpoint_storage=sys.argv[2]))
info = core_v2.info
first = info.trial._steps_completed if hasattr(info.trial, "_steps_completed") else (
    info.trial.steps_completed)
if info.latest_checkpoint is not None:
    with core_v2.checkpoint.restore_path(info.latest_checkpoint) as path:
        assert (path / "state").read_text() == f"state {first}"
print("begins at", first)
for step in range(first + 1, first + 3):
    core_v2.train.report_training_metrics(steps_completed=step, metrics={"loss": 1 / step})
    core_v2.train.report_validation_metrics(steps_completed=step, metrics={"loss": 1 / step})
    core_v2.train.report_progress(0.5)
with core_v2.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
    (path / "state").write_text(f"state {step}")
if "fail" in sys.argv:
    raise ValueError("as told")
core_v2.close()
"""

SHARDED = """
import os, sys
from determined import core
from determined.experimental import core_v2

rank = int(sys.argv[1])
ranks = core.DistributedContext(rank=rank, size=2, local_rank=rank, local_size=2, cross_rank=0,
                                cross_size=1, chief_ip="127.0.0.1")
core_v2.init(distributed=ranks, checkpoint_storage=os.path.abspath("checkpoints"),
             config=core_v2.Config(external_experiment_id=sys.argv[2], external_trial_id="t"))
if rank == 0:
    core_v2.train.report_training_metrics(steps_completed=1, metrics={"loss": 1.0})
with core_v2.checkpoint.store_path({"steps_completed": 1}, shard=True) as (path, uuid):
    (path / f"rank-{rank}").write_text("state")
core_v2.close()
"""

# Continues at the step that it finds in a file; kills itself at some steps.
KILLED = """
import os, sys, det
run = det.init(config={"lr": 1}, run_id=sys.argv[1])
try:
    first = int(open("step").read())
except FileNotFoundError:
    first = 0
for step in range(first + 1, 41):
    run.log({"loss": 1 / step}, step=step)
    with open("step", "w") as file:
        file.write(str(step))
    if step % 10 == 0 and step < 40:
        os.kill(os.getpid(), 9)
run.finish()
"""


class DetachedTest(harness.ClusterTestCase):
    agents, slots = 1, 1

    def setUp(self):
        if not getattr(type(self), "prepared", False):
            existing_client.create_administrator(self.home, USER, PASSWORD)
            type(self).prepared = True
        self.folder = self.home.context()
        self.env = {**self.home.env, "DET_MASTER": f"http://127.0.0.1:{self.home.port}",
                    "DET_USER": USER, "DET_PASS": PASSWORD, "PYTHONUNBUFFERED": "1",
                    "DET_SPOOL_DIR": os.path.join(self.folder, "spool"),
                    "PYTHONPATH": existing_client.OUR_PACKAGE}

    def start(self, program, *arguments, **env):
        command = ["python3", "-B", "-c", program, *arguments]
        process = subprocess.Popen(command, env={**self.env, **env}, cwd=self.folder,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, encoding="utf-8")
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def run_program(self, program, *arguments, code=0, **env):
        return self.end(self.start(program, *arguments, **env), code)

    def end(self, process, code=0, given=None):
        """Waits for the end of a program and checks its exit code; returns its output."""
        out, err = process.communicate(given, timeout=harness.TIMEOUT)
        self.assertEqual(code, process.returncode, out + err)
        return out

    def get(self, path):
        return json.loads(self.home.det("dev", "curl", path).stdout or "{}")

    def find_trial(self, experiment, trial):
        return self.get(f"/api/v1/trials/by-external-id/{experiment}/{trial}")["trial"]

    def reports(self, trial, group="training"):
        """Returns (attempt, step) of each report."""
        result = self.get(f"/api/v1/trials/metrics/trial_metrics?trial_ids={trial}&group={group}")
        found = result.get("result", result).get("metrics", [])
        return [(m["trialRunId"], m["totalBatches"]) for m in found]

    def check_core_v2(self, name, path):
        storage = os.path.join(self.folder, "checkpoints")
        self.run_program(CORE_V2, name, storage, PYTHONPATH=path)
        trial = self.find_trial(name, "t")
        experiment = self.home.experiment(trial["experimentId"])
        self.assert_state(experiment, "COMPLETED")
        self.assertTrue(experiment["unmanaged"])
        self.assertEqual(["red"], experiment["labels"])
        self.assertEqual({"lr": 0.1}, trial["hparams"])
        self.assertIn("begins at 0", self.home.trial_log(trial["id"]))
        self.run_program(CORE_V2, name, storage, PYTHONPATH=path)
        again = self.find_trial(name, "t")
        self.assertEqual(trial["id"], again["id"])
        self.assertIn("begins at 2", self.home.trial_log(trial["id"]))
        self.assertEqual([(1, 1), (1, 2), (2, 3), (2, 4)], self.reports(trial["id"], "validation"))
        saved = self.home.json("experiment", "list-checkpoints", trial["experimentId"])
        self.assertEqual(2, len(saved["checkpoints"]))
        self.run_program(CORE_V2, name, storage, "fail", code=1, PYTHONPATH=path)
        self.assert_state(self.home.experiment(trial["experimentId"]), "ERROR")

    def test_records_core_v2_of_the_existing_client(self):
        self.check_core_v2("theirs", existing_client.SITE_PACKAGES)

    def test_records_core_v2_of_our_package(self):
        self.check_core_v2("ours", existing_client.OUR_PACKAGE)

    def test_records_the_short_form(self):
        self.run_program("""
import det
run = det.init(config={"lr": 0.1}, run_id="five", name="five-lines")
print("trains")
open("model.pt", "w").write("weights")
for step in range(20):
    run.log({"loss": 1 / (step + 1)})
run.log({"loss": 0.5}, step=20, group="validation")
run.log_artifact("model.pt")
run.finish()
""")
        trial = self.find_trial("five", "five")
        self.assert_state(self.home.experiment(trial["experimentId"]), "COMPLETED")
        self.assertEqual([(1, step) for step in range(1, 21)], self.reports(trial["id"]))
        [saved] = self.home.json("experiment", "list-checkpoints", trial["experimentId"])["checkpoints"]
        self.assertEqual(("STATE_COMPLETED", "model.pt"), (saved["state"], saved["metadata"]["name"]))
        self.assertIn("trains", self.home.trial_log(trial["id"]))
        self.assertEqual([], os.listdir(self.env["DET_SPOOL_DIR"]))

    def test_sync_sends_an_offline_run_once(self):
        self.run_program(KILLED, "offline", code=-signal.SIGKILL, DET_MODE="offline")
        for expected in ("sent 10 records", ""):  # Nothing is left for the second.
            self.assertIn(expected, self.home.det("sync", self.env["DET_SPOOL_DIR"]).stdout)
        trial = self.find_trial("offline", "offline")
        self.assertEqual([(1, step) for step in range(1, 11)], self.reports(trial["id"]))
        self.assert_state(self.home.experiment(trial["experimentId"]), "ERROR")

    def test_neither_loses_nor_doubles_reports_when_the_process_is_killed(self):
        for _ in range(3):
            self.run_program(KILLED, "killed", code=-signal.SIGKILL)
        self.run_program(KILLED, "killed")
        trial = self.find_trial("killed", "killed")
        reports = self.reports(trial["id"])
        self.assertEqual(list(range(1, 41)), sorted(step for _, step in reports))
        self.assert_state(self.home.experiment(trial["experimentId"]), "COMPLETED")

    def test_continues_while_the_master_is_away(self):
        process = self.start("""
import det
run = det.init(run_id="away")
run.log({"loss": 1.0})
run.flush()
print("before", flush=True)
input()
for step in range(2, 101):
    run.log({"loss": 1 / step})
print("during", flush=True)
input()
run.finish()
""")
        self.assertEqual("before\n", process.stdout.readline())
        self.home.kill("master")
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual("during\n", process.stdout.readline())
        self.home.up(self.agents, self.slots)
        self.end(process, given="\n")
        trial = self.find_trial("away", "away")
        self.assertEqual([(1, step) for step in range(1, 101)], self.reports(trial["id"]))
        self.assert_state(self.home.experiment(trial["experimentId"]), "COMPLETED")

    def test_ranks_of_a_launcher_find_each_other(self):
        with open(os.path.join(self.folder, "ranks.py"), "w", encoding="utf-8") as file:
            file.write("import det\n"
                       "with det.init(name='ranks') as run:\n"
                       "    run.log({'loss': 1.0 + run.rank})\n"
                       "    print('run', run.id, flush=True)\n")
        done = subprocess.run(
            ["python3", "-B", "-m", "det.launch.torch_distributed", "--slots", "2", "ranks.py"],
            env=self.env, cwd=self.folder, timeout=harness.TIMEOUT, encoding="utf-8",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(0, done.returncode, done.stdout)
        [run] = set(re.findall(r"run (\w+)", done.stdout))
        trial = self.find_trial(run, run)
        for group in ("training", "rank-1"):
            self.assertEqual([(1, 1)], self.reports(trial["id"], group), group)

    def test_ranks_share_a_sharded_checkpoint(self):
        for name, path in (("theirs", existing_client.SITE_PACKAGES),
                           ("ours", existing_client.OUR_PACKAGE)):
            ports = [str(harness.free_port()) for _ in range(2)]
            programs = [self.start(SHARDED, str(rank), f"sharded-{name}", PYTHONPATH=path,
                                   INTER_TRAIN_PROCESS_COMM_PORT_1=ports[0],
                                   INTER_TRAIN_PROCESS_COMM_PORT_2=ports[1])
                        for rank in range(2)]
            for program in programs:
                self.end(program)
            trial = self.find_trial(f"sharded-{name}", "t")
            saved = self.home.json("experiment", "list-checkpoints", trial["experimentId"])
            [checkpoint] = saved["checkpoints"]
            self.assertLessEqual({"rank-0", "rank-1"}, set(checkpoint["resources"]))
            self.assertEqual([(1, 1)], self.reports(trial["id"]))

    def test_records_several_processes_of_one_run(self):
        program = """
import sys, det
run = det.init(run_id="several", rank=int(sys.argv[1]))
run.log({"loss": 1.0 + run.rank})
run.finish()
"""
        processes = [self.start(program, str(rank)) for rank in (1, 0, 2)]
        for process in processes:
            self.end(process)
        trial = self.find_trial("several", "several")
        for group in ("training", "rank-1", "rank-2"):
            self.assertEqual([(1, 1)], self.reports(trial["id"], group), group)
        self.assert_state(self.home.experiment(trial["experimentId"]), "COMPLETED")


if __name__ == "__main__":
    harness.main()
