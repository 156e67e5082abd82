#!/usr/bin/env -S python3 -B
"""Tests of `deploy/quickstart`: its output and exit codes, and the cleanup after an interrupt.

The tests run the real script in a tree whose installer and build do nothing, and whose example sleeps or
reports a given accuracy. det and the daemons are real.
"""
import os
import re
import shutil
import signal
import subprocess
import unittest

import harness

SLEEP_JOB = harness.job(name="sleeps", entrypoint="sleep 600",
                        resources={"slots_per_trial": 2})

# A trial that reports the accuracy given as its argument, and a checkpoint.
REPORTER = '''
import json, os, pathlib, sys, urllib.request, uuid
info = json.loads(pathlib.Path(os.environ["DET_RUN_DIR"], "info/trial.json").read_text())
def call(method, body):
    urllib.request.urlopen(urllib.request.Request(
        os.environ["DET_MASTER"] + "/det.trial.v1.TrialRuntime/" + method,
        data=json.dumps({"allocationId": info["allocation_id"], "trialId": info["trial_id"],
                         "stepsCompleted": 1, **body}).encode(),
        headers={"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]}))
call("ReportMetrics", {"reports": [{"group": "validation", "stepsCompleted": 1,
                                    "metrics": {"accuracy": float(sys.argv[1])}}]})
name = str(uuid.uuid4())
folder = pathlib.Path(info["checkpoint_dir"], name)
folder.mkdir(parents=True)
(folder / "model.pt").write_bytes(bytes(1000))
call("ReportCheckpoint", {"uuid": name, "resources": {"model.pt": 1000}})
'''


LINE = '''
import torch
from det import pytorch


class LineTrial(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.net = context.wrap_model(torch.nn.Linear(1, 1))
        self.sgd = context.wrap_optimizer(torch.optim.SGD(self.net.parameters(), 0.1))

    def build_training_data_loader(self):
        x = torch.linspace(-1, 1, 64).view(-1, 1)
        return x, 3 * x + 1

    build_validation_data_loader = build_training_data_loader

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.context.backward(loss)
        self.context.step_optimizer(self.sgd)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        return {"error": torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])}
'''


