#!/usr/bin/env -S python3 -B
"""Runs all *_test.py of this folder, from the root of the tree, and reports each case to Bazel."""

import os
import sys

PACKAGE = os.path.join(os.getcwd(), "trial_api/python")
TESTS = os.path.join(PACKAGE, "tests")
os.environ["PYTHONPATH"] = PACKAGE  # Processes that tests start need it too.
sys.path[:0] = [TESTS, PACKAGE, os.path.join(os.getcwd(), "tests/e2e")]
import harness


def load_tests(loader, _tests, _pattern):
    found = loader.discover(TESTS, "*_test.py")
    assert found.countTestCases(), f"no tests in {TESTS}"
    return found


if __name__ == "__main__":
    harness.main()
