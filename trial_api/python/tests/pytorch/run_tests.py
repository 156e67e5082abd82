#!/usr/bin/python3 -B
"""Runs all *_test.py beside this file with Debian's torch, and reports each case to Bazel."""

import os
import sys

HERE = os.path.join(os.getcwd(), "trial_api/python/tests/pytorch")
PACKAGE = os.path.join(os.getcwd(), "trial_api/python/package")
if not os.path.isdir(PACKAGE):  # Started manually in the root of the source tree.
    PACKAGE = os.path.join(os.getcwd(), "trial_api/python")
os.environ["PYTHONPATH"] = PACKAGE  # Also for the ranks.
sys.path[:0] = [
    HERE,
    PACKAGE,
    os.path.join(os.getcwd(), "trial_api/python/tests"),
    os.path.join(os.getcwd(), "tests/e2e"),
]
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("DET_SLOT_TYPE", "cpu")  # Also if there is a GPU, which only gpu_test uses.
import harness


def load_tests(loader, _tests, _pattern):
    return loader.discover(HERE, "*_test.py")


if __name__ == "__main__":
    harness.main()
