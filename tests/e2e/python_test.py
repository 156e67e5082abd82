#!/usr/bin/env -S python3 -B
"""Tests training scripts with the Python package `det`, which tasks can import without installing it."""
import json
import os
import re
import shutil
import subprocess
import sys

import harness
from harness import job

# Counts to four on two ranks; saves a checkpoint and reports after each step. "wait": waits for a file.
COUNT = """
import os, sys, time
import determined as det

def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.02)

with det.core.init() as context:
    info, ranks = context.info, context.distributed
    start = 0
    if info.latest_checkpoint:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            start = int((path / f"rank{ranks.rank}").read_text())
    print(f"begins at {start} of run {info.trial.trial_run_id}", flush=True)
    for step in range(start + 1, 5):
        total = sum(ranks.allgather(ranks.rank + 1))
        context.train.report_training_metrics(step, {"loss": 1 / step, "total": total})
        with context.checkpoint.store_path({"steps_completed": step}, shard=True) as (path, uuid):
            (path / f"rank{ranks.rank}").write_text(str(step))
        context.train.report_validation_metrics(step, {"loss": 1 / step})
        context.train.report_progress(step / 4)
        if step == 3 and "wait" in sys.argv:
            open(sys.argv[-1] + f".{ranks.rank}", "w").close()
        if step == 2 and start == 0:
            context.train.flush()
            ranks.allgather("the master has it")
            if "die" in sys.argv and ranks.rank == 1:
                print("last words", file=sys.stderr, flush=True)
                os.kill(os.getpid(), 9)
            if "wait" in sys.argv:
                print("waits", flush=True)
                wait_for(sys.argv[-1])
            if "preempt" in sys.argv:
                print("holds", flush=True)
            while "preempt" in sys.argv and not context.preempt.should_preempt():
                time.sleep(0.02)
        if context.preempt.should_preempt():
            print("goes", flush=True)
            break
    else:
        if ranks.is_chief:
            assert abs(context.train.get_experiment_best_validation() - 1 / 4) < 1e-6
"""

# Saves three checkpoints, waits for a file, and deletes the first two.
DELETES = """
import os, sys, time
import det
from det import core

with core.init() as context:
    uuids = []
    for step in (1, 2, 3):
        with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (path / "state").write_text(str(step))
        uuids.append(uuid)
    context.train.flush()
    print("saved", *uuids, flush=True)
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.02)
    for number, uuid in enumerate(uuids[:2], 1):
        try:
            context.checkpoint.delete(uuid)
            print(f"number {number} is gone", flush=True)
        except Exception as error:
            print(f"number {number}: {error}", flush=True)
"""

INVALID = """
import det
with det.core.init() as context:
    if context.info.trial.hparams["lr"] > 1:
        raise det.InvalidHP("lr is above 1")
"""

# A class written for another library, named in the configuration. Its first run waits in the sixth
# batch until it is preempted.
TRIAL = """
import time
import torch
from determined import pytorch

class Says(pytorch.PyTorchCallback):
    def on_trial_startup(self, first_batch_idx, checkpoint_uuid):
        print(f"begins at {first_batch_idx}", flush=True)

class Line(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.net = context.wrap_model(torch.nn.Linear(1, 1))
        rate = context.get_hparam("learning_rate")
        self.sgd = context.wrap_optimizer(torch.optim.SGD(self.net.parameters(), rate))

    def build_training_data_loader(self):
        x = torch.linspace(-1, 1, 64).view(-1, 1)
        return x, 3 * x + 1

    build_validation_data_loader = build_training_data_loader

    def build_callbacks(self):
        return {"says": Says()}

    def train_batch(self, batch, epoch_idx, batch_idx):
        first_run = self.context.get_initial_batch() == 0
        waits = first_run and batch_idx == 5 and self.context.distributed.rank == 0
        if waits:
            print("waits", flush=True)
        while waits:
            if self.context._core.preempt.should_preempt(auto_ack=False):
                break
            time.sleep(0.02)
        loss = torch.mean((self.net(batch[0]) - batch[1]) ** 2)
        self.context.backward(loss)
        self.context.step_optimizer(self.sgd)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        return {"error": torch.mean((self.net(batch[0]) - batch[1]) ** 2)}
"""

SDK = """
import sys
from determined.experimental import client
client.login(sys.argv[1])
experiment = client.create_experiment(sys.argv[2], sys.argv[3])
print(experiment.wait().value)
trial = experiment.await_first_trial()
print([m.metrics["loss"] for m in trial.iter_metrics("validation")])
print(any("begins at 0" in line for line in trial.iter_logs()))
best = experiment.top_checkpoint()
print(best.metadata["steps_completed"], sorted(best.resources))
for mode in ("direct", "master"):
    path = best.download("down-" + mode, mode=mode)
    print(open(path + "/rank1").read())
model = client.create_model("counter", metadata={"a": 1})
print(model.register_version(best.uuid).model_version)
print(client.get_model("counter").get_version().checkpoint.uuid == best.uuid)
loss = trial.summary_metrics["validation_metrics"]["loss"]
print(loss["count"], loss["last"], loss["max"])
experiment.set_labels({"b", "a"})
print(experiment.labels)
"""


