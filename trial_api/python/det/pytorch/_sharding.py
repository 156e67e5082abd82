"""Which records a rank reads in which batch, and reading them from any position on.

What a batch holds is a function of the seed, the epoch and its number in the epoch.
"""

from __future__ import annotations

import itertools
from typing import Any, Iterator, List, Optional, Sequence, Tuple

import torch
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import IterableDataset, TensorDataset, default_collate, get_worker_info

from det.pytorch import _random
from det.pytorch._data import DataLoader
from det.pytorch._shares import Share

# Of an epoch: its number, a batch's, and its records on this rank.
_Slice = Tuple[int, int, Any]


class ShardedData:
    """The batches of one rank.

    Args:
        loader: a DataLoader, or an iterable of batches that its maker shards himself.
        share: of each global batch, this rank's.
        training: otherwise every record is read, and ranks may have unequal numbers of them.

    Raises:
        ValueError: no batch can be made.
    """

    def __init__(self, loader: Any, *, share: Share, seed: int, training: bool) -> None:
        self.loader = loader
        self._share = share
        self._rank = share.first  # What it draws is its own.
        self._size = share.total
        self._seed = seed
        self._training = training
        self._ours = isinstance(loader, DataLoader)
        self._ordered: Tuple[int, Any] = (-1, None)
        self._torch_loader: Optional[Any] = None
        self._position = (0, 0)
        if self._ours and not loader.iterable and self.batches_per_epoch() == 0:
            raise ValueError(
                f"the data set has {loader.order_size()} records, too few for one batch of "
                f"{self.records_per_batch} on {share.total} slots: make the batch smaller"
            )

    @property
    def records_per_batch(self) -> int:
        """Of a global batch; 0 where nobody knows."""
        if not self._ours or self.loader.batch_sampler is not None:
            return 0
        return int(self.loader.batch_size) * self._size

    @property
    def even(self) -> bool:
        """Whether all ranks surely have equally many batches."""
        if not self._ours:
            return True  # Its maker's affair.
        if self.loader.iterable:
            return self._share.total == 1
        total = self.loader.order_size()
        if self.loader.batch_sampler is not None:
            return bool(total % self._share.total == 0)
        rest = total % self.records_per_batch
        return bool(rest == 0 or rest >= self._share.total or self.loader.drop_last)

    @property
    def reads_all(self) -> bool:
        """Whether this rank has every record."""
        return self._share.total == 1

    def read_all(self) -> None:
        """From now on."""
        self._share = Share()
        self._rank, self._size = 0, 1

    def batches_per_epoch(self) -> Optional[int]:
        """None where only the end of the data will tell."""
        try:
            total = self.loader.order_size() if self._ours else len(self.loader)
        except TypeError:
            return None
        if not self._ours:
            return int(total)
        if self.loader.batch_sampler is not None:
            return int(total // self._size if self._training else -(-total // self._size))
        whole, rest = divmod(total, self.records_per_batch)
        least = self._size if self._training else 1
        return int(whole + (rest >= least and not self.loader.drop_last))

    def read(self, epoch: int, first: int = 0) -> Iterator[Any]:
        """The batches of an epoch from number `first` on. A batch of which this rank has no record
        is left out."""
        if not self._ours:
            return itertools.islice(iter(self.loader), first, None)
        if self.loader.iterable:
            return self._read_iterable(epoch, first)
        self._position = (epoch, first)
        if self.loader.workers.num_workers > 0:
            return self._read_with_workers(epoch)
        return self._read_here()

    def _read_here(self) -> Iterator[Any]:
        fetch = _Fetch(self.loader, self._seed, self._rank)
        return (fetch[part] for part in self)

    def _read_with_workers(self, epoch: int) -> Iterator[Any]:
        # What torch draws for its workers comes from here and not from the training's generator.
        generator = torch.Generator()
        generator.manual_seed(_random.derive(self._seed, epoch, self._rank))
        if self._torch_loader is None or not self.loader.workers.persistent_workers:
            self._torch_loader = TorchDataLoader(
                _Fetch(self.loader, self._seed, self._rank),
                sampler=self,
                batch_size=None,
                collate_fn=_as_it_is,
                generator=generator,
                **self.loader.workers.arguments(),
            )
        return iter(self._torch_loader)

    def _read_iterable(self, epoch: int, first: int) -> Iterator[Any]:
        batches = _IterableShard(
            self.loader, self._share, self._training, self._seed, epoch, first
        )
        generator = torch.Generator()
        generator.manual_seed(_random.derive(self._seed, epoch, self._rank))
        arguments = self.loader.workers.arguments()
        # Each would read all records, and a data set that looks at its worker only some of them.
        arguments["num_workers"] = min(arguments["num_workers"], 1)
        return iter(
            TorchDataLoader(
                batches, batch_size=None, collate_fn=_as_it_is, generator=generator, **arguments
            )
        )

    def __iter__(self) -> Iterator[_Slice]:
        """The parts of this rank from where read() was told to begin."""
        epoch, first = self._position
        for batch in range(first, self.batches_per_epoch() or 0):
            part = self.part(epoch, batch)
            if len(part):
                # To a worker, a tensor would travel in shared memory of its own.
                worker = self.loader.workers.num_workers > 0 and isinstance(part, torch.Tensor)
                yield epoch, batch, part.tolist() if worker else part

    def __len__(self) -> int:
        return self.batches_per_epoch() or 0

    def part(self, epoch: int, batch: int) -> Any:
        """The records of this rank in a batch, as indices."""
        order = self._order(epoch)
        if self.loader.batch_sampler is not None:
            mine = batch * self._size + self._share.first
            if self._share.slots == 1:
                return order[mine] if mine < len(order) else []
            return [index for one in order[mine : mine + self._share.slots] for index in one]
        records = self.records_per_batch
        begin = batch * records
        count = min(records, len(order) - begin)
        if self._training:
            count -= count % self._size
        start, end = _part_of(count, self._share)
        return order[begin + start : begin + end]

    def _order(self, epoch: int) -> Any:
        if self._ordered[0] != epoch:
            self._ordered = (epoch, self._make_order(epoch))
        return self._ordered[1]

    def _make_order(self, epoch: int) -> Any:
        loader = self.loader
        source = loader.batch_sampler if loader.batch_sampler is not None else loader.sampler
        if source is not None:
            return self._ask(source, epoch)
        records = loader.order_size()
        if not loader.shuffle:
            return torch.arange(records)
        seed = loader.generator.initial_seed() if loader.generator else self._seed
        generator = torch.Generator()
        generator.manual_seed(_random.derive(seed, epoch))
        return torch.randperm(records, generator=generator)

    def _ask(self, sampler: Any, epoch: int) -> Sequence[Any]:
        """All that a user's sampler says in one epoch, alike on all ranks and in all runs."""
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(epoch)
        for owner in (sampler, getattr(sampler, "sampler", None)):
            generator = getattr(owner, "generator", None)
            if isinstance(generator, torch.Generator):
                generator.manual_seed(_random.derive(self._seed, epoch, 1))
        with _random.forked(_random.derive(self._seed, epoch)):
            return list(sampler)


class _Fetch:
    """Reads a part of a batch; as a data set, in a worker of torch's DataLoader, too."""

    def __init__(self, loader: DataLoader, seed: int, rank: int) -> None:
        self._dataset = loader.dataset
        self._collate = loader.collate_fn
        self._seed = seed
        self._rank = rank
        # All at once where that is the same: much faster than record by record.
        self._sliceable = type(loader.dataset) is TensorDataset and loader.collate_fn is None

    def __getitem__(self, part: _Slice) -> Any:
        epoch, batch, indices = part
        if get_worker_info() is not None:
            # A worker reads what it happens to get; what it draws must not depend on that.
            _random.seed_all(_random.derive(self._seed, epoch, batch, self._rank))
        if self._sliceable:
            rows = torch.as_tensor(indices)
            return [tensor.index_select(0, rows) for tensor in self._dataset.tensors]
        if isinstance(indices, torch.Tensor):
            indices = indices.tolist()
        return (self._collate or default_collate)([self._dataset[i] for i in indices])


class _IterableShard(IterableDataset):  # type: ignore[type-arg]
    """This rank's parts of the batches of a data set that every rank reads whole. What the data set
    draws follows from the seed and the epoch, so that all ranks read the same."""

    def __init__(
        self,
        loader: DataLoader,
        share: Share,
        training: bool,
        seed: int,
        epoch: int,
        first: int,
    ) -> None:
        self._loader = loader
        self._share = share
        self._training = training
        self._seed = seed
        self._epoch = epoch
        self._first = first

    def __iter__(self) -> Iterator[Any]:
        of_data = _random.Apart(_random.derive(self._seed, self._epoch))
        with of_data:
            records = iter(self._loader.dataset)
        collate = self._loader.collate_fn or default_collate
        wanted = self._loader.batch_size * self._share.total
        for batch in itertools.count():
            with of_data:
                block: List[Any] = list(itertools.islice(records, wanted))
            part = self._part(block, wanted)
            if part is None:
                return
            if batch < self._first or not part:
                continue
            if get_worker_info() is not None:  # In this process collate() draws as training does.
                _random.seed_all(_random.derive(self._seed, self._epoch, batch, self._share.first))
            yield collate(part)

    def _part(self, block: List[Any], wanted: int) -> Optional[List[Any]]:
        """None at the end of the data."""
        count = len(block)
        if count < wanted and self._loader.drop_last:
            return None
        if self._training:
            count -= count % self._share.total
        if count == 0:
            return None
        start, end = _part_of(count, self._share)
        return block[start:end]


def _part_of(count: int, share: Share) -> Tuple[int, int]:
    """Of so many records in order, from which to which: equally many for each slot, or nearly."""
    end = count * (share.first + share.slots) // share.total
    return count * share.first // share.total, end


def _as_it_is(batch: Any) -> Any:
    return batch
