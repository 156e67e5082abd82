"""DataLoader, and the conversion of what else a Trial may return in its place."""

from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Callable, Union, cast

import torch
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from det.pytorch.utilities.types import Arguments, DataBatch, Record

# The usual batches: tensors whose first dimension counts the records, alone or in a dict or sequence.
TorchData = Union[dict[str, torch.Tensor], Sequence[torch.Tensor], torch.Tensor]


@dataclasses.dataclass
class WorkerOptions:
    """The arguments of torch's DataLoader that say how batches are read beside training."""

    num_workers: int = 0
    pin_memory: bool = False
    timeout: float = 0
    worker_init_fn: Callable[[int], None] | None = None
    multiprocessing_context: str | multiprocessing.context.BaseContext | None = None
    prefetch_factor: int | None = None
    persistent_workers: bool = False

    def arguments(self) -> Arguments:
        """Returns the keyword arguments for torch's DataLoader."""
        arguments = dataclasses.asdict(self)
        if self.num_workers == 0 or self.prefetch_factor is None:
            del arguments["prefetch_factor"]  # Its default differs between versions of torch.
        return arguments


class DataLoader:
    """A data set and how it is batched, with the arguments of torch.utils.data.DataLoader.

    A Trial returns it from build_training_data_loader() and build_validation_data_loader(). The
    ranks of a trial divide the records of each global batch among them, and training resumes at any
    batch. Iterating over it gives one pass over all records, as on one slot.

    Example:
        >>> def build_training_data_loader(self):
        ...     size = self.context.get_per_slot_batch_size()
        ...     return DataLoader(self.train_set, batch_size=size, shuffle=True)

    Attributes:
        dataset: The data set.
        batch_size: The number of records of a batch on one slot.
    """

    def __init__(
        self,
        dataset: Dataset[Record] | Sequence[Record],
        batch_size: int = 1,
        shuffle: bool = False,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[Sequence[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Record]], DataBatch] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: str | multiprocessing.context.BaseContext | None = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
    ) -> None:
        """Creates a data loader.

        Args:
            dataset: A data set with `__getitem__` and a length, or an IterableDataset.
            batch_size: The number of records of a batch on one slot, at least 1.
            shuffle: Whether the order is random. It follows from the experiment's seed (or from the
                seed of `generator`) and the epoch.
            sampler: An iterable of indices, with a length, that gives the order.
            batch_sampler: An iterable of lists of indices; each list is a batch of one slot. It
                excludes batch_size, shuffle, sampler and drop_last.
            num_workers: The number of processes that read batches; 0 reads on the training thread.
                An IterableDataset is read by at most one process.
            collate_fn: Makes a batch of a list of records; None: torch's default_collate.
            pin_memory: Whether batches are put into pinned memory.
            drop_last: Whether the last, incomplete global batch of an epoch is left out.
            timeout: How many seconds to wait for a batch of a worker process; 0: no limit.
            worker_init_fn: Called in each worker process with its index.
            multiprocessing_context: How worker processes are started, as in torch.
            generator: Its initial seed determines the order of shuffle=True.
            prefetch_factor: The number of batches that each worker process reads ahead.
            persistent_workers: Whether worker processes are kept between epochs.

        Raises:
            TypeError: If the data set has neither `__getitem__` nor is an IterableDataset.
            ValueError: If arguments exclude each other, batch_size is less than 1, or a sampler is
                torch's DistributedSampler, which would divide the records a second time.
        """
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.generator = generator
        self.workers = WorkerOptions(
            num_workers=num_workers,
            pin_memory=pin_memory,
            timeout=timeout,
            worker_init_fn=worker_init_fn,
            multiprocessing_context=multiprocessing_context,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
        )
        self._check()

    def _check(self) -> None:
        if not self.iterable and not hasattr(self.dataset, "__getitem__"):
            raise TypeError(
                f"DataLoader got a data set of type {type(self.dataset).__name__}: it must have "
                "__getitem__ and a length, such as a list, or be a torch.utils.data.IterableDataset"
            )
        if self.batch_sampler is not None:
            if self.batch_size != 1 or self.shuffle or self.sampler is not None or self.drop_last:
                raise ValueError(
                    "DataLoader: batch_sampler excludes batch_size, shuffle, sampler and drop_last, "
                    "because it determines them"
                )
        elif not isinstance(self.batch_size, int) or self.batch_size < 1:
            raise ValueError(f"batch_size is {self.batch_size!r}: must be an integer >= 1")
        if self.shuffle and self.sampler is not None:
            raise ValueError("DataLoader: shuffle=True excludes sampler")
        if self.iterable:
            if self.shuffle or self.sampler is not None or self.batch_sampler is not None:
                raise ValueError(
                    "an IterableDataset determines the order of its records: remove shuffle, sampler "
                    "and batch_sampler"
                )
            return
        inner = getattr(self.batch_sampler, "sampler", None)
        for sampler in (self.sampler, self.batch_sampler, inner):
            if isinstance(sampler, torch.utils.data.distributed.DistributedSampler):
                raise ValueError(
                    "torch's DistributedSampler divides the records among the slots, and so does "
                    "det.pytorch.DataLoader: remove the sampler (shuffle=True shuffles)"
                )

    @property
    def iterable(self) -> bool:
        """Whether the data set is an IterableDataset, which has no random access."""
        return isinstance(self.dataset, IterableDataset)

    def order_size(self) -> int:
        """Returns the number of records of one pass; with a batch_sampler, of batches.

        Raises:
            TypeError: If the data set has no length.
        """
        for source in (self.batch_sampler, self.sampler, self.dataset):
            if source is not None:
                return len(cast(Sized, source))
        raise AssertionError

    def __len__(self) -> int:
        """Returns the number of batches of one pass on one slot."""
        if self.batch_sampler is not None:
            return self.order_size()
        records = self.order_size()
        return records // self.batch_size if self.drop_last else -(-records // self.batch_size)

    def __iter__(self) -> Iterator[DataBatch]:
        """Iterates over the batches of one pass over all records, as on one slot."""
        arguments: Arguments = self.workers.arguments()
        if self.batch_sampler is not None:
            arguments["batch_sampler"] = self.batch_sampler
        else:
            arguments.update(batch_size=self.batch_size, drop_last=self.drop_last)
            if not self.iterable:
                arguments.update(shuffle=self.shuffle, sampler=self.sampler)
        return iter(
            TorchDataLoader(
                cast(Dataset[Record], self.dataset),
                collate_fn=self.collate_fn,
                generator=self.generator,
                **arguments,
            )
        )


