#!/usr/bin/python3 -B
"""Plays each scenario of this folder with each program, two at a time.

Run it from the root of the tree. Arguments are names of cases.
"""

import concurrent.futures
import contextlib
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
os.environ.update(PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1")  # The programs need it too.
sys.path[:0] = [
    HERE,
    PACKAGE,
    os.path.join(os.getcwd(), "trial_api/python/tests"),
    os.path.join(os.getcwd(), "tests/e2e"),
]
import harness
import scenario
from grpc_front import GrpcFront
from scripted_master import ScriptedMaster

LAUNCH = [sys.executable, "-B", "-m", "det.launch.torch_distributed"]
BUILT = os.getcwd()
if not os.path.isdir(os.path.join(BUILT, "trial_api/cpp/sdk")):
    BUILT = os.path.join(BUILT, "bazel-bin")
DESCRIPTORS = os.path.join(BUILT, "proto/trial.pb")
PROGRAMS = {
    "core": [*LAUNCH, "core_program.py"],
    "pytorch": [*LAUNCH, "--", "--trial", "pytorch_program:SumTrial"],
    "cpp": [
        os.path.join(BUILT, "trial_api/cpp/sdk/bin/resolute-launch"),
        "--source",
        "sum_trial.cc",
        "--class",
        "SumTrial",
    ],
}


class Conformance(unittest.TestCase):
    """One scenario with one program."""

    compiled = None  # A directory for all cases.

    def __init__(self, name, data, program):
        super().__init__("play")
        self.name, self.data, self.program = name, data, program

    def id(self):
        return f"conformance.{self.program}.{self.name}"

    __str__ = shortDescription = id

    def play(self):
        with contextlib.ExitStack() as stack:
            master = ScriptedMaster()
            stack.callback(lambda: master.close())
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            surroundings = {}
            if self.program == "cpp":
                front = GrpcFront(master, DESCRIPTORS)
                stack.callback(front.close)
                surroundings = {"DET_MASTERS": front.url}
                # Unsent reports are in a cache of the case; compiled programs are shared.
                os.mkdir(os.path.join(folder, "cache"))
                os.symlink(self.compiled, os.path.join(folder, "cache", "trials"))
            scenario.play(
                self,
                self.data,
                master,
                (PROGRAMS[self.program], surroundings),
                os.path.join(HERE, "programs"),
                folder,
            )


class ParallelSuite(unittest.TestSuite):
    """Runs its cases on two threads."""

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

        with (
            tempfile.TemporaryDirectory() as Conformance.compiled,
            concurrent.futures.ThreadPoolExecutor(2) as threads,
        ):
            list(threads.map(one, self))
        return result


def load_tests(loader, _tests, _pattern):
    cases = ParallelSuite()
    for path in sorted(glob.glob(os.path.join(HERE, "scenarios/*.yaml"))):
        data = scenario.load(path)
        name = os.path.splitext(os.path.basename(path))[0]
        for program in data.get("programs", PROGRAMS):
            case = Conformance(name, data, program)
            patterns = loader.testNamePatterns
            if not patterns or any(p.strip("*") in case.id() for p in patterns):
                cases.addTest(case)
    assert cases.countTestCases(), "no scenarios"
    return cases


if __name__ == "__main__":
    harness.main()
