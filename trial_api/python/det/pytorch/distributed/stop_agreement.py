"""Makes all ranks stop training after the same batch."""

from __future__ import annotations

import enum

import torch

from det.pytorch.distributed.process_group import ProcessGroup, collective_timeout
from det.pytorch.distributed.shared_memory import create_shared_memory_allgather
from det.pytorch.utilities.types import Work


class StopReason(enum.IntEnum):
    """Why to stop. The greatest value of all ranks is effective."""

    NONE = 0
    REQUESTED = 1  # The Trial called set_stop_requested(): training is finished.
    PREEMPTED = 2  # A later run resumes.


class StopAgreement:
    """Agrees on whether to stop without a rank waiting for the others.

    begin() is called before a batch and starts to send the state of this rank. The states of the
    others have arrived when the batch is trained, so is_last() rarely waits. The constructor is
    collective.
    """

    _LAST_BATCH = 8  # A flag beside the StopReason in one number.

    def __init__(self, process_group: ProcessGroup) -> None:
        self._process_group = process_group
        self._states = torch.zeros(2, dtype=torch.int32)
        self._work: Work | None = None
        self._result = (0, False)
        self._shared = (
            None
            if process_group.size == 1
            else create_shared_memory_allgather(process_group, collective_timeout())
        )

    def begin(self, stop: StopReason, last: bool) -> None:
        """Starts the exchange, before a batch.

        Args:
            stop: Why this rank wants to stop.
            last: Whether this rank has no batch of the epoch after this one.
        """
        if self._process_group.size == 1:
            self._result = (0, last)
        elif self._shared is not None:
            self._shared.put(int(stop) | (self._LAST_BATCH if last else 0))
        else:
            self._states[0], self._states[1] = int(stop), int(last)
            self._work = self._process_group.start_max(self._states)

    def is_last(self) -> bool:
        """Returns whether the epoch ends because some rank has no further batch.

        Raises:
            RuntimeError: If a rank did not answer within the collective timeout.
        """
        if self._shared is not None:
            states = self._shared.wait()
            stop = max(state & (self._LAST_BATCH - 1) for state in states)
            self._result = (stop, any(state & self._LAST_BATCH for state in states))
        elif self._process_group.size > 1:
            assert self._work is not None  # begin() has started it.
            self._work.wait()
            self._result = (int(self._states[0].item()), bool(self._states[1].item()))
        return self._result[1]

    def end(self, stop: StopReason) -> StopReason:
        """Returns the common decision, after is_last().

        Args:
            stop: The present state of this rank. It decides if there is one rank only.
        """
        return stop if self._process_group.size == 1 else StopReason(self._result[0])
