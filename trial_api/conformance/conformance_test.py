#!/usr/bin/python3 -B
"""Plays each scenario of this folder with each program that it is for; two at a time. From the root
of the tree; names of cases as arguments."""
import concurrent.futures
import glob
import os
import sys
import tempfile
import threading
import unittest

HERE = os.path.join(os.getcwd(), "trial_api/conformance")
PACKAGE = os.path.join(os.getcwd(), "trial_api/python/package")
if not os.path.isdir(PACKAGE):  # Started by hand from the root of the source tree.
    PACKAGE = os.path.join(os.getcwd(), "trial_api/python")
os.environ.update(PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1")  # Of the programs, too.
sys.path[:0] = [HERE, PACKAGE, os.path.join(os.getcwd(), "trial_api/python/tests"),
                os.path.join(os.getcwd(), "tests/e2e")]
import harness  # noqa: E402
import scenario  # noqa: E402
from scripted_master import ScriptedMaster  # noqa: E402

LAUNCH = [sys.executable, "-B", "-m", "det.launch.torch_distributed"]
PROGRAMS = {
    "core": [*LAUNCH, "core_program.py"],
    "pytorch": [*LAUNCH, "--", "--trial", "pytorch_program:SumTrial"],
}


class Conformance(unittest.TestCase):
    """One scenario with one program."""

    def __init__(self, name, told, program):
        super().__init__("play")
        self.name, self.told, self.program = name, told, program

    def id(self):
        return f"conformance.{self.program}.{self.name}"

    __str__ = shortDescription = id

    def play(self):
        master = ScriptedMaster()
        try:
            with tempfile.TemporaryDirectory() as folder:
                scenario.play(self, self.told, master, PROGRAMS[self.program],
                              os.path.join(HERE, "programs"), folder)
        finally:
            master.close()


class AtOnce(unittest.TestSuite):
    """Its cases on so many threads; the result takes one word at a time."""

    def run(self, result, debug=False):
        lock = threading.Lock()

        def one(case):
            alone = unittest.TestResult()
            case.run(alone)
            with lock:
                result.startTest(case)
                for _, text in alone.failures + alone.errors:
                    result.addFailure(case, (AssertionError, AssertionError(text), None))
                if alone.wasSuccessful():
                    result.addSuccess(case)
                result.stopTest(case)

        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            list(threads.map(one, self))
        return result


def load_tests(loader, _tests, _pattern):
    cases = AtOnce()
    for path in sorted(glob.glob(os.path.join(HERE, "scenarios/*.yaml"))):
        told = scenario.load(path)
        name = os.path.splitext(os.path.basename(path))[0]
        for program in told.get("programs", PROGRAMS):
            case = Conformance(name, told, program)
            patterns = loader.testNamePatterns
            if not patterns or any(p.strip("*") in case.id() for p in patterns):
                cases.addTest(case)
    assert cases.countTestCases(), "no scenarios"
    return cases


if __name__ == "__main__":
    harness.main()
