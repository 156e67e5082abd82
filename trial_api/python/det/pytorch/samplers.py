"""Samplers for data loaders of your own. det.pytorch.DataLoader does the same by itself.

Each wraps a sampler or a batch sampler: an iterable of indices, or of lists of indices, with a
length if the wrapper's length is needed. All are deterministic: their order follows from their
arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sized
from typing import Generic, TypeVar, cast

import torch

_T = TypeVar("_T")  # An index, or a list of indices.


class _Wrapper(Generic[_T]):
    """Wraps a sampler or a batch sampler."""

    def __init__(self, inner: Iterable[_T]) -> None:
        """Wraps a sampler.

        Args:
            inner: The sampler or batch sampler.
        """
        self._inner = inner

    def __len__(self) -> int:
        return len(cast(Sized, self._inner))


class RepeatSampler(_Wrapper[_T]):
    """Repeats a sampler endlessly. An empty sampler ends at once. Its length is that of one pass."""

    def __iter__(self) -> Iterator[_T]:
        while True:
            empty = True
            for item in self._inner:
                empty = False
                yield item
            if empty:
                return


class RepeatBatchSampler(RepeatSampler[_T]):
    """Repeats a batch sampler endlessly."""


class SkipSampler(_Wrapper[_T]):
    """Skips the first indices of a sampler in the first pass; later passes are complete."""

    def __init__(self, sampler: Iterable[_T], skip: int) -> None:
        """Wraps a sampler.

        Args:
            sampler: The sampler.
            skip: How many indices to skip.
        """
        super().__init__(sampler)
        self._skip = skip
        self._used = False

    def __iter__(self) -> Iterator[_T]:
        skip, self._used = (0 if self._used else self._skip), True
        return itertools.islice(iter(self._inner), skip, None)

    def __len__(self) -> int:
        """Returns the length of the first pass."""
        return max(0, len(cast(Sized, self._inner)) - self._skip)


class SkipBatchSampler(SkipSampler[_T]):
    """Skips the first batches of a batch sampler in the first pass."""

    def __init__(self, batch_sampler: Iterable[_T], skip: int) -> None:
        """Wraps a batch sampler.

        Args:
            batch_sampler: The batch sampler.
            skip: How many batches to skip.
        """
        super().__init__(batch_sampler, skip)


class DistributedSampler(_Wrapper[_T]):
    """Yields every num_workers-th index of a sampler, from index `rank` on."""

    def __init__(self, sampler: Iterable[_T], num_workers: int, rank: int) -> None:
        """Wraps a sampler.

        Args:
            sampler: The sampler, with the same order on all ranks.
            num_workers: The number of ranks.
            rank: The index of this rank, from 0.

        Raises:
            ValueError: If rank is not from 0 to num_workers - 1.
        """
        super().__init__(sampler)
        if not 0 <= rank < num_workers:
            raise ValueError(f"rank is {rank}: must be from 0 to {num_workers - 1}")
        self._workers = num_workers
        self._rank = rank

    def __iter__(self) -> Iterator[_T]:
        return itertools.islice(iter(self._inner), self._rank, None, self._workers)

    def __len__(self) -> int:
        """Returns the number of indices of this rank."""
        return (len(cast(Sized, self._inner)) - self._rank + self._workers - 1) // self._workers


class DistributedBatchSampler(DistributedSampler[_T]):
    """Yields every num_workers-th batch of a batch sampler, from batch `rank` on."""

    def __init__(self, batch_sampler: Iterable[_T], num_workers: int, rank: int) -> None:
        """Wraps a batch sampler.

        Args:
            batch_sampler: The batch sampler, with the same order on all ranks.
            num_workers: The number of ranks.
            rank: The index of this rank, from 0.

        Raises:
            ValueError: If rank is not from 0 to num_workers - 1.
        """
        super().__init__(batch_sampler, num_workers, rank)


class ReproducibleShuffleSampler(_Wrapper[_T]):
    """Shuffles a sampler: a different order in each pass, and the same ones for the same seed."""

    def __init__(self, sampler: Iterable[_T], seed: int) -> None:
        """Wraps a sampler.

        Args:
            sampler: The sampler, which must be finite.
            seed: The seed.
        """
        super().__init__(sampler)
        self._generator = torch.Generator()
        self._generator.manual_seed(seed)

    def __iter__(self) -> Iterator[_T]:
        items: list[_T] = list(self._inner)
        order: Iterable[int] = torch.randperm(len(items), generator=self._generator).tolist()
        return (items[i] for i in order)


class ReproducibleShuffleBatchSampler(ReproducibleShuffleSampler[_T]):
    """Shuffles the batches of a batch sampler, whose content stays."""

    def __init__(self, batch_sampler: Iterable[_T], seed: int) -> None:
        """Wraps a batch sampler.

        Args:
            batch_sampler: The batch sampler, which must be finite.
            seed: The seed.
        """
        super().__init__(batch_sampler, seed)
