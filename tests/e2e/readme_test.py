#!/usr/bin/env -S python3 -B
"""Tests the commands and the Trials in README.md as they stand, with a Python without torch first on PATH."""
import os
import re
import subprocess
import unittest

import harness


def readme():
    with open(os.path.join(harness.ROOT, "README.md"), encoding="utf-8") as file:
        return file.read()


def section(title):
    """The text of the section."""
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", readme(), re.M | re.S).group(1)


def blocks(title):
    """[(language, source)] of the section."""
    return re.findall(r"^```(\w+)\n(.*?)^```", section(title), re.M | re.S)


def command(title, program):
    """The command in the text of the section, on one line."""
    found = re.search(rf"`({program} [^`]+)`", section(title)).group(1)
    return " ".join(found.split())


class ReadmeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = harness.Home()
        cls.addClassCleanup(cls.close)
        cls.no_torch = cls.home.put_python_without_torch_first()
        cls.started = cls.home.up().stdout
        # The clone, in which the quickstart was run.
        cls.clone = os.path.join(cls.home.folder, "clone")
        os.makedirs(cls.clone)
        os.symlink(harness.ROOT, os.path.join(cls.clone, "bazel-bin"))

    @classmethod
    def close(cls):
        left = cls.home.close()
        assert not left, f"still running after `down`: {left}"

    def setUp(self):
        shown = dict(blocks("A Trial in thirty lines"))
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
        done = self.shell(command("A Trial in thirty lines", "resolute-launch"))
        error = re.findall(r"validation .*error=(\S+)", done)[-1]
        self.assertLess(float(error), 1e-3, done)

    def shell(self, commands, code=0, **env):
        """Runs commands after those of "Try it" that follow the quickstart; returns the output."""
        _, path = blocks("Try it")[-1]
        done = subprocess.run(
            ["bash", "-ec", f"cd {self.clone}; {path}\ncd {self.folder}; {commands}"],
            env={**self.home.env, **env}, input="Secret123\n" * 2, text=True, timeout=harness.TIMEOUT,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(code, done.returncode, done.stdout)
        return done.stdout

    def create(self):
        return command("A Trial in thirty lines", "det experiment create")

    def test_python_trial_runs_with_a_python_that_has_torch(self):
        self.assertRegex(self.started, "(?m)^Trial classes in Python: /.* is used, because "
                         rf"{re.escape(self.no_torch)}\b.* no module torch$")
        output = self.shell(self.create())
        self.assertRegex(output,
                         rf"is used, because {re.escape(self.no_torch)}\b.* no module torch")
        self.assertRegex(output, "COMPLETED +best error")

    def test_python_trial_fails_once_and_says_why_when_its_python_has_no_torch(self):
        option = f"environment.environment_variables=[DET_PYTHON_EXECUTABLE={self.no_torch}]"
        output = self.shell(f"{self.create()} --config '{option}'", code=1)
        self.assertIn("ended in state ERROR: trial", output)
        self.assertIn(f"cannot run line:LineTrial: {self.no_torch} has no module torch: install it "
                      "(apt-get install python3-torch, or pip), or set DET_PYTHON_EXECUTABLE in "
                      "environment.environment_variables", output)
        self.assertNotIn("restart 1 of", output)
        created = re.search(r"created experiment (\d+)", output).group(1)
        trial = self.home.first_trial(created)
        self.assertEqual(0, trial.get("restarts", 0))

    def test_commands_of_users_and_programs(self):
        [(_, commands)] = blocks("Users and programs")
        output = self.shell(commands)
        self.assertIn("ann is now Editor in workspace vision", output)
        self.assertIn('"username": "admin"', self.shell("det dev curl /api/v1/me"))
        self.assertIn('"openapi"', self.shell("det dev curl /api/v1/openapi.json"))


class PackagesTest(unittest.TestCase):
    def test_quickstart_installs_what_the_python_trial_needs(self):
        with open(os.path.join(harness.ROOT, "tools/packages.txt"), encoding="utf-8") as file:
            packages = [line.split() for line in file]
        [torch] = [words for words in packages if words[:1] == ["python3-torch"]]
        self.assertIn("run", torch)


if __name__ == "__main__":
    harness.main()
