#!/usr/bin/env -S python3 -B
"""Tests programs in tasks that use the existing library `determined`, and the same programs with our package.

The order of PYTHONPATH selects one of them.
"""
import json
import os
import sys
import unittest

sys.path[:0] = [os.path.join(os.getcwd(), "tests", name) for name in ("existing_client", "e2e")]
from existing_client import DEBIAN_TORCH, OUR_PACKAGE, SITE_PACKAGES  # noqa: E402

os.environ["PYTHONPATH"] = SITE_PACKAGES  # The agents pass it to tasks.
import harness  # noqa: E402
from harness import job  # noqa: E402

THEIRS_FIRST = f"{DEBIAN_TORCH}:{SITE_PACKAGES}:{OUR_PACKAGE}"
OURS_FIRST = f"{OUR_PACKAGE}:{SITE_PACKAGES}"

WHICH = """
import os, determined
print("library", "theirs" if "site-packages" in os.path.realpath(determined.__file__) else "ours",
      flush=True)
"""

# Counts to three; saves a checkpoint and reports after each step. Exits when preempted.
COUNT = WHICH + """
import sys, time
import determined as det
from determined.common import api, util
from determined.common.api import errors

info = det.get_cluster_info()
assert os.path.realpath(os.getcwd()) == os.path.realpath("/run/determined/workdir")
print("hparams", info.trial.hparams["lr"], len(info.trial.hparams["words"]), info.user_data, flush=True)
with det.core.init() as context:
    context.train.set_status("training")
    first, state = 0, "nothing"
    if info.latest_checkpoint is not None:
        with context.checkpoint.restore_path(info.latest_checkpoint) as path:
            state = (path / "state").read_text()
            first = context.checkpoint.get_metadata(info.latest_checkpoint)["steps_completed"]
    print(f"begins at {first} with {state}", flush=True)
    for step in range(first + 1, 4):
        context.train.report_training_metrics(steps_completed=step, metrics={"loss": 1 / step})
        context.train.report_progress(step / 3)
        with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
            (path / "state").write_text(f"state {step}")
        context.train.report_validation_metrics(steps_completed=step, metrics={"loss": 1 / step})
        if "wait" in sys.argv and step == 2 and first == 0:
            print("waits", flush=True)
            while not context.preempt.should_preempt():
                time.sleep(0.02)
        if context.preempt.should_preempt():
            print("stops", flush=True)
            sys.exit(0)
    context.train.set_metadata({"kind": "count"})
"""

# Measures until it is preempted.
PROFILED = WHICH + """
import time
import determined as det
with det.core.init() as context:
    context.profiler.on(sampling_interval=0.1, samples_per_report=1)
    while not context.preempt.should_preempt():
        time.sleep(0.02)
    context.profiler.off()
"""

INVALID = WHICH + """
import determined as det
with det.core.init() as context:
    raise det.InvalidHP("no such rate")
"""

CORE_V2 = WHICH + """
from determined.experimental import core_v2
core_v2.init(config=core_v2.Config(name="other", hparams={"x": 1}))
core_v2.train.report_validation_metrics(steps_completed=1, metrics={"loss": 0.5})
print("trial", core_v2.info.trial.trial_id, flush=True)
core_v2.close()
"""

SHORT = """
import det
run = det.init(config={"lr": 0.5, "depth": 2})
print("config", run.config, flush=True)
run.log({"loss": 1.0})
run.log({"loss": 0.5}, group="validation")
open("model.pt", "w").write("weights")
run.log_artifact("model.pt")
run.finish()
"""

# Prepares its node as the existing library does; the ranks add up their numbers.
MEET = """
import determined as det
from determined import core

info = det.get_cluster_info()
ranks = core.DistributedContext(
    rank=info.container_rank, size=2, local_rank=0, local_size=1, cross_rank=info.container_rank,
    cross_size=2, chief_ip=info.container_addrs[0])
with core.init(distributed=ranks) as context:
    total = sum(ranks.allgather(ranks.rank + 1))
    print(f"[rank={ranks.rank}] agent {info.agent_id}, slots {info.container_slot_counts}, sum {total}",
          flush=True)
    with context.checkpoint.store_path({"steps_completed": 1}, shard=True) as (path, uuid):
        (path / f"rank-{ranks.rank}").write_text("state")
"""

MODEL = """
import torch
from determined import pytorch

class Net(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(torch.nn.Linear(1, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))
    def data(self):
        values = torch.linspace(0, 1, 32).reshape(-1, 1)
        return torch.utils.data.TensorDataset(values, 2 * values)
    def build_training_data_loader(self):
        return pytorch.DataLoader(self.data(), batch_size=self.context.get_per_slot_batch_size())
    def build_validation_data_loader(self):
        return pytorch.DataLoader(self.data(), batch_size=self.context.get_per_slot_batch_size())
    def loss(self, batch):
        return torch.nn.functional.mse_loss(self.model(batch[0]), batch[1])
    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = self.loss(batch)
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}
    def evaluate_batch(self, batch):
        return {"loss": self.loss(batch)}
"""

