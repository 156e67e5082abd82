"""`optimizations.auto_tune_tensor_fusion`: measures the best bucket size of DistributedDataParallel.

The result of training does not depend on it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Callable

import torch

from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.strategies.data_parallel import ParallelModel

BUCKET_SIZES_MB = (1, 4, 16, 64)
BATCHES_PER_SIZE = 8
WARMUP_BATCHES = 2  # The first ones are not measured: torch rearranges the buckets after one batch.


class BucketSizeTuner:
    """Tries the sizes one after the other, and selects the one with the smallest median time.

    before_batch() and after_batch() surround each batch whose gradients are exchanged. Both are
    collective, and are called on the training thread. The chief's times decide.
    """

    def __init__(
        self,
        models: Sequence[torch.nn.Module],
        process_group: ProcessGroup,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Creates the tuner.

        Args:
            models: The wrapped models. Without a ParallelModel nothing is measured.
            process_group: All ranks.
            clock: Returns seconds.
        """
        self._models = [model for model in models if isinstance(model, ParallelModel)]
        self._process_group = process_group
        self._clock = clock
        self._times: dict[int, list[float]] = {size: [] for size in BUCKET_SIZES_MB}
        self._begin = 0.0

    @property
    def done(self) -> bool:
        """Whether the size is decided."""
        return not self._models

    def before_batch(self) -> None:
        """Starts the measurement of a batch."""
        if self.done:
            return
        size = self._current_size()
        if not self._times[size]:
            self._set_bucket_size(size)
        self._begin = self._now()

    def after_batch(self) -> None:
        """Ends the measurement of a batch, and decides after the last."""
        if self.done:
            return
        self._times[self._current_size()].append(self._now() - self._begin)
        if all(len(times) == BATCHES_PER_SIZE for times in self._times.values()):
            self._decide()

    def _current_size(self) -> int:
        return next(size for size, times in self._times.items() if len(times) < BATCHES_PER_SIZE)

    def _now(self) -> float:
        if any(model.device_type == "cuda" for model in self._models):
            torch.cuda.synchronize()
        return self._clock()

    def _set_bucket_size(self, megabytes: int) -> None:
        for model in self._models:
            model.rebuild(megabytes)

    def _decide(self) -> None:
        medians = {
            size: statistics.median(times[WARMUP_BATCHES:]) for size, times in self._times.items()
        }
        size = self._process_group.broadcast(min(medians, key=lambda size: medians[size]))
        self._set_bucket_size(size)
        self._models = []
        if self._process_group.is_chief:
            measured = ", ".join(f"{size} MB: {seconds:.6f}" for size, seconds in medians.items())
            print(
                f"optimizations.auto_tune_tensor_fusion: the bucket size is {size} MB (median seconds "
                f"of a batch by bucket size: {measured})",
                flush=True,
            )
