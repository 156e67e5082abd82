"""What happens to a program, as the hyperparameter `incidents` says.

It is a list of {phase, steps, act, rank}. See ../README.md.
"""

import math
import os
import signal
import time

import det

PHASES = ("begin", "batch", "validate", "save", "end")


class Incidents:
    """The incidents of a program.

    Args:
        hparams: The hyperparameters.
        context: The Core API.
        is_preempted: Returns whether the trial is preempted; a rank that holds calls it.
    """

    def __init__(self, hparams, context, is_preempted):
        self._list = hparams.get("incidents") or []
        self._context, self._rank = context, context.distributed.rank
        self._is_preempted = is_preempted

    def _of(self, phase, steps):
        assert phase in PHASES, phase
        return [
            one["act"]
            for one in self._list
            if one["phase"] == phase
            and one.get("steps", steps) == steps
            and one.get("rank", self._rank) == self._rank
        ]

    def reach(self, phase, steps):
        """Runs the incidents of a phase and step."""
        for act in self._of(phase, steps):
            if act == "hold":
                # One write, so that lines of threads do not mix.
                os.write(1, f"holding {phase} {steps}\n".encode())
                while not self._is_preempted():
                    time.sleep(0.005)
            elif act == "settle":
                self._settle(f"settling {phase} {steps}\n")
            elif act == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            elif act == "fail":
                raise RuntimeError(f"failed in {phase} {steps}, as asked")
            elif act == "invalid":
                raise det.InvalidHP("records and slots make no sense together")
            elif act == "fill":
                with open("/dev/full", "w", encoding="utf-8") as file:
                    file.write("a disk without space")
            elif act != "nan":
                raise ValueError(f"unknown incident {act!r}")

    def _settle(self, line):
        """Waits until the master has everything that was reported and saved. Collective."""
        self._context.checkpoint.wait()
        os.write(1, line.encode())  # No report may follow until the master has all of them.
        self._context.train.flush()
        self._context.distributed.allgather(None)

    def metric(self, phase, steps, value):
        """Returns the value to report."""
        return math.nan if "nan" in self._of(phase, steps) else value
