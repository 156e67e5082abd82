#!/usr/bin/env -S python3 -B
"""Tests the Trials in README.md."""
import os
import re
import subprocess

import harness

LAUNCH = os.path.join(harness.ROOT, "trial_api/cpp/sdk/bin/resolute-launch")


def blocks():
    """{language: source} of the Trials."""
    with open(os.path.join(harness.ROOT, "README.md"), encoding="utf-8") as file:
        [_, part] = file.read().split("## A Trial in thirty lines")
    return dict(re.findall(r"^```(python|yaml|cpp)\n(.*?)^```", part, re.M | re.S))


class ReadmeTest(harness.ClusterTestCase):
    def setUp(self):
        shown = blocks()
        self.folder = self.home.context({"line.py": shown["python"], "line.yaml": shown["yaml"],
                                         "line.cc": shown["cpp"]})
        self.config = os.path.join(self.folder, "line.yaml")

    def learns(self, *options):
        """Runs an experiment; returns the error of its last validation."""
        created = self.home.json("experiment", "create", self.config, self.folder,
                              *[x for option in options for x in ("--config", option)])
        return self.home.last_validation(created["experiment"]["id"])["error"]

    def test_python_trial_learns_on_two_slots_and_on_one(self):
        self.assertLess(self.learns(), 1e-3)
        self.assertLess(self.learns("resources.slots_per_trial=1"), 1e-3)

    def test_cpp_trial_learns(self):
        self.assertLess(self.learns("entrypoint=line.cc:LineTrial"), 1e-3)

    def test_cpp_trial_trains_without_a_cluster(self):
        done = subprocess.run(
            [LAUNCH, "--local", "--slots", "2", "--source", "line.cc", "--class", "LineTrial",
             "--config", "line.yaml"], cwd=self.folder, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=harness.TIMEOUT, check=False)
        self.assertEqual(0, done.returncode, done.stdout)
        error = re.findall(r"validation .*error=(\S+)", done.stdout)[-1]
        self.assertLess(float(error), 1e-3, done.stdout)


if __name__ == "__main__":
    harness.main()
