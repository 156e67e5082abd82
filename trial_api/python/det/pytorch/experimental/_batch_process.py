"""Batch inference: a data set is worked through once, on all slots, and goes on where it was stopped."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Tuple, Type

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from det import core
from det.pytorch import _ranks
from det.pytorch.experimental._batch_processor import (
    TorchBatchProcessor,
    TorchBatchProcessorContext,
)

_OURS = ("batch_size", "shuffle", "sampler", "batch_sampler", "drop_last")
_NONE: Any = object()


def torch_batch_process(
    batch_processor_cls: Type[TorchBatchProcessor],
    dataset: Dataset[Any],
    batch_size: Optional[int] = None,
    max_batches: Optional[int] = None,
    checkpoint_interval: int = 5,
    dataloader_kwargs: Optional[Dict[str, Any]] = None,
    distributed_context: Optional[core.DistributedContext] = None,
    *,
    checkpoint_storage: Any = None,
    latest_checkpoint: Optional[str] = None,
) -> None:
    """Gives every record to one rank's process_batch(), in batches. Collective: a launcher started the
    ranks. A preempted run ends after the batch under way, and the next one goes on behind it, on any
    number of slots; after a failure, behind the last progress that was stored.

    Args:
        dataset: with a length; records are taken by their numbers.
        batch_size: of each rank; None: 1.
        max_batches: of each rank, those of earlier runs with it; None: to the end of the data.
        checkpoint_interval: progress is stored after so many batches.
        dataloader_kwargs: of torch's DataLoader, besides what says which records come.
        distributed_context: the ranks; None: those of the launcher's environment, else one.
        checkpoint_storage: off the cluster, a folder; None: ./checkpoints.
        latest_checkpoint: off the cluster, the uuid of the progress to go on from.

    Raises:
        ValueError: arguments that make no sense.
    """
    batch_size = 1 if batch_size is None else batch_size
    _check(dataset, batch_size, checkpoint_interval, dataloader_kwargs or {})
    device = _ranks.choose_device()
    joined = _ranks.join(device)
    try:
        with core.init(
            distributed=distributed_context, checkpoint_storage=checkpoint_storage
        ) as context:
            latest = context.checkpoint.newest_whole() if context.info else latest_checkpoint
            work = _Work(context, len(dataset), batch_size, max_batches)  # type: ignore[arg-type]
            work.go_on(latest)
            of_rank = TorchBatchProcessorContext(context, device)
            with torch.no_grad():
                processor = batch_processor_cls(of_rank)
                batches = work.read(dataset, dataloader_kwargs or {})
                if work.run(processor, batches, checkpoint_interval, of_rank.sources):
                    processor.on_finish()
    finally:
        if joined:
            torch.distributed.destroy_process_group()


def _check(dataset: Any, batch_size: int, interval: int, options: Dict[str, Any]) -> None:
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__"):
        raise ValueError(
            "torch_batch_process() takes a data set with a length and records by number"
        )
    if batch_size < 1 or interval < 1:
        raise ValueError(
            f"batch_size is {batch_size} and checkpoint_interval {interval}: at least 1 each"
        )
    for name in _OURS:
        if name in options:
            raise ValueError(f"dataloader_kwargs has {name}, which torch_batch_process() decides")


class _Work:
    """Which records were worked on. A step is a batch of each rank: rank r has the r-th of as many
    stretches of `batch_size` records behind `_done`."""

    def __init__(
        self, context: core.Context, records: int, batch_size: int, max_batches: Optional[int]
    ) -> None:
        self._context, self._ranks = context, context.distributed
        self._batch_size, self._records = batch_size, records
        self._per_step = batch_size * self._ranks.size
        self._max_batches = max_batches
        self._done = 0  # Records.
        self._steps = 0

    def go_on(self, uuid: Optional[str]) -> None:
        """From the progress of an earlier run."""
        if uuid is not None:
            told = self._context.checkpoint.get_metadata(uuid)
            self._done, self._steps = int(told["records"]), int(told["steps_completed"])

    def _steps_left(self) -> int:
        left = -(-max(0, self._records - self._done) // self._per_step)
        if self._max_batches is None:
            return left
        return min(left, max(0, self._max_batches - self._steps))

    def read(self, dataset: Any, options: Dict[str, Any]) -> Iterator[Tuple[int, Any]]:
        """The steps that are left, and this rank's batch of each, _NONE where it has none."""
        first_step, left = self._steps, self._steps_left()
        stretches: List[range] = []
        for step in range(left):
            first = self._done + step * self._per_step + self._ranks.rank * self._batch_size
            stretch = range(first, min(first + self._batch_size, self._records))
            if stretch:
                stretches.append(stretch)
        loader = iter(DataLoader(dataset, batch_sampler=stretches, **options))
        for step in range(first_step, first_step + left):
            yield step, next(loader, _NONE)

    def run(
        self,
        processor: TorchBatchProcessor,
        batches: Iterator[Tuple[int, Any]],
        interval: int,
        sources: List[Dict[str, Any]],
    ) -> bool:
        """Whether it came to the end."""
        stored = self._steps
        for step, batch in batches:
            if batch is not _NONE:
                processor.process_batch(batch=batch, batch_idx=step)
            self._steps = step + 1
            self._done = min(self._done + self._per_step, self._records)
            stop = self._context.preempt.should_preempt(auto_ack=False)
            if stop or self._steps % interval == 0:
                self._store(processor, sources)
                stored = self._steps
            if stop and self._steps_left():
                if self._ranks.is_chief:
                    self._context.preempt.acknowledge_preemption_signal()
                return False
        if stored != self._steps:
            self._store(processor, sources)
        return True

    def _store(self, processor: TorchBatchProcessor, sources: List[Dict[str, Any]]) -> None:
        processor.on_checkpoint_start()
        told = self._ranks.gather(sources)  # By now, what each rank has to keep is safe.
        if told is None:
            return
        used: List[Dict[str, Any]] = []
        for source in (source for of_rank in told for source in of_rank):
            if source not in used:
                used.append(source)
        metadata = {
            "steps_completed": self._steps,
            "records": self._done,
            "sources": used,
            "format": "batch-process",
        }
        with self._context.checkpoint.store_path(metadata):
            pass
        self._context.train.report_progress(self._done / max(self._records, 1))