class QuickstartTest(unittest.TestCase):
    def setUp(self):
        self.home = harness.Home()
        self.addCleanup(self.close)
        self.no_torch = self.home.put_python_without_torch_first()
        for tool in ("tree/tools/install_packages", "bin/bazel"):
            self.program(tool, "exit 0")
        self.home.write("tree/examples/fashion_mnist/const.yaml", SLEEP_JOB)
        os.makedirs(os.path.join(self.home.folder, "tree/deploy"))
        self.script = os.path.join(self.home.folder, "tree/deploy/quickstart")
        shutil.copy(os.path.join(harness.ROOT, "deploy/quickstart"), self.script)
        os.symlink(harness.ROOT, os.path.join(self.home.folder, "tree/bazel-bin"))

    def close(self):
        self.assertEqual([], self.home.close(), "still running after `down`")

    def program(self, path, body):
        os.chmod(self.home.write(path, f"#!/bin/sh\n{body}\n"), 0o755)

    def start(self):
        env = {**self.home.env, "DET_PORT": str(self.home.port),
               "PATH": os.path.join(self.home.folder, "bin") + ":" + self.home.env["PATH"]}
        return subprocess.Popen([self.script], env=env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                encoding="utf-8", start_new_session=True)

    def interrupt_at(self, text):
        """Sends SIGINT, as Ctrl-C does, when the script prints `text`; returns its output."""
        with self.start() as script:
            output = ""
            for line in script.stderr:
                output += line
                if text in line:
                    os.killpg(script.pid, signal.SIGINT)
                    break
            output += script.stderr.read()
            self.assertEqual(3, script.wait(timeout=harness.TIMEOUT), output)
        return output

    def run_with_accuracy(self, accuracy):
        """Runs the script with a trial of this accuracy; returns exit code, lines of stdout, and
        stderr."""
        self.home.write("tree/examples/fashion_mnist/report.py", REPORTER)
        self.home.write("tree/examples/fashion_mnist/const.yaml", harness.job(
            name="reports", entrypoint=f"exec /usr/bin/python3 report.py {accuracy}",
            searcher={"name": "single", "metric": "accuracy", "smaller_is_better": False},
            resources={"slots_per_trial": 2}))
        with self.start() as script:
            out, err = script.communicate(timeout=harness.TIMEOUT)
        return script.returncode, out.splitlines(), err

    def test_prints_three_lines_when_accuracy_is_sufficient(self):
        code, lines, err = self.run_with_accuracy(0.95)
        self.assertEqual(0, code, err)
        self.assertEqual(["accuracy 0.9500", f"cluster http://127.0.0.1:{self.home.port}"],
                         [lines[0], lines[2]], lines)
        word, path = lines[1].split(" ", 1)
        self.assertEqual("checkpoint", word)
        self.assertTrue(os.path.isfile(os.path.join(path, "model.pt")), path)
        self.assertEqual(3, len(lines), lines)
        # A second run uses the running cluster.
        before = self.home.members()
        code, again, err = self.run_with_accuracy(0.95)
        self.assertEqual(0, code, err)
        self.assertEqual([lines[0], lines[2]], [again[0], again[2]])
        self.assertNotEqual(lines[1], again[1])
        self.assertIn("using the running cluster", err)
        self.assertEqual(before, self.home.members())

    def test_cluster_runs_python_trials_when_the_first_python_has_no_torch(self):
        code, _, err = self.run_with_accuracy(0.95)
        self.assertEqual(0, code, err)
        self.assertRegex(err, rf"is used, because {re.escape(self.no_torch)}\b.* no module torch")
        context = self.home.context({"model.py": LINE})
        experiment = self.home.create(
            harness.job(entrypoint="model:LineTrial",
                        searcher={"name": "single", "metric": "error", "max_length": {"batches": 4}},
                        hyperparameters={"global_batch_size": 8}), context)
        self.assertLess(self.home.last_validation(experiment)["error"], 10)

    def test_fails_when_accuracy_is_too_low(self):
        code, lines, err = self.run_with_accuracy(0.5)
        self.assertEqual(1, code, err)
        self.assertEqual("accuracy 0.5000", lines[0])
        self.assertIn("below 0.88", err)
        # The experiment can be inspected.
        self.assertEqual("STATE_COMPLETED", self.home.experiment(1)["state"])

    def test_interrupt_during_start_stops_the_cluster(self):
        with self.start() as script:
            harness.eventually(lambda: harness.processes_below(self.home.data) or
                               script.poll() is not None, "the start of the master")
            os.killpg(script.pid, signal.SIGINT)
            _, output = script.communicate(timeout=harness.TIMEOUT)
        self.assertEqual(3, script.returncode, output)
        self.assertEqual([], harness.processes_below(self.home.folder))
        self.home.det("deploy", "local", "status", code=1)

    def test_interrupt_during_build_starts_nothing(self):
        self.program("bin/bazel", "echo 'compiling now' >&2; exec sleep 600")
        self.interrupt_at("compiling now")
        self.assertEqual([], harness.processes_below(self.home.folder))
        self.home.det("deploy", "local", "status", code=1)

    def test_interrupt_during_training_kills_the_experiment_and_stops_the_cluster(self):
        output = self.interrupt_at("quickstart: experiment 1;")
        self.assertIn("killed experiment 1", output)
        self.assertEqual([], harness.processes_below(self.home.folder))
        self.home.up()
        self.assertEqual("STATE_CANCELED", self.home.experiment(1)["state"])

    def test_interrupt_leaves_a_cluster_that_was_running_before(self):
        self.home.up()
        before = self.home.json("deploy", "local", "status")["members"]
        output = self.interrupt_at("quickstart: experiment 1;")
        self.assertIn("using the running cluster", output)
        self.assertEqual("STATE_CANCELED", self.home.experiment(1)["state"])
        self.assertEqual(before, self.home.json("deploy", "local", "status")["members"])


if __name__ == "__main__":
    harness.main()
