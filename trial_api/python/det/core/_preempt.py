"""Whether the trial should save a checkpoint and exit."""

from __future__ import annotations

import enum
import sys
import threading
from typing import Callable

from det._errors import MasterError, RunIsOver
from det._master import FIRST_PAUSE, MAX_PAUSE, Master
from det.core._distributed import DistributedContext
from det.core._report_queue import SERVICE

_POLL_SECONDS = 60
_LAST_WAIT = 1.0


class PreemptMode(enum.Enum):
    """Which ranks call should_preempt().

    WorkersAskChief: all ranks (collective); they get the same answer. ChiefOnly: the chief, which
    distributes the answer itself. WorkersAskMaster: each rank for itself.
    """

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    ChiefOnly = "CHIEF_ONLY"
    WorkersAskMaster = "WORKERS_ASK_MASTER"


class PreemptionWatch:
    """Waits on a thread of its own until the master preempts the trial; then `requested` is True."""

    def __init__(
        self,
        master: Master,
        allocation_id: str,
        on_over: Callable[[RunIsOver], None] | None = None,
    ) -> None:
        self.requested = False
        self._master, self._allocation = master, allocation_id
        self._on_over = on_over
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="det-preempt", daemon=True)
        self._thread.start()

    def acknowledge(self, master: Master) -> None:
        """Notifies the master that this trial will exit."""
        master.post(SERVICE + "AckPreemption", {"allocationId": self._allocation})

    def close(self) -> None:
        """Stops waiting."""
        self._closed.set()
        self._master.close()
        # The thread may be resolving a host name, which cannot be interrupted.
        self._thread.join(_LAST_WAIT)

    def _listen(self) -> None:
        path = (
            f"/api/v1/allocations/{self._allocation}/signals/preemption"
            f"?timeout_seconds={_POLL_SECONDS}"
        )
        pause, logged = FIRST_PAUSE, False
        while not self._closed.is_set() and not self.requested:
            try:
                self.requested = bool(self._master.get(path, _POLL_SECONDS + 30).get("preempt"))
                pause, logged = FIRST_PAUSE, False
            except RunIsOver as error:
                if not self._closed.is_set() and self._on_over:
                    self._on_over(error)
                return
            except MasterError as error:
                if not logged and not self._closed.is_set():
                    logged = True
                    print(
                        f"WARNING: cannot receive preemption requests for now: {error}",
                        file=sys.stderr,
                    )
                self._closed.wait(pause)
                pause = min(2 * pause, MAX_PAUSE)


class PreemptContext:
    """Tells the training when to stop.

    Args:
        distributed: The ranks of the trial.
        mode: Which ranks ask.
        watch: Waits for the master; None off the cluster, where nothing preempts, and on ranks that
            do not ask it.
        master: The connection to the master.
    """

    def __init__(
        self,
        distributed: DistributedContext,
        mode: PreemptMode = PreemptMode.WorkersAskChief,
        watch: PreemptionWatch | None = None,
        master: Master | None = None,
    ) -> None:
        self._distributed, self._mode = distributed, mode
        self._watch, self._master = watch, master
        self._acknowledged = False

    def should_preempt(self, auto_ack: bool = True) -> bool:
        """Returns whether the trial should save a checkpoint and exit with 0.

        It does not ask the master, so it is cheap enough to call after each batch. With several
        ranks it costs a small exchange between them.

        Args:
            auto_ack: Whether to acknowledge the request if it is True.

        Raises:
            RuntimeError: The mode is ChiefOnly and this is not rank 0.
        """
        if self._mode is PreemptMode.ChiefOnly and not self._distributed.is_chief:
            raise RuntimeError("preempt_mode ChiefOnly: only rank 0 calls should_preempt()")
        requested = self._watch is not None and self._watch.requested
        if self._mode is PreemptMode.WorkersAskChief and self._distributed.size > 1:
            requested = bool(self._distributed.broadcast(requested))
        if requested and auto_ack:
            self.acknowledge_preemption_signal()
        return requested

    def acknowledge_preemption_signal(self) -> None:
        """Notifies the master that an exit with 0 from now on means preempted, not completed."""
        if self._watch is None or self._master is None or self._acknowledged:
            return
        self._acknowledged = True
        self._watch.acknowledge(self._master)

    def close(self) -> None:
        """Stops waiting for the master."""
        if self._watch is not None:
            self._watch.close()
