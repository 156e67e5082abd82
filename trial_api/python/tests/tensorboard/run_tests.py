#!/usr/bin/python3 -B
"""Runs all *_test.py of this folder with TensorBoard, and reports each case to Bazel.

It is in the virtual environment that `tools/install_packages test` makes.
"""

import os
import sys

PACKAGE = os.path.join(os.getcwd(), "trial_api/python")
TESTS = os.path.join(PACKAGE, "tests")
HERE = os.path.join(TESTS, "tensorboard")


def load_tests(loader, _tests, _pattern):
    found = loader.discover(HERE, "*_test.py")
    assert found.countTestCases(), f"no tests in {HERE}"
    return found


if __name__ == "__main__":
    sys.path[:0] = [os.path.join(os.getcwd(), path) for path in [HERE, PACKAGE, "tests/e2e"]]
    import harness

    venv = harness.find_environment("notebook")
    if sys.prefix != venv:
        python = os.path.join(venv, "bin/python")
        os.execv(python, [python, "-B", __file__, *sys.argv[1:]])
    os.environ["PYTHONPATH"] = PACKAGE  # Processes that tests start need it too.
    harness.main()
