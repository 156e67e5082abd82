"""The micro-batches of one step, as a Trial reads them."""

from __future__ import annotations

from typing import Any, Iterator

from det.pytorch import _data

_END: Any = object()


class MicroBatches(Iterator[Any]):
    """At most `count` of what `source` gives. records: of those that were read."""

    def __init__(self, source: Iterator[Any], count: int) -> None:
        self._source, self._left = source, count
        self.records = 0

    def __next__(self) -> Any:
        batch = next(self._source, _END) if self._left else _END
        if batch is _END:
            raise StopIteration
        self._left -= 1
        self.records += _records(batch)
        return batch

    def skip(self) -> None:
        """Those that nobody has read, so that the next step begins where it should."""
        while self._left and next(self._source, _END) is not _END:
            self._left -= 1


def _records(batch: Any) -> int:
    try:
        return _data.data_length(batch)
    except TypeError:
        return 1  # Of a Trial's own shape: such batches count alike.
