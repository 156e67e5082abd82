"""What happens to a program on its way, as the hyperparameter `incidents` says: a list of
{phase, steps, act, rank}. See ../README.md.
"""

import math
import os
import signal
import time

import det

PHASES = ("begin", "batch", "validate", "save", "end")


class Incidents:
    """context: of the Core API. wanted() says whether the trial was asked to go; called by a rank
    that holds.
    """

    def __init__(self, hparams, context, wanted):
        self._list = hparams.get("incidents") or []
        self._context, self._rank = context, context.distributed.rank
        self._wanted = wanted

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
        """The program is at that place now."""
        for act in self._of(phase, steps):
            if act == "hold":
                os.write(1, f"holding {phase} {steps}\n".encode())  # Whole, from any thread.
                while not self._wanted():
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
                raise ValueError(f"incident {act!r} is not known")

    def _settle(self, line):
        """Collective: goes on when the master has all that was reported and saved."""
        self._context.checkpoint.wait()
        os.write(1, line.encode())  # Nothing more is reported until the master has all.
        self._context.train.flush()
        self._context.distributed.allgather(None)

    def metric(self, phase, steps, value):
        """As it is reported."""
        return math.nan if "nan" in self._of(phase, steps) else value