class _MappingDataset(Dataset[dict[str, torch.Tensor]]):
    """Tensors by name, with the records along their first dimension."""

    def __init__(self, tensors: dict[str, torch.Tensor]) -> None:
        self.tensors = tensors

    def __len__(self) -> int:
        return len(next(iter(self.tensors.values())))

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {name: tensor[index] for name, tensor in self.tensors.items()}


def adapt_loader(
    given: object, *, batch_size: Callable[[], int], shuffle: bool, what: str, unchecked: bool
) -> DataLoader | Iterable[DataBatch]:
    """Converts what a Trial's build function returned to a DataLoader.

    Args:
        given: A DataLoader of ours or torch's, or tensors or arrays with records along the first
            dimension, alone or in a tuple, list or dict.
        batch_size: Returns the batch size of a slot, for tensors and arrays.
        shuffle: Whether tensors and arrays are shuffled.
        what: The name of the build function, for errors.
        unchecked: Whether any iterable of batches is accepted, and returned unchanged.

    Raises:
        TypeError: If `given` is something else.
        ValueError: If tensors differ in their first dimension, or torch's DataLoader has no batch
            size.
    """
    if isinstance(given, DataLoader):
        return given
    if unchecked and hasattr(given, "__iter__") and not isinstance(given, (torch.Tensor, Mapping)):
        return cast(Iterable[DataBatch], given)
    if isinstance(given, TorchDataLoader):
        return _convert_torch_loader(given, what)
    dataset = _make_dataset(given)
    if dataset is None:
        raise TypeError(
            f"{what}() returned a {type(given).__name__}: return a det.pytorch.DataLoader, torch's "
            "DataLoader, or tensors or arrays with records along the first dimension; for other "
            "iterables call context.experimental.disable_dataset_reproducibility_checks()"
        )
    return DataLoader(dataset, batch_size=batch_size(), shuffle=shuffle)


def _make_dataset(given: object) -> Dataset[Record] | None:
    """Returns a data set of tensors or arrays, or None if `given` is not made of those."""
    named: dict[str, torch.Tensor | None] = {}
    if isinstance(given, Mapping):
        named = {str(name): _as_tensor(column) for name, column in given.items()}
        found = list(named.values())
    else:
        found = [_as_tensor(c) for c in (given if isinstance(given, (tuple, list)) else [given])]
    columns = [column for column in found if column is not None and column.dim() > 0]
    if not columns or len(columns) < len(found):
        return None
    if len({len(column) for column in columns}) > 1:
        sizes = ", ".join(str(len(column)) for column in columns)
        raise ValueError(f"tensors have {sizes} records: their first dimensions must be equal")
    if named:
        return _MappingDataset(dict(zip(named, columns)))
    return TensorDataset(*columns)


def _as_tensor(column: object) -> torch.Tensor | None:
    """Returns a tensor for a tensor or an array, and None for anything else."""
    if isinstance(column, torch.Tensor):
        return column
    if hasattr(column, "__array__"):  # NumPy arrays, pandas Series and such.
        return torch.as_tensor(column.__array__())
    return None


def _convert_torch_loader(loader: TorchDataLoader[Record], what: str) -> DataLoader:
    """Returns a DataLoader with the data, order and workers of torch's."""
    workers: Arguments = {
        name: getattr(loader, name)
        for name in ("num_workers", "pin_memory", "timeout", "worker_init_fn", "persistent_workers")
    }
    if loader.num_workers > 0:
        workers["prefetch_factor"] = loader.prefetch_factor
        workers["multiprocessing_context"] = loader.multiprocessing_context
    default = torch.utils.data.default_collate
    workers["collate_fn"] = None if loader.collate_fn is default else loader.collate_fn
    batch_size = cast(int, loader.batch_size)  # DataLoader refuses None.
    if isinstance(loader.dataset, IterableDataset):
        return DataLoader(loader.dataset, batch_size, drop_last=loader.drop_last, **workers)
    if loader.batch_sampler is None:
        raise ValueError(f"{what}() returned a DataLoader with batch_size=None: set batch_size")
    if type(loader.batch_sampler) is not torch.utils.data.BatchSampler:
        return DataLoader(loader.dataset, batch_sampler=loader.batch_sampler, **workers)
    sampler = loader.sampler
    plain_shuffle = (
        type(sampler) is torch.utils.data.RandomSampler
        and not sampler.replacement
        and len(sampler) == len(cast(Sized, loader.dataset))
    )
    in_order = type(sampler) is torch.utils.data.SequentialSampler
    return DataLoader(
        loader.dataset,
        batch_size,
        shuffle=plain_shuffle,
        sampler=None if plain_shuffle or in_order else sampler,
        drop_last=loader.drop_last,
        generator=loader.generator,
        **workers,
    )
