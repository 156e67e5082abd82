#!/usr/bin/python3 -B
"""Runs all *_test.py of this folder with TensorBoard, and reports each case to Bazel.

It is in the virtual environment that `tools/install_packages notebook` makes.
"""

import os
import subprocess
import sys

PACKAGE = os.path.join(os.getcwd(), "trial_api/python")
TESTS = os.path.join(PACKAGE, "tests")
HERE = os.path.join(TESTS, "tensorboard")


def load_tests(loader, _tests, _pattern):
    found = loader.discover(HERE, "*_test.py")
    assert found.countTestCases(), f"no tests in {HERE}"
    return found


if __name__ == "__main__":
    venv = subprocess.check_output(
        ["tools/python/venv_path", "tools/python/requirements-notebook.txt"], encoding="utf-8"
    ).strip()
    if sys.prefix != venv:
        python = f"{venv}/bin/python"
        if not os.path.exists(python):
            sys.exit(f"{venv} is missing: run tools/install_packages notebook")
        os.execv(python, [python, "-B", __file__, *sys.argv[1:]])
    sys.path[:0] = [HERE, PACKAGE, os.path.join(os.getcwd(), "tests/e2e")]
    os.environ["PYTHONPATH"] = PACKAGE  # Processes that tests start need it too.
    import harness

    harness.main()