TRAIN = WHICH + """
import logging
import determined as det
from determined import pytorch
from model_def import Net

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    with pytorch.init(hparams=info.trial.hparams) as context:
        print("rank", context.distributed.rank, "of", context.distributed.size, flush=True)
        pytorch.Trainer(Net(context), context).fit(
            max_length=pytorch.Batch(8), checkpoint_period=pytorch.Batch(4),
            validation_period=pytorch.Batch(4), reporting_period=pytorch.Batch(2),
            latest_checkpoint=info.latest_checkpoint)
"""

TORCH = {"model_def.py": MODEL, "train.py": TRAIN}
# A script of a user that asks the master with the SDK.
ASK = """
import os, tempfile
import determined
from determined import core
from determined.experimental import client
print("library", "theirs" if "site-packages" in os.path.realpath(determined.__file__) else "ours")
with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    context.train.report_training_metrics(1, {"x": 1.5})
print("models", client.list_models())
trial = client.get_trial(int(os.environ["DET_TRIAL_ID"]))
print("metrics", [report.metrics for report in trial.iter_metrics("training")])
made = client.create_experiment({
    "name": "made", "entrypoint": "true", "searcher": {"name": "single", "metric": "x"},
    "resources": {"slots_per_trial": 0}}, tempfile.mkdtemp())
print("made", made.wait(interval=0.2).name)
"""

