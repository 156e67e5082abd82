"""torch_batch_process(): processes a data set once, on all slots, and resumes after a stop."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import cast

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler

from det import core
from det._types import CheckpointStorage, Json
from det.pytorch.distributed.device import choose_device
from det.pytorch.distributed.process_group import init_process_group
from det.pytorch.experimental._batch_processor import (
    TorchBatchProcessor,
    TorchBatchProcessorContext,
)
from det.pytorch.utilities.types import Arguments, DataBatch, Record

# Arguments of torch's DataLoader that torch_batch_process() determines.
_RESERVED_ARGUMENTS = ("batch_size", "shuffle", "sampler", "batch_sampler", "drop_last")
_NO_BATCH = object()


def torch_batch_process(
    batch_processor_cls: type[TorchBatchProcessor],
    dataset: Dataset[Record],
    batch_size: int | None = None,
    max_batches: int | None = None,
    checkpoint_interval: int = 5,
    dataloader_kwargs: Arguments | None = None,
    distributed_context: core.DistributedContext | None = None,
    *,
    checkpoint_storage: CheckpointStorage | None = None,
    latest_checkpoint: str | None = None,
) -> None:
    """Passes each record to process_batch() of one rank, in batches. Collective.

    A launcher starts one process for each rank, and every rank calls this function. If the trial is
    preempted, it stops after the current batch, and its next attempt continues with the next batch,
    on any number of slots. After a failure, the next attempt continues from the last progress that
    was stored.

    Args:
        batch_processor_cls: The class that processes batches.
        dataset: A data set with a length and `__getitem__`.
        batch_size: The number of records of a batch on each rank. None: 1.
        max_batches: The maximum number of batches of each rank, including those of earlier
            attempts. None: no limit.
        checkpoint_interval: The number of batches after which progress is stored.
        dataloader_kwargs: Arguments of torch's DataLoader, except batch_size, shuffle, sampler,
            batch_sampler and drop_last.
        distributed_context: The ranks. None: those of the launcher's environment, or one rank.
        checkpoint_storage: Where checkpoints are stored; see det.core.init(). None: as the config
            says; off the cluster, ./checkpoints.
        latest_checkpoint: Off the cluster, the UUID of the progress to continue from.

    Raises:
        ValueError: If an argument is invalid.
        RuntimeError: If the slots are GPUs or TPUs, and torch sees none.
    """
    batch_size = 1 if batch_size is None else batch_size
    _check_arguments(dataset, batch_size, checkpoint_interval, dataloader_kwargs or {})
    device = choose_device()
    initialized = init_process_group(device)
    try:
        with core.init(
            distributed=distributed_context, checkpoint_storage=checkpoint_storage
        ) as context:
            latest = context.checkpoint.newest_whole() if context.info else latest_checkpoint
            loop = _ProcessingLoop(context, len(cast(Sized, dataset)), batch_size, max_batches)
            loop.resume(latest)
            processor_context = TorchBatchProcessorContext(context, device)
            with torch.no_grad():
                processor = batch_processor_cls(processor_context)
                batches = loop.read(dataset, dataloader_kwargs or {})
                if loop.run(processor, batches, checkpoint_interval, processor_context.sources):
                    processor.on_finish()
    finally:
        if initialized:
            torch.distributed.destroy_process_group()


def _check_arguments(
    dataset: Dataset[Record], batch_size: int, interval: int, options: Arguments
) -> None:
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__"):
        raise ValueError("torch_batch_process() needs a data set with a length and __getitem__")
    if batch_size < 1 or interval < 1:
        raise ValueError(
            f"batch_size is {batch_size} and checkpoint_interval {interval}: both must be at least 1"
        )
    for name in _RESERVED_ARGUMENTS:
        if name in options:
            raise ValueError(
                f"dataloader_kwargs has {name}, which torch_batch_process() determines: remove it"
            )


class _ProcessingLoop:
    """Divides the records among steps and ranks, processes them, and stores the progress.

    A step is one batch of each rank: the next `batch_size` records for rank 0, those after them for
    rank 1, and so on.
    """

    def __init__(
        self, context: core.Context, records: int, batch_size: int, max_batches: int | None
    ) -> None:
        self._context, self._distributed = context, context.distributed
        self._batch_size, self._records = batch_size, records
        self._records_per_step = batch_size * self._distributed.size
        self._max_batches = max_batches
        self._records_done = 0
        self._steps_done = 0

    def resume(self, uuid: str | None) -> None:
        """Continues from the progress that an earlier attempt stored."""
        if uuid is not None:
            metadata = self._context.checkpoint.get_metadata(uuid)
            self._records_done = int(metadata["records"])
            self._steps_done = int(metadata["steps_completed"])

    def _count_steps_left(self) -> int:
        left = -(-max(0, self._records - self._records_done) // self._records_per_step)
        if self._max_batches is None:
            return left
        return min(left, max(0, self._max_batches - self._steps_done))

    def read(self, dataset: Dataset[Record], options: Arguments) -> Iterator[tuple[int, DataBatch]]:
        """Yields each remaining step with this rank's batch, or _NO_BATCH if it has none."""
        first_step, left = self._steps_done, self._count_steps_left()
        ranges: list[range] = []
        for step in range(left):
            begin = self._records_done + step * self._records_per_step
            begin += self._distributed.rank * self._batch_size
            indices = range(begin, min(begin + self._batch_size, self._records))
            if indices:
                ranges.append(indices)
        batch_sampler = cast(Sampler[list[int]], ranges)
        loader = iter(DataLoader(dataset, batch_sampler=batch_sampler, **options))
        for step in range(first_step, first_step + left):
            yield step, next(loader, _NO_BATCH)

    def run(
        self,
        processor: TorchBatchProcessor,
        batches: Iterator[tuple[int, DataBatch]],
        interval: int,
        sources: list[dict[str, Json]],
    ) -> bool:
        """Processes batches. Returns false if it stopped before the last."""
        stored = self._steps_done
        for step, batch in batches:
            if batch is not _NO_BATCH:
                processor.process_batch(batch=batch, batch_idx=step)
            self._steps_done = step + 1
            self._records_done = min(self._records_done + self._records_per_step, self._records)
            stop = self._context.preempt.should_preempt(auto_ack=False)
            if stop or self._steps_done % interval == 0:
                self._store(processor, sources)
                stored = self._steps_done
            if stop and self._count_steps_left():
                if self._distributed.is_chief:
                    self._context.preempt.acknowledge_preemption_signal()
                return False
        if stored != self._steps_done:
            self._store(processor, sources)
        return True

    def _store(self, processor: TorchBatchProcessor, sources: list[dict[str, Json]]) -> None:
        processor.on_checkpoint_start()
        # After gather() all ranks have stored their results.
        gathered = self._distributed.gather(sources)
        if gathered is None:
            return
        used: list[dict[str, Json]] = []
        for source in (source for sources_of_rank in gathered for source in sources_of_rank):
            if source not in used:
                used.append(source)
        metadata: dict[str, Json] = {
            "steps_completed": self._steps_done,
            "records": self._records_done,
            "sources": used,
            "format": "batch-process",
        }
        with self._context.checkpoint.store_path(metadata):
            pass
        self._context.train.report_progress(self._records_done / max(self._records, 1))
