"""The micro-batches of one step, as a Trial reads them."""

from __future__ import annotations

from collections.abc import Iterator

from det.pytorch.data.batches import data_length
from det.pytorch.utilities.types import DataBatch

_END = object()


class MicroBatches(Iterator[DataBatch]):
    """Iterates over the next micro-batches of a source.

    Attributes:
        records: The number of records of those that were read.
    """

    def __init__(self, source: Iterator[DataBatch], count: int) -> None:
        """Creates the iterator.

        Args:
            source: The micro-batches of an epoch.
            count: The maximum number of micro-batches to read.
        """
        self._source, self._left = source, count
        self.records = 0

    def __next__(self) -> DataBatch:
        batch = next(self._source, _END) if self._left else _END
        if batch is _END:
            raise StopIteration
        self._left -= 1
        self.records += _count_records(batch)
        return batch

    def skip(self) -> None:
        """Skips what was not read, so that the next step begins at its first micro-batch."""
        while self._left and next(self._source, _END) is not _END:
            self._left -= 1


def _count_records(batch: object) -> int:
    try:
        return data_length(batch)
    except TypeError:
        return 1  # All batches without tensors have the same weight.