# A configuration of a Trial class names what the older entrypoint needs.
TRIAL = {"hyperparameters": {"global_batch_size": 8},
         "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 8}}}


class Case(harness.ClusterTestCase):
    def start(self, path, files, **changes):
        environment = {"environment_variables": [f"PYTHONPATH={path}"]} if path else {}
        config = job(**{"max_restarts": 1, "environment": environment, **changes})
        return self.home.create(config, self.home.context(files))

    def end(self, experiment, state="COMPLETED"):
        """Returns the first trial and its log."""
        described = self.home.finish(experiment)
        trial = self.home.first_trial(experiment)
        log = self.home.trial_log(trial["id"])
        self.assertEqual("STATE_" + state, described["state"], log + self.home.logs())
        return trial, log

    def both(self, files, **changes):
        """Starts a program with each library; yields (name of the library, experiment)."""
        started = [(name, self.start(path, files, **changes))
                   for name, path in (("theirs", THEIRS_FIRST), ("ours", OURS_FIRST))]
        self.addCleanup(lambda: [self.home.det("experiment", "kill", experiment, code=None)
                                 for _, experiment in started])
        return started

    def metrics(self, trial, group):
        text = self.home.det("dev", "curl", f"/api/v1/trials/metrics/trial_metrics?trial_ids={trial}"
                             f"&group={group}").stdout
        result = json.loads(text) if text.strip() else {}
        return result.get("result", result).get("metrics", [])


@unittest.skipUnless(os.geteuid() == 0, "a private mount for each task needs root")
class LibraryTest(Case):
    agents, slots = 1, 2

    def test_runs_a_core_api_script(self):
        hparams = {"lr": 0.1, "words": ["long"] * 50_000}  # Too long for an environment variable.
        for name, experiment in self.both(
                {"count.py": COUNT, "startup-hook.sh": "export PREPARED=yes\n"},
                entrypoint="echo prepared=$PREPARED; python3 count.py", hyperparameters=hparams,
                data={"path": "d"}):
            trial, log = self.end(experiment)
            self.assertEqual(0, trial["restarts"], log)
            for line in (f"library {name}", "prepared=yes", "begins at 0 with nothing",
                         "hparams 0.1 50000 {'path': 'd'}"):
                self.assertIn(line, log)
            steps = [m["totalBatches"] for m in self.metrics(trial["id"], "validation")]
            self.assertEqual([1, 2, 3], steps)
            saved = self.home.json("experiment", "list-checkpoints", experiment)["checkpoints"]
            self.assertEqual({"STATE_COMPLETED"}, {c["state"] for c in saved} - {"STATE_DELETED"})
            metadata = self.home.det("dev", "curl", f"/api/v1/runs/{trial['id']}/metadata").stdout
            self.assertEqual({"kind": "count"}, json.loads(metadata)["metadata"])

    def test_resumes_from_checkpoint_after_preemption(self):
        for name, experiment in self.both(
                {"count.py": COUNT}, entrypoint="python3 count.py wait",
                hyperparameters={"lr": 0.1, "words": []}):
            trial = self.home.first_trial(experiment)["id"]
            harness.eventually(lambda: "waits" in self.home.trial_log(trial), "the second step")
            self.home.det("experiment", "pause", experiment)
            harness.eventually(lambda: "stops" in self.home.trial_log(trial), "its exit")
            self.home.det("experiment", "activate", experiment)
            _, log = self.end(experiment)
            self.assertIn("begins at 2 with state 2", log)

    def test_does_not_retry_invalid_hyperparameters(self):
        for name, experiment in self.both({"invalid.py": INVALID}, entrypoint="python3 invalid.py"):
            self.home.finish(experiment)
            trial = self.home.first_trial(experiment)
            log = self.home.trial_log(trial["id"])
            self.assertIn(f"library {name}", log)
            self.assertEqual((0, 1), (trial["restarts"], len(trial["runs"])), log)

    def test_reports_the_load_of_the_machine(self):
        for _, experiment in self.both({"profiled.py": PROFILED}, entrypoint="python3 profiled.py"):
            trial = self.home.first_trial(experiment)["id"]
            for group in ("cpu", "memory", "disk", "network"):
                harness.eventually(lambda: self.metrics(trial, group), f"metrics of {group}")
            self.home.det("experiment", "cancel", experiment)
            self.end(experiment, "CANCELED")

    def test_core_v2_uses_the_trial_of_its_task(self):
        for name, experiment in self.both({"program.py": CORE_V2}, entrypoint="python3 program.py"):
            trial, log = self.end(experiment)
            self.assertIn(f"library {name}", log)
            self.assertIn(f"trial {trial['id']}", log)
            self.assertEqual(1, len(self.metrics(trial["id"], "validation")), log)

    def test_short_form_reports_to_the_trial_of_its_task(self):
        experiment = self.start(OURS_FIRST, {"program.py": SHORT}, entrypoint="python3 program.py",
                                hyperparameters={"lr": 0.1})
        trial, log = self.end(experiment)
        self.assertIn("config {'lr': 0.1, 'depth': 2}", log)
        for group in ("training", "validation"):
            steps = [m["totalBatches"] for m in self.metrics(trial["id"], group)]
            self.assertEqual([1], steps, log)
        [saved] = self.home.json("experiment", "list-checkpoints", experiment)["checkpoints"]
        self.assertEqual("model.pt", saved["metadata"]["name"])

    def test_command_line_in_a_task_acts_for_the_owner(self):
        _, log = self.end(self.start(None, {}, entrypoint="python3 -m determined.cli user whoami"))
        self.assertIn("You are logged in as user 'admin'", log)
        _, log = self.end(self.start(None, {}, entrypoint="det user whoami"))
        self.assertIn("admin", log)

    def test_sdk_in_a_task_acts_for_the_owner(self):
        for name, experiment in self.both({"ask.py": ASK}, entrypoint="python3 ask.py"):
            _, log = self.end(experiment)
            for line in (f"library {name}", "models []", "metrics [{'x': 1.5}]", "made COMPLETED"):
                self.assertIn(line, log)

    def test_trains_a_trial_class_in_a_script(self):
        for name, experiment in self.both(TORCH, entrypoint="python3 train.py", **TRIAL):
            trial, log = self.end(experiment)
            self.assertIn(f"library {name}", log)
            self.assertIn("rank 0 of 1", log)
            self.assertEqual([4, 8], [m["totalBatches"] for m in self.metrics(trial["id"], "validation")])

    def test_trains_on_two_slots_with_the_launcher(self):
        for path, name in ((THEIRS_FIRST, "theirs"), (OURS_FIRST, "ours")):
            with self.subTest(library=name):
                trial, log = self.end(self.start(
                    path, TORCH, resources={"slots_per_trial": 2}, **TRIAL,
                    entrypoint="python3 -m determined.launch.torch_distributed python3 train.py"))
                for line in (f"library {name}", "rank 0 of 2", "rank 1 of 2"):
                    self.assertIn(line, log)
                steps = [m["totalBatches"] for m in self.metrics(trial["id"], "validation")]
                self.assertEqual([4, 8], steps)

    def test_trains_a_trial_class_that_the_configuration_names(self):
        for _, experiment in self.both(
                TORCH, entrypoint="model_def:Net", min_validation_period={"batches": 4}, **TRIAL):
            trial, log = self.end(experiment)
            steps = [m["totalBatches"] for m in self.metrics(trial["id"], "validation")]
            self.assertEqual([4, 8], steps, log)


@unittest.skipUnless(os.geteuid() == 0, "a private mount for each task needs root")
class TwoAgentsTest(Case):
    agents, slots = 2, 1

    def test_prepares_both_nodes(self):
        experiment = self.start(
            THEIRS_FIRST, {"meet.py": MEET}, resources={"slots_per_trial": 2},
            entrypoint="python3 -m determined.exec.prep_container --download_context_directory "
                       "--resources --proxy && "
                       "python3 -m determined.exec.prep_container --rendezvous && python3 meet.py")
        _, log = self.end(experiment)
        for agent in ("agent-0", "agent-1"):
            self.assertIn(f"agent {agent}, slots [1, 1], sum 3", log)
        [saved] = self.home.json("experiment", "list-checkpoints", experiment)["checkpoints"]
        self.assertLessEqual({"rank-0", "rank-1"}, set(saved["resources"]))


if __name__ == "__main__":
    harness.main()
