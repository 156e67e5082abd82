"""`optimizations.auto_tune_tensor_fusion`: how many megabytes of gradients travel together, found by
trying. Only buckets change, not what is computed."""

from __future__ import annotations

import statistics
import time
from typing import Callable, Dict, List, Sequence

import torch

from det.pytorch._parallel import ParallelModel
from det.pytorch._ranks import Ranks

SIZES = (1, 4, 16, 64)  # Megabytes.
BATCHES = 8  # Of each size,
SETTLING = 2  # of which so many are not counted: torch arranges buckets after the first.


class FusionTuning:
    """Of one run. before() and after() go around each batch whose gradients travel; both are
    collective, on the training thread. The sizes are tried one after the other, the ranks then take
    that of the least median on the chief.

    Args:
        models: what is tried with; without one nothing is.
        clock: gives seconds.
    """

    def __init__(
        self,
        models: Sequence[torch.nn.Module],
        ranks: Ranks,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._models = [model for model in models if isinstance(model, ParallelModel)]
        self._ranks = ranks
        self._clock = clock
        self._times: Dict[int, List[float]] = {size: [] for size in SIZES}
        self._began = 0.0

    @property
    def done(self) -> bool:
        return not self._models

    def before(self) -> None:
        if self.done:
            return
        size = self._current()
        if not self._times[size]:
            self._rebuild(size)
        self._began = self._now()

    def after(self) -> None:
        if self.done:
            return
        self._times[self._current()].append(self._now() - self._began)
        if all(len(times) == BATCHES for times in self._times.values()):
            self._decide()

    def _current(self) -> int:
        return next(size for size, times in self._times.items() if len(times) < BATCHES)

    def _now(self) -> float:
        if any(model.device_type == "cuda" for model in self._models):
            torch.cuda.synchronize()
        return self._clock()

    def _rebuild(self, size: int) -> None:
        for model in self._models:
            model.rebuild(size)

    def _decide(self) -> None:
        medians = {
            size: statistics.median(times[SETTLING:]) for size, times in self._times.items()
        }
        size = self._ranks.broadcast(min(medians, key=lambda size: medians[size]))
        self._rebuild(size)
        self._models = []
        if self._ranks.is_chief:
            tried = ", ".join(f"{size}: {seconds:.6f}" for size, seconds in medians.items())
            print(
                f"optimizations.auto_tune_tensor_fusion: {size} MB of gradients travel together "
                f"(median seconds of a batch by megabytes: {tried})",
                flush=True,
            )
