"""What users say about their data: DataLoader, and what is taken in its place."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

import torch
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import Dataset, IterableDataset, TensorDataset

TorchData = Union[Dict[str, torch.Tensor], Sequence[torch.Tensor], torch.Tensor]


@dataclasses.dataclass
class WorkerOptions:
    """How batches are read beside training; what torch's DataLoader calls them."""

    num_workers: int = 0
    pin_memory: bool = False
    timeout: float = 0
    worker_init_fn: Optional[Callable[[int], None]] = None
    multiprocessing_context: Any = None
    prefetch_factor: Optional[int] = None
    persistent_workers: bool = False

    def arguments(self) -> Dict[str, Any]:
        told = dataclasses.asdict(self)
        if self.num_workers == 0 or self.prefetch_factor is None:
            del told["prefetch_factor"]  # Its default differs between versions of torch.
        return told


class DataLoader:
    """A data set and how it is batched: the arguments of torch's DataLoader.

    batch_size is of one slot. The ranks of a trial divide the records among them, the order of
    shuffle=True follows from the experiment's seed (or from `generator`'s), and training resumes at
    any batch: see README.md.

    Raises:
        ValueError: arguments that exclude each other, or an empty data set.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Optional[Callable[[List[Any]], Any]] = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Optional[Callable[[int], None]] = None,
        multiprocessing_context: Any = None,
        generator: Optional[torch.Generator] = None,
        *,
        prefetch_factor: Optional[int] = None,
        persistent_workers: bool = False,
    ) -> None:
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
                f"a DataLoader of a {type(self.dataset).__name__}: give a data set with records by number, "
                "a list for example, or a torch.utils.data.IterableDataset"
            )
        if self.batch_sampler is not None:
            if self.batch_size != 1 or self.shuffle or self.sampler is not None or self.drop_last:
                raise ValueError(
                    "a DataLoader with a batch_sampler takes no batch_size, shuffle, sampler or "
                    "drop_last: the batch_sampler says all that"
                )
        elif not isinstance(self.batch_size, int) or self.batch_size < 1:
            raise ValueError(f"batch_size is {self.batch_size!r}: must be a number of at least 1")
        if self.shuffle and self.sampler is not None:
            raise ValueError("a DataLoader takes shuffle=True or a sampler, not both")
        if self.iterable:
            if self.shuffle or self.sampler is not None or self.batch_sampler is not None:
                raise ValueError("an IterableDataset has its own order: no shuffle, no samplers")
            return
        inner = getattr(self.batch_sampler, "sampler", None)
        for sampler in (self.sampler, self.batch_sampler, inner):
            if isinstance(sampler, torch.utils.data.distributed.DistributedSampler):
                raise ValueError(
                    "torch's DistributedSampler divides the data among the slots, and so does "
                    "det.pytorch.DataLoader: leave the sampler out (shuffle=True shuffles)"
                )

    @property
    def iterable(self) -> bool:
        """Whether records come one after the other only."""
        return isinstance(self.dataset, IterableDataset)

    def order_size(self) -> int:
        """How many records are in one pass; batches, with a batch_sampler."""
        for source in (self.batch_sampler, self.sampler, self.dataset):
            if source is not None:
                return len(source)
        raise AssertionError

    def __len__(self) -> int:
        """Batches of one pass on one slot."""
        if self.batch_sampler is not None:
            return self.order_size()
        records = self.order_size()
        return records // self.batch_size if self.drop_last else -(-records // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        """One pass over all of the data, as on one slot."""
        arguments: Dict[str, Any] = self.workers.arguments()
        if self.batch_sampler is not None:
            arguments["batch_sampler"] = self.batch_sampler
        else:
            arguments.update(batch_size=self.batch_size, drop_last=self.drop_last)
            if not self.iterable:
                arguments.update(shuffle=self.shuffle, sampler=self.sampler)
        return iter(
            TorchDataLoader(
                self.dataset, collate_fn=self.collate_fn, generator=self.generator, **arguments
            )
        )


class _MappingDataset(Dataset):  # type: ignore[type-arg]
    """Tensors by name, records along their first dimension."""

    def __init__(self, tensors: Dict[str, torch.Tensor]) -> None:
        self.tensors = tensors

    def __len__(self) -> int:
        return len(next(iter(self.tensors.values())))

    def __getitem__(self, index: int) -> Dict[str, torch.Tensor]:
        return {name: tensor[index] for name, tensor in self.tensors.items()}


def adapt_loader(
    given: Any, *, batch_size: Callable[[], int], shuffle: bool, what: str, unchecked: bool
) -> Any:
    """The DataLoader that a Trial's build function means; the iterable itself if `unchecked`.

    Args:
        batch_size: gives that of a slot, for tensors.
        shuffle: tensors.
        what: names the function in errors.
    """
    if isinstance(given, DataLoader):
        return given
    if unchecked and hasattr(given, "__iter__") and not isinstance(given, (torch.Tensor, Mapping)):
        return given
    if isinstance(given, TorchDataLoader):
        return _from_torch(given, what)
    dataset = _dataset_of(given)
    if dataset is None:
        raise TypeError(
            f"{what}() returned a {type(given).__name__}: return a det.pytorch.DataLoader, torch's "
            "DataLoader, or tensors or arrays with records along the first dimension; for other "
            "iterables call context.experimental.disable_dataset_reproducibility_checks()"
        )
    return DataLoader(dataset, batch_size=batch_size(), shuffle=shuffle)


def _dataset_of(given: Any) -> Any:
    if isinstance(given, Mapping):
        named = {str(name): _tensor_of(column) for name, column in given.items()}
        columns, dataset = list(named.values()), _MappingDataset
    else:
        columns = [_tensor_of(c) for c in (given if isinstance(given, (tuple, list)) else [given])]
        named, dataset = {}, None  # type: ignore[assignment]
    if not columns or any(column is None or column.dim() == 0 for column in columns):
        return None
    if len({len(column) for column in columns}) > 1:
        sizes = ", ".join(str(len(column)) for column in columns)
        raise ValueError(f"tensors of {sizes} records: their first dimensions must agree")
    return dataset(named) if dataset else TensorDataset(*columns)


def _tensor_of(column: Any) -> Any:
    """A tensor, or None for what is none."""
    if isinstance(column, torch.Tensor):
        return column
    if hasattr(column, "__array__"):  # Of numpy and what is like it.
        return torch.as_tensor(column.__array__())
    return None


def _from_torch(loader: Any, what: str) -> DataLoader:
    """Ours with the same data, order and workers."""
    workers: Dict[str, Any] = {
        name: getattr(loader, name)
        for name in ("num_workers", "pin_memory", "timeout", "worker_init_fn", "persistent_workers")
    }
    if loader.num_workers > 0:
        workers["prefetch_factor"] = loader.prefetch_factor
        workers["multiprocessing_context"] = loader.multiprocessing_context
    default = torch.utils.data.default_collate
    workers["collate_fn"] = None if loader.collate_fn is default else loader.collate_fn
    if isinstance(loader.dataset, IterableDataset):
        return DataLoader(
            loader.dataset, loader.batch_size, drop_last=loader.drop_last, **workers
        )
    if loader.batch_sampler is None:
        raise ValueError(f"{what}(): a DataLoader with batch_size=None: give a size")
    if type(loader.batch_sampler) is not torch.utils.data.BatchSampler:
        return DataLoader(loader.dataset, batch_sampler=loader.batch_sampler, **workers)
    sampler = loader.sampler
    plain_shuffle = (
        type(sampler) is torch.utils.data.RandomSampler
        and not sampler.replacement
        and len(sampler) == len(loader.dataset)
    )
    in_order = type(sampler) is torch.utils.data.SequentialSampler
    return DataLoader(
        loader.dataset,
        loader.batch_size,
        shuffle=plain_shuffle,
        sampler=None if plain_shuffle or in_order else sampler,
        drop_last=loader.drop_last,
        generator=loader.generator,
        **workers,
    )


def to_device(data: Any, device: torch.device) -> Any:
    """`data` with its tensors on `device`, through dictionaries, lists and tuples. What is no
    tensor stays as it is."""
    if isinstance(data, torch.Tensor):
        return data if data.device == device else data.to(device, non_blocking=True)
    if isinstance(data, list):
        return [to_device(value, device) for value in data]
    if isinstance(data, tuple):
        moved = [to_device(value, device) for value in data]
        return type(data)(*moved) if hasattr(data, "_fields") else tuple(moved)
    if isinstance(data, Mapping):
        return {key: to_device(value, device) for key, value in data.items()}
    if hasattr(data, "to") and callable(data.to):  # Batches of libraries: of graphs, of texts.
        return data.to(device)
    return data


def data_length(batch: Any) -> int:
    """How many records a batch has: the first dimension of its first tensor.

    Raises:
        TypeError: it holds no tensor; override get_batch_length() of the Trial.
    """
    if isinstance(batch, torch.Tensor):
        return int(batch.shape[0]) if batch.dim() else 1
    values: Any = batch.values() if isinstance(batch, Mapping) else batch
    if isinstance(values, (list, tuple)) or isinstance(batch, Mapping):
        for value in values:
            try:
                return data_length(value)
            except TypeError:
                continue
    raise TypeError(
        f"no tensor in a batch of type {type(batch).__name__}: override get_batch_length()"
    )
