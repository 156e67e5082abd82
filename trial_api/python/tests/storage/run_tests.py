#!/usr/bin/python3 -B
"""Runs all *_test.py of this folder with s3fs, gcsfs and adlfs, and reports each case to Bazel.

They are in the virtual environment that `tools/install_packages test` makes.
"""

import os
import sys

PACKAGE = os.path.join(os.getcwd(), "trial_api/python")
TESTS = os.path.join(PACKAGE, "tests")
HERE = os.path.join(TESTS, "storage")
PATHS = [HERE, TESTS, PACKAGE, "tests/e2e", "base/objects/testing"]


def load_tests(loader, _tests, _pattern):
    found = loader.discover(HERE, "*_test.py")
    assert found.countTestCases(), f"no tests in {HERE}"
    return found


if __name__ == "__main__":
    sys.path[:0] = [os.path.join(os.getcwd(), path) for path in PATHS]
    import harness

    venv = harness.find_environment("test")
    if sys.prefix != venv:
        python = os.path.join(venv, "bin/python")
        os.execv(python, [python, "-B", __file__, *sys.argv[1:]])
    harness.main()