class ScriptTestCase(harness.ClusterTestCase):
    def create(self, *arguments, text=COUNT, **changes):
        command = ["python3", "-m", "det.launch.torch_distributed", "train.py", *arguments]
        config = job(**{"entrypoint": " ".join(command), "resources": {"slots_per_trial": 2},
                        **changes})
        return self.home.create(config, self.home.context({"train.py": text}))

    def steps(self, trial, group):
        """The steps of all reports that the master has stored."""
        path = f"/api/v1/trials/metrics/trial_metrics?trial_ids={trial}&group={group}"
        results = json.loads(self.home.det("dev", "curl", path).stdout)
        return [report["totalBatches"] for report in results.get("result", results)["metrics"]]

    def assert_logged(self, trial, words):
        harness.eventually(lambda: words in self.home.trial_log(trial), f"log: {words}")


class OneAgentTest(ScriptTestCase):
    agents, slots = 1, 2

    def test_two_ranks_resume_after_preemption(self):
        experiment = self.create("preempt")
        trial = self.home.first_trial(experiment)["id"]
        self.assert_logged(trial, "holds")
        self.home.det("experiment", "pause", experiment)
        self.assert_logged(trial, "[rank=1] goes")
        self.home.det("experiment", "activate", experiment)
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        log = self.home.trial_log(trial)
        for rank in range(2):
            self.assertIn(f"[rank={rank}] begins at 2 of run 2", log)
        self.assertEqual(0, self.home.json("trial", "describe", trial)["trial"]["restarts"])

    def test_next_attempt_resumes_after_a_rank_was_killed(self):
        experiment = self.create("die", max_restarts=1)
        trial = self.home.first_trial(experiment)["id"]
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        log = self.home.trial_log(trial)
        self.assertIn("rank 1 failed: killed by SIGKILL: last words", log)
        self.assertIn("begins at 2 of run 2", log)
        described = self.home.json("trial", "describe", trial)["trial"]
        self.assertEqual(1, described["restarts"])
        self.assertIn("rank 1 failed", described["runs"][0]["exitReason"])

    def test_elastic_trial_starts_with_free_slots(self):
        holder = self.home.create(
            job(entrypoint="echo begun; sleep 600", resources={"slots_per_trial": 1}),
            self.home.context())
        self.assert_logged(self.home.first_trial(holder)["id"], "begun")
        experiment = self.create(resources={"slots_per_trial": {"min": 1, "max": 2}})
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        trial = self.home.first_trial(experiment)["id"]
        log = self.home.trial_log(trial)
        self.assertIn("[rank=0] begins at 0 of run 1", log)
        self.assertNotIn("[rank=1]", log)
        self.assertEqual([1, 2, 3, 4], self.steps(trial, "training"))
        self.home.det("experiment", "kill", holder)
        self.home.finish(holder)

    def test_does_not_retry_invalid_hyperparameters(self):
        experiment = self.create(text=INVALID, max_restarts=3, hyperparameters={"lr": 2})
        self.home.finish(experiment)
        trial = self.home.first_trial(experiment)
        self.assertEqual(1, len(trial["runs"]), self.home.trial_log(trial["id"]))
        self.assertIn("lr is above 1", self.home.trial_log(trial["id"]))

    def test_reports_arrive_once_after_a_master_outage(self):
        flag = os.path.join(self.home.folder, "go-on")
        experiment = self.create("wait", flag)
        trial = self.home.first_trial(experiment)["id"]
        self.assert_logged(trial, "[rank=0] waits")
        self.home.kill("master")
        self.home.write(flag, "")  # It continues without a master.
        harness.eventually(lambda: os.path.exists(flag + ".0"), "step 3")
        self.home.up(self.agents, self.slots)
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        log = self.home.trial_log(trial)
        self.assertEqual(1, log.count("[rank=0] begins at"), log)
        for group in ("training", "validation"):
            self.assertEqual([1, 2, 3, 4], self.steps(trial, group))
        [saved] = self.home.json("experiment", "list-checkpoints", experiment)["checkpoints"]
        self.assertEqual(4, saved["metadata"]["steps_completed"])  # Older checkpoints may have been deleted.

    def test_script_deletes_checkpoints_except_those_of_model_versions(self):
        flag = os.path.join(self.home.folder, "delete")
        experiment = self.home.create(job(entrypoint=f"python3 train.py {flag}"),
                                      self.home.context({"train.py": DELETES}))
        trial = self.home.first_trial(experiment)["id"]
        self.assert_logged(trial, "saved ")
        held, free = re.search("saved (\\S+) (\\S+)", self.home.trial_log(trial)).groups()
        self.home.det("model", "create", "kept")
        self.home.det("model", "register-version", "kept", held)
        self.home.write(flag, "")
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        log = self.home.trial_log(trial)
        self.assertIn(f"number 1: cannot delete checkpoint {held}: a version of a model uses it", log)
        self.assertIn("number 2 is gone", log)
        into = os.path.join(self.home.folder, "kept")
        self.home.det("checkpoint", "download", held, "-o", into)
        with open(os.path.join(into, "state"), encoding="utf-8") as f:
            self.assertEqual("1", f.read())
        self.assertNotEqual(0, self.home.det("checkpoint", "download", free, "-o", into + "2",
                                             code=None).returncode)

    def test_pytorch_trial_resumes_within_an_epoch(self):
        config = job(
            entrypoint="model_def:Line", resources={"slots_per_trial": 2},
            hyperparameters={"global_batch_size": 16, "learning_rate": 0.1},
            min_validation_period={"batches": 10},
            searcher={"name": "single", "metric": "error", "max_length": {"batches": 20}})
        experiment = self.home.create(config, self.home.context({"model_def.py": TRIAL}))
        trial = self.home.first_trial(experiment)["id"]
        self.assert_logged(trial, "[rank=1] begins at 0")
        self.assert_logged(trial, "[rank=0] waits")  # An earlier preemption would stop the ranks earlier.
        self.home.det("experiment", "pause", experiment)
        # The ranks stop one batch after the one in which the chief learns of the preemption.
        harness.eventually(lambda: self.saved(experiment) == [7], "checkpoint of batch 7")
        self.home.det("experiment", "activate", experiment)
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        log = self.home.trial_log(trial)
        for rank in range(2):
            self.assertIn(f"[rank={rank}] begins at 7", log)
        self.assertEqual(0, self.home.json("trial", "describe", trial)["trial"]["restarts"])
        self.assertEqual([10, 20], self.steps(trial, "validation"))

    def saved(self, experiment):
        """The steps of the checkpoints."""
        results = self.home.json("experiment", "list-checkpoints", experiment)["checkpoints"]
        return [checkpoint["metadata"]["steps_completed"] for checkpoint in results]

    def test_sdk_controls_experiments(self):
        config = self.home.write("sdk.yaml", job(
            entrypoint="python3 -m det.launch.torch_distributed train.py",
            resources={"slots_per_trial": 2},
            searcher={"name": "single", "metric": "loss", "smaller_is_better": True}))
        context = self.home.context({"train.py": COUNT})
        script = self.home.write("sdk.py", SDK)
        package = os.path.join(harness.ROOT, "trial_api/python/package")
        done = subprocess.run(
            [sys.executable, "-B", script, f"http://127.0.0.1:{self.home.port}", config, context],
            env={**self.home.env, "PYTHONPATH": package}, cwd=self.home.folder, encoding="utf-8",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=harness.TIMEOUT, check=False)
        self.assertEqual([
            "COMPLETED", "[1, 0.5, 0.3333333333333333, 0.25]", "True",
            "4 ['manifest.json', 'metadata.json', 'rank0', 'rank1']", "4", "4", "1", "True",
            "4 0.25 1", "['a', 'b']"],
            done.stdout.splitlines(), done.stderr + self.home.logs())


class TwoAgentsTest(ScriptTestCase):
    agents, slots = 2, 1

    def test_killed_rank_ends_the_ranks_of_both_nodes(self):
        experiment = self.create("die", max_restarts=1)
        trial = self.home.first_trial(experiment)["id"]
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        log = self.home.trial_log(trial)
        self.assertIn("rank 1 failed: killed by SIGKILL: last words", log)
        for rank in range(2):
            self.assertIn(f"[rank={rank}] begins at 2 of run 2", log)
        self.assertEqual([1, 2, 3, 4], self.steps(trial, "training"))

    def test_example_learns(self):
        example = os.path.join(harness.ROOT, "examples/bring_your_own_script")
        context = self.home.context()
        shutil.copy(f"{example}/train.py", context)
        created = self.home.json("experiment", "create", f"{example}/config.yaml", context)
        experiment = created["experiment"]["id"]
        self.assert_state(self.home.finish(experiment), "COMPLETED")
        trial = self.home.first_trial(experiment)
        error = trial["bestValidation"]["metrics"]["avgMetrics"]["error"]
        self.assertLess(error, 0.01, self.home.trial_log(trial["id"]))


if __name__ == "__main__":
    harness.main()
