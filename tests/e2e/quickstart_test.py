#!/usr/bin/env -S python3 -B
"""`deploy/quickstart` interrupted: nothing of its run stays behind, and nothing else ends.

The script is the real one, in a tree whose installer and build do nothing and whose example only
sleeps; det and the daemons are real.
"""
import os
import shutil
import signal
import subprocess
import unittest

import harness

SLEEP_JOB = harness.job(name="sleeps", entrypoint="sleep 600",
                        resources={"slots_per_trial": 2})


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
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
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
