#!/usr/bin/env -S python3 -B
"""Tests that a chaos run ends with the reason if a trial fails by itself."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "e2e"))
import harness  # noqa: E402


class FailureTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def chaos(self, sources="tests/chaos", **env):
        """Returns the last line of a run that fails."""
        words = [sys.executable, "-B", "tests/chaos/chaos.py", "--minutes", "0.05",
                 "--sources", str(sources)]  # fmt: skip
        done = subprocess.run(
            words, env={**os.environ, **env}, encoding="utf-8", stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=harness.TIMEOUT, check=False,
        )  # fmt: skip
        for kept in re.findall(r"^kept: (\S+)$", done.stdout, re.MULTILINE):
            shutil.rmtree(kept, ignore_errors=True)
        self.assertEqual(1, done.returncode, done.stdout)
        return done.stdout.splitlines()[-1]

    def test_names_the_python_that_has_no_torch(self):
        venv.create(self.folder / "conda", symlinks=True)
        python = str(self.folder / "conda/bin/python3")
        last = self.chaos(DET_PYTHON_EXECUTABLE=python)
        self.assertIn("FAILED: the calm run: python: trial ", last)
        self.assertIn(f"cannot run chaos_model:ChaosTrial: {python} has no module torch", last)

    def test_ends_at_the_first_restart(self):
        for name in ("chaos_trial.cc", "chaos_model.py"):
            text = (HERE / name).read_text()
            (self.folder / name).write_text(
                text if name.endswith(".cc") else "import no_such_module\n" + text
            )
        last = self.chaos(self.folder)
        self.assertRegex(
            last,
            r"^FAILED: the calm run: python: trial \d+: restart 1 of 100000: rank \d failed: exit code "
            "1: ModuleNotFoundError: No module named 'no_such_module': it is not installed for /",
        )


if __name__ == "__main__":
    harness.main()
