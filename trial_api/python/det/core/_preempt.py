"""Whether the trial is asked to save and go."""

from __future__ import annotations

import enum
import sys
import threading
from typing import Callable

from det._errors import MasterError, RunIsOver
from det._master import FIRST_PAUSE, LONGEST_PAUSE, Master
from det.core._distributed import DistributedContext
from det.core._report_queue import SERVICE

_POLL_SECONDS = 60
_LAST_WAIT = 1.0


class PreemptMode(enum.Enum):
    """Who may ask, and whom. WorkersAskChief: collective, all ranks get one answer. ChiefOnly: the
    chief asks and tells the others itself. WorkersAskMaster: each rank for itself.
    """

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    ChiefOnly = "CHIEF_ONLY"
    WorkersAskMaster = "WORKERS_ASK_MASTER"


class PreemptionWatch:
    """Hears from the master when the trial is to go. `requested`: it is. A thread of its own."""

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
        master.post(SERVICE + "AckPreemption", {"allocationId": self._allocation})

    def close(self) -> None:
        self._closed.set()
        self._master.close()
        self._thread.join(_LAST_WAIT)  # It may be asking for the address of a master, say.

    def _listen(self) -> None:
        path = (
            f"/api/v1/allocations/{self._allocation}/signals/preemption"
            f"?timeout_seconds={_POLL_SECONDS}"
        )
        pause, said = FIRST_PAUSE, False
        while not self._closed.is_set() and not self.requested:
            try:
                self.requested = bool(self._master.get(path, _POLL_SECONDS + 30).get("preempt"))
                pause, said = FIRST_PAUSE, False
            except RunIsOver as error:
                if not self._closed.is_set() and self._on_over:
                    self._on_over(error)
                return
            except MasterError as error:
                if not said and not self._closed.is_set():
                    said = True
                    print(f"WARNING: preemption is not heard of for now: {error}", file=sys.stderr)
                self._closed.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)


class PreemptContext:
    """`watch`: None off the cluster, where nothing preempts, and on ranks that need none."""

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
        """True: save a checkpoint and exit with 0. Asks nobody: costs nothing after each batch (of
        several ranks one small exchange). auto_ack: True is told to the master as seen.
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
        """An exit with 0 from now on means preempted, not finished."""
        if self._watch is None or self._master is None or self._acknowledged:
            return
        self._acknowledged = True
        self._watch.acknowledge(self._master)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
