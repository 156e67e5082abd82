"""What is due after how many batches. A resumed run asks the same questions about the same numbers,
so it does what the uninterrupted one would have done."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, List, Optional

from det.pytorch._units import Batch, Epoch, TrainUnit, configured_epoch


@dataclasses.dataclass
class Progress:
    """How far training is. epoch and batch are the position: the next batch to be trained.

    records: of the epoch that all ranks together have trained. reported_at, validated_at: steps
    completed then; -1: never.
    """

    trial_id: Optional[int] = None
    steps_completed: int = 0
    epoch: int = 0
    batch: int = 0
    records: int = 0
    reported_at: int = 0
    validated_at: int = -1

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Progress:
        told = json.loads(text)
        return cls(**{field.name: told[field.name] for field in dataclasses.fields(cls)})

    def reached(self, unit: Optional[TrainUnit]) -> bool:
        """Whether this is the moment that a period or a list of moments speaks of."""
        if unit is None or self.steps_completed == 0:
            return False
        if isinstance(unit, Epoch):
            return self.batch == 0 and unit.due(self.epoch)
        return unit.due(self.steps_completed)


@dataclasses.dataclass
class Schedule:
    """When training ends, and when it reports, validates and saves. None: only at the end.

    rungs: where a search compares trials. epoch: batches of what the search calls an epoch; None:
    a pass over the data.
    """

    max_length: TrainUnit
    reporting: TrainUnit = Batch(100)
    validation: Optional[TrainUnit] = None
    checkpoint: Optional[TrainUnit] = None
    initial_validation: bool = False
    rungs: Optional[TrainUnit] = None
    epoch: Optional[int] = None

    def __post_init__(self) -> None:
        if not isinstance(self.max_length.value, int):
            raise ValueError(f"max_length is {self.max_length}: give a number of batches or epochs")

    def ended(self, progress: Progress) -> bool:
        return self._length(progress) >= self._max

    def is_rung(self, progress: Progress) -> bool:
        return progress.reached(self.rungs)

    def validation_due(self, progress: Progress) -> bool:
        if progress.steps_completed == 0:
            return self.initial_validation
        due = progress.reached(self.validation) or self.is_rung(progress)
        return due or self.ended(progress)

    def checkpoint_due(self, progress: Progress) -> bool:
        if progress.steps_completed == 0:
            return False
        return self.ended(progress) or progress.reached(self.checkpoint)

    def report_due(self, progress: Progress) -> bool:
        if progress.steps_completed == 0:
            return False
        return progress.reached(self.reporting) or self.validation_due(progress)

    def due(self, progress: Progress) -> bool:
        """Whether anything is."""
        reports = progress.reached(self.reporting)
        return reports or self.validation_due(progress) or self.checkpoint_due(progress)

    def max_batches(self, batches_per_epoch: int) -> int:
        return self._max * (batches_per_epoch if isinstance(self.max_length, Epoch) else 1)

    @property
    def _max(self) -> int:
        assert isinstance(self.max_length.value, int)
        return self.max_length.value

    def _length(self, progress: Progress) -> int:
        is_epoch = isinstance(self.max_length, Epoch)
        return progress.epoch if is_epoch else progress.steps_completed


def rungs_from_config(
    lengths: List[int],
    searcher: Dict[str, Any],
    global_batch_size: Optional[int],
    records_per_epoch: int = 0,
) -> Optional[TrainUnit]:
    """The rungs of a search, which measures in the unit of searcher.max_length or time_metric."""
    if not lengths:
        return None
    max_length = searcher.get("max_length")
    unit = next(iter(max_length)) if isinstance(max_length, dict) else searcher.get("time_metric")
    if unit == "epochs":
        epoch = configured_epoch(records_per_epoch, global_batch_size)
        if epoch is None:
            return Epoch(frozenset(lengths))
        return Batch(frozenset(length * epoch for length in lengths))
    if unit == "records" and global_batch_size:  # Rounded up, so that they are reached.
        return Batch(frozenset(-(-length // global_batch_size) for length in lengths))
    return Batch(frozenset(lengths))
