"""Samplers to build one's own from. `det.pytorch.DataLoader` does what they do by itself.

All are deterministic: what they give follows from what they are made of.
"""

from __future__ import annotations

import itertools
from typing import Any, Iterable, Iterator, List

import torch


class _Wrapper:
    """Around a sampler, or a batch sampler, whose length it may have."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __len__(self) -> int:
        return len(self._inner)


class RepeatSampler(_Wrapper):
    """Begins again where the sampler ends, without an end."""

    def __iter__(self) -> Iterator[Any]:
        while True:
            empty = True
            for item in self._inner:
                empty = False
                yield item
            if empty:
                return


class RepeatBatchSampler(RepeatSampler):
    """Of batches."""


class SkipSampler(_Wrapper):
    """Leaves out the first `skip`, the first time only."""

    def __init__(self, sampler: Any, skip: int) -> None:
        super().__init__(sampler)
        self._skip = skip
        self._used = False

    def __iter__(self) -> Iterator[Any]:
        skip, self._used = (0 if self._used else self._skip), True
        return itertools.islice(iter(self._inner), skip, None)

    def __len__(self) -> int:
        return max(0, len(self._inner) - self._skip)


class SkipBatchSampler(SkipSampler):
    """Of batches."""

    def __init__(self, batch_sampler: Any, skip: int) -> None:
        super().__init__(batch_sampler, skip)


class DistributedSampler(_Wrapper):
    """Every num_workers-th, from the rank-th on."""

    def __init__(self, sampler: Any, num_workers: int, rank: int) -> None:
        super().__init__(sampler)
        if not 0 <= rank < num_workers:
            raise ValueError(f"rank is {rank}, but must be from 0 to {num_workers - 1}")
        self._workers = num_workers
        self._rank = rank

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(iter(self._inner), self._rank, None, self._workers)

    def __len__(self) -> int:
        return (len(self._inner) - self._rank + self._workers - 1) // self._workers


class DistributedBatchSampler(DistributedSampler):
    """Of batches."""

    def __init__(self, batch_sampler: Any, num_workers: int, rank: int) -> None:
        super().__init__(batch_sampler, num_workers, rank)


class ReproducibleShuffleSampler(_Wrapper):
    """Another order in each pass, the same for the same seed."""

    def __init__(self, sampler: Any, seed: int) -> None:
        super().__init__(sampler)
        self._generator = torch.Generator()
        self._generator.manual_seed(seed)

    def __iter__(self) -> Iterator[Any]:
        items: List[Any] = list(self._inner)
        order: Iterable[int] = torch.randperm(len(items), generator=self._generator).tolist()
        return (items[i] for i in order)


class ReproducibleShuffleBatchSampler(ReproducibleShuffleSampler):
    """Of batches: their order, not what is in them."""

    def __init__(self, batch_sampler: Any, seed: int) -> None:
        super().__init__(batch_sampler, seed)
