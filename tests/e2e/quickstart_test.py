#!/usr/bin/env -S python3 -B
"""`deploy/quickstart`: what it prints and when it succeeds; interrupted, nothing of its run stays behind,
and nothing else ends.

The script is the real one, in a tree whose installer and build do nothing and whose example only
sleeps, or reports what it is told to; det and the daemons are real.
"""
import os
import shutil
import signal
import subprocess
import unittest

import harness

SLEEP_JOB = harness.job(name="sleeps", entrypoint="sleep 600",
                        resources={"slots_per_trial": 2})

# A trial of this accuracy, with a checkpoint.
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


class QuickstartTest(unittest.TestCase):
    def setUp(self):
        self.home = harness.Home()
        self.addCleanup(self.close)
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
               "PATH": os.path.join(self.home.folder, "bin") + ":" + os.environ["PATH"]}
        return subprocess.Popen([self.script], env=env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                encoding="utf-8", start_new_session=True)

    def interrupt_at(self, text):
        """What Ctrl-C does, once the script has said `text`; all that it said."""
        with self.start() as script:
            said = ""
            for line in script.stderr:
                said += line
                if text in line:
                    os.killpg(script.pid, signal.SIGINT)
                    break
            said += script.stderr.read()
            self.assertEqual(3, script.wait(timeout=harness.PATIENCE), said)
        return said

    def run_with_accuracy(self, accuracy):
        """The example's trial reports it; the script's exit code, and the lines on its stdout."""
        self.home.write("tree/examples/fashion_mnist/report.py", REPORTER)
        self.home.write("tree/examples/fashion_mnist/const.yaml", harness.job(
            name="reports", entrypoint=f"exec /usr/bin/python3 report.py {accuracy}",
            searcher={"name": "single", "metric": "accuracy", "smaller_is_better": False},
            resources={"slots_per_trial": 2}))
        with self.start() as script:
            out, err = script.communicate(timeout=harness.PATIENCE)
        return script.returncode, out.splitlines(), err

    def test_a_good_model_is_success_and_said_in_three_lines(self):
        code, lines, err = self.run_with_accuracy(0.95)
        self.assertEqual(0, code, err)
        self.assertEqual(["accuracy 0.9500", f"cluster http://127.0.0.1:{self.home.port}"],
                         [lines[0], lines[2]], lines)
        word, path = lines[1].split(" ", 1)
        self.assertEqual("checkpoint", word)
        self.assertTrue(os.path.isfile(os.path.join(path, "model.pt")), path)
        self.assertEqual(3, len(lines), lines)
        # Run again, it uses what is there.
        before = self.home.members()
        code, again, err = self.run_with_accuracy(0.95)
        self.assertEqual(0, code, err)
        self.assertEqual([lines[0], lines[2]], [again[0], again[2]])
        self.assertNotEqual(lines[1], again[1])
        self.assertIn("using the cluster that runs already", err)
        self.assertEqual(before, self.home.members())

    def test_a_bad_model_is_no_success(self):
        code, lines, err = self.run_with_accuracy(0.5)
        self.assertEqual(1, code, err)
        self.assertEqual("accuracy 0.5000", lines[0])
        self.assertIn("below 0.88", err)
        # There is an experiment to look at.
        self.assertEqual("STATE_COMPLETED", self.home.experiment(1)["state"])

    def test_while_the_cluster_starts_nothing_of_it_stays(self):
        with self.start() as script:
            harness.eventually(lambda: harness.processes_below(self.home.data) or
                               script.poll() is not None, "the master's start")
            os.killpg(script.pid, signal.SIGINT)
            _, said = script.communicate(timeout=harness.PATIENCE)
        self.assertEqual(3, script.returncode, said)
        self.assertEqual([], harness.processes_below(self.home.folder))
        self.home.det("deploy", "local", "status", code=1)

    def test_while_it_builds_nothing_is_started(self):
        self.program("bin/bazel", "echo 'compiling now' >&2; exec sleep 600")
        self.interrupt_at("compiling now")
        self.assertEqual([], harness.processes_below(self.home.folder))
        self.home.det("deploy", "local", "status", code=1)

    def test_while_it_trains_the_experiment_and_the_cluster_end(self):
        said = self.interrupt_at("quickstart: experiment 1;")
        self.assertIn("killed experiment 1", said)
        self.assertEqual([], harness.processes_below(self.home.folder))
        self.home.up()
        self.assertEqual("STATE_CANCELED", self.home.experiment(1)["state"])

    def test_a_cluster_that_ran_before_goes_on(self):
        self.home.up()
        before = self.home.json("deploy", "local", "status")["members"]
        said = self.interrupt_at("quickstart: experiment 1;")
        self.assertIn("using the cluster that runs already", said)
        self.assertEqual("STATE_CANCELED", self.home.experiment(1)["state"])
        self.assertEqual(before, self.home.json("deploy", "local", "status")["members"])


if __name__ == "__main__":
    harness.main()
