#!/usr/bin/env -S python3 -B
"""Runs all *_test.py beside this file, and reports each case to Bazel."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
os.environ["PYTHONPATH"] = os.path.dirname(HERE)  # Of the processes that tests start, too.
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(os.getcwd(), "tests/e2e")]
import harness  # noqa: E402


def load_tests(loader, _tests, _pattern):
    return loader.discover(HERE, "*_test.py")


if __name__ == "__main__":
    harness.main()
