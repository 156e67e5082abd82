"""Which records a rank reads in which batch, and reading them from any position on.

The content of a batch is a function of the seed, the epoch and the index of the batch in the epoch.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar, Union, cast

import torch
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import (
    Dataset,
    IterableDataset,
    TensorDataset,
    default_collate,
    get_worker_info,
)

from det.pytorch.data.batch_shard import BatchShard
from det.pytorch.data.data_loader import DataLoader
from det.pytorch.utilities.rng import IsolatedRng, derive_seed, fork_rng, seed_all
from det.pytorch.utilities.types import DataBatch, Record

# The epoch, the index of the batch in it, and the indices of this rank's records in the batch.
_BatchPart = tuple[int, int, Union[torch.Tensor, Sequence[int]]]


# The indices of an epoch in order; with a batch_sampler, those of each batch.
_Order = Union[torch.Tensor, list[int], list[Sequence[int]]]
_Index = TypeVar("_Index")


class ShardedDataLoader:
    """The batches of one rank. Also the sampler of torch's DataLoader if there are workers."""

    def __init__(
        self,
        loader: DataLoader | Iterable[DataBatch],
        *,
        shard: BatchShard,
        seed: int,
        training: bool,
    ) -> None:
        """Creates the loader.

        Args:
            loader: A DataLoader, or an iterable of batches that the Trial shards itself.
            shard: This rank's part of each global batch.
            seed: The seed of the trial.
            training: Whether all ranks get equally many records of each batch. Otherwise every
                record is read, and ranks may have different numbers of records and batches.

        Raises:
            ValueError: If the data set is too small for one batch.
        """
        # If it is not ours, only its length and its batches are used.
        self.loader = cast(DataLoader, loader)
        self._shard = shard
        self._rank = shard.first  # Distinguishes the random numbers of the ranks.
        self._size = shard.total
        self._seed = seed
        self._training = training
        self._is_ours = isinstance(loader, DataLoader)
        self._cached_order: tuple[int, _Order] = (-1, [])  # The epoch and its order.
        self._torch_loader: TorchDataLoader[DataBatch] | None = None
        self._position = (0, 0)  # The epoch and the batch at which __iter__() begins.
        if self._is_ours and not self.loader.iterable and self.batches_per_epoch() == 0:
            raise ValueError(
                f"the data set has {self.loader.order_size()} records, too few for one batch of "
                f"{self.records_per_batch} on {shard.total} slots: reduce the batch size"
            )

    @property
    def records_per_batch(self) -> int:
        """The number of records of a global batch; 0 if it is unknown."""
        if not self._is_ours or self.loader.batch_sampler is not None:
            return 0
        return int(self.loader.batch_size) * self._size

    @property
    def is_even(self) -> bool:
        """Whether all ranks certainly have the same number of batches."""
        if not self._is_ours:
            return True  # The Trial is responsible for it.
        if self.loader.iterable:
            return self._shard.total == 1
        total = self.loader.order_size()
        if self.loader.batch_sampler is not None:
            return bool(total % self._shard.total == 0)
        rest = total % self.records_per_batch
        return bool(rest == 0 or rest >= self._shard.total or self.loader.drop_last)

    @property
    def reads_all_records(self) -> bool:
        """Whether this rank reads every record."""
        return self._shard.total == 1

    def read_all_records(self) -> None:
        """Makes this rank read every record from now on."""
        self._shard = BatchShard()
        self._rank, self._size = 0, 1

    def batches_per_epoch(self) -> int | None:
        """Returns the number of batches of an epoch, or None if the data set has no length."""
        try:
            total = self.loader.order_size() if self._is_ours else len(self.loader)
        except TypeError:
            return None
        if not self._is_ours:
            return int(total)
        if self.loader.batch_sampler is not None:
            return int(total // self._size if self._training else -(-total // self._size))
        whole, rest = divmod(total, self.records_per_batch)
        minimum = self._size if self._training else 1
        return int(whole + (rest >= minimum and not self.loader.drop_last))

    def read(self, epoch: int, first: int = 0) -> Iterator[DataBatch]:
        """Iterates over the batches of an epoch, from index `first` on.

        Batches of which this rank has no record are left out.
        """
        if not self._is_ours:
            return itertools.islice(iter(self.loader), first, None)
        if self.loader.iterable:
            return self._read_iterable(epoch, first)
        self._position = (epoch, first)
        if self.loader.workers.num_workers > 0:
            return self._read_with_workers(epoch)
        return self._read_on_this_thread()

    def _read_on_this_thread(self) -> Iterator[DataBatch]:
        fetcher = _Fetcher(self.loader, self._seed, self._rank)
        return (fetcher[part] for part in self)

    def _read_with_workers(self, epoch: int) -> Iterator[DataBatch]:
        # torch draws the seeds of its workers from here instead of the generator of the training.
        generator = torch.Generator()
        generator.manual_seed(derive_seed(self._seed, epoch, self._rank))
        if self._torch_loader is None or not self.loader.workers.persistent_workers:
            fetcher = _Fetcher(self.loader, self._seed, self._rank)
            self._torch_loader = TorchDataLoader(
                cast(Dataset[DataBatch], fetcher),
                sampler=cast(Iterable[_BatchPart], self),
                batch_size=None,
                collate_fn=_identity,
                generator=generator,
                **self.loader.workers.arguments(),
            )
        return iter(self._torch_loader)

    def _read_iterable(self, epoch: int, first: int) -> Iterator[DataBatch]:
        batches = _IterableShard(self.loader, self._shard, self._training, self._seed, epoch, first)
        generator = torch.Generator()
        generator.manual_seed(derive_seed(self._seed, epoch, self._rank))
        arguments = self.loader.workers.arguments()
        # Several workers would each read all records, or only some if the data set checks for it.
        arguments["num_workers"] = min(arguments["num_workers"], 1)
        return iter(
            TorchDataLoader(
                batches, batch_size=None, collate_fn=_identity, generator=generator, **arguments
            )
        )

    def __iter__(self) -> Iterator[_BatchPart]:
        """Iterates over this rank's parts of the batches, from the position that read() set."""
        epoch, first = self._position
        for batch in range(first, self.batches_per_epoch() or 0):
            part = self.indices(epoch, batch)
            if len(part):
                # A tensor would be sent to a worker process through shared memory of its own.
                has_workers = self.loader.workers.num_workers > 0
                if has_workers and isinstance(part, torch.Tensor):
                    part = part.tolist()
                yield epoch, batch, part

    def __len__(self) -> int:
        return self.batches_per_epoch() or 0

    def indices(self, epoch: int, batch: int) -> torch.Tensor | Sequence[int]:
        """Returns the indices of this rank's records in a batch: a list or an int64 tensor."""
        order = self._get_order(epoch)
        if self.loader.batch_sampler is not None:
            mine = batch * self._size + self._shard.first
            if self._shard.slots == 1:
                return cast(Sequence[int], order[mine] if mine < len(order) else [])
            batches = cast(list[Sequence[int]], order[mine : mine + self._shard.slots])
            return [index for one in batches for index in one]
        records = self.records_per_batch
        begin = batch * records
        count = min(records, len(order) - begin)
        if self._training:
            count -= count % self._size
        start, end = _bounds_of_shard(count, self._shard)
        return cast("torch.Tensor | Sequence[int]", order[begin + start : begin + end])

    def _get_order(self, epoch: int) -> _Order:
        if self._cached_order[0] != epoch:
            self._cached_order = (epoch, self._make_order(epoch))
        return self._cached_order[1]

    def _make_order(self, epoch: int) -> _Order:
        loader = self.loader
        if loader.batch_sampler is not None:
            return self._list_sampler(loader.batch_sampler, epoch)
        if loader.sampler is not None:
            return self._list_sampler(loader.sampler, epoch)
        records = loader.order_size()
        if not loader.shuffle:
            return torch.arange(records)
        seed = loader.generator.initial_seed() if loader.generator else self._seed
        generator = torch.Generator()
        generator.manual_seed(derive_seed(seed, epoch))
        return torch.randperm(records, generator=generator)

    def _list_sampler(self, sampler: Iterable[_Index], epoch: int) -> list[_Index]:
        """Returns all that a user's sampler yields in an epoch: the same on all ranks and in all runs."""
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(epoch)
        for owner in (sampler, getattr(sampler, "sampler", None)):
            generator = getattr(owner, "generator", None)
            if isinstance(generator, torch.Generator):
                generator.manual_seed(derive_seed(self._seed, epoch, 1))
        with fork_rng(derive_seed(self._seed, epoch)):
            return list(sampler)


class _Fetcher:
    """Reads a part of a batch; it is the data set of torch's DataLoader in worker processes."""

    def __init__(self, loader: DataLoader, seed: int, rank: int) -> None:
        self._dataset = loader.dataset
        self._collate = loader.collate_fn
        self._seed = seed
        self._rank = rank
        # Indexing a tensor once gives the same batch as record by record, and is much faster.
        self._sliceable = type(loader.dataset) is TensorDataset and loader.collate_fn is None

    def __getitem__(self, part: _BatchPart) -> DataBatch:
        epoch, batch, indices = part
        if get_worker_info() is not None:
            # Random numbers must not depend on which worker reads the batch.
            seed_all(derive_seed(self._seed, epoch, batch, self._rank))
        if self._sliceable:
            rows = torch.as_tensor(indices)
            dataset = cast(TensorDataset, self._dataset)
            return [tensor.index_select(0, rows) for tensor in dataset.tensors]
        if isinstance(indices, torch.Tensor):
            indices = indices.tolist()
        return (self._collate or default_collate)([self._dataset[i] for i in indices])


class _IterableShard(IterableDataset[DataBatch]):
    """This rank's parts of the batches of a data set that every rank reads completely.

    The random numbers of the data set follow from the seed and the epoch, so all ranks read the
    same.
    """

    def __init__(
        self,
        loader: DataLoader,
        shard: BatchShard,
        training: bool,
        seed: int,
        epoch: int,
        first: int,
    ) -> None:
        self._loader = loader
        self._shard = shard
        self._training = training
        self._seed = seed
        self._epoch = epoch
        self._first = first

    def __iter__(self) -> Iterator[DataBatch]:
        dataset_rng = IsolatedRng(derive_seed(self._seed, self._epoch))
        with dataset_rng:
            records = iter(self._loader.dataset)
        collate = self._loader.collate_fn or default_collate
        size = self._loader.batch_size * self._shard.total
        for batch in itertools.count():
            with dataset_rng:
                block: list[Record] = list(itertools.islice(records, size))
            part = self._take_part(block, size)
            if part is None:
                return
            if batch < self._first or not part:
                continue
            if get_worker_info() is not None:  # In this process collate() draws as training does.
                seed_all(derive_seed(self._seed, self._epoch, batch, self._shard.first))
            yield collate(part)

    def _take_part(self, block: list[Record], size: int) -> list[Record] | None:
        """Returns this rank's records of a global batch, or None at the end of the data."""
        count = len(block)
        if count < size and self._loader.drop_last:
            return None
        if self._training:
            count -= count % self._shard.total
        if count == 0:
            return None
        start, end = _bounds_of_shard(count, self._shard)
        return block[start:end]


def _bounds_of_shard(count: int, shard: BatchShard) -> tuple[int, int]:
    """Returns the begin and the end of a rank's part of `count` records in order.

    The parts of all slots are equal, or differ by one record.
    """
    end = count * (shard.first + shard.slots) // shard.total
    return count * shard.first // shard.total, end


def _identity(batch: DataBatch) -> DataBatch:
    return batch
