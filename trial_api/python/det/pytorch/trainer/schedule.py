"""What is due after how many batches.

It is a function of how far training is, so a resumed run does what the uninterrupted one would have
done.
"""

from __future__ import annotations

import dataclasses

from det._types import JsonMapping
from det.pytorch.trial.progress import Progress
from det.pytorch.trial.train_units import Batch, Epoch, TrainUnit


@dataclasses.dataclass
class Schedule:
    """When training ends, and when it reports, validates and saves.

    Attributes:
        max_length: How long to train; a number, not a container.
        reporting: How often training metrics are reported.
        validation: How often to validate; None: only at the end.
        checkpoint: How often to save; None: only at the end.
        initial_validation: Whether to validate before the first batch.
        rungs: The lengths at which the search compares trials.
    """

    max_length: TrainUnit
    reporting: TrainUnit = Batch(100)
    validation: TrainUnit | None = None
    checkpoint: TrainUnit | None = None
    initial_validation: bool = False
    rungs: TrainUnit | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.max_length.value, int):
            raise ValueError(
                f"max_length is {self.max_length}: must be a number of batches or epochs"
            )

    def is_finished(self, progress: Progress) -> bool:
        """Returns whether max_length is reached."""
        return self._get_length(progress) >= self._max_value

    def is_rung(self, progress: Progress) -> bool:
        """Returns whether the search compares trials at this length."""
        return progress.is_at(self.rungs)

    def is_validation_due(self, progress: Progress) -> bool:
        """Returns whether to validate now."""
        if progress.steps_completed == 0:
            return self.initial_validation
        due = progress.is_at(self.validation) or self.is_rung(progress)
        return due or self.is_finished(progress)

    def is_checkpoint_due(self, progress: Progress) -> bool:
        """Returns whether to save now, regardless of validation results."""
        if progress.steps_completed == 0:
            return False
        return self.is_finished(progress) or progress.is_at(self.checkpoint)

    def is_report_due(self, progress: Progress) -> bool:
        """Returns whether to report training metrics now; always before a validation."""
        if progress.steps_completed == 0:
            return False
        return progress.is_at(self.reporting) or self.is_validation_due(progress)

    def is_anything_due(self, progress: Progress) -> bool:
        """Returns whether to report, validate or save now."""
        reports = progress.is_at(self.reporting)
        return reports or self.is_validation_due(progress) or self.is_checkpoint_due(progress)

    def max_batches(self, batches_per_epoch: int) -> int:
        """Returns max_length in batches."""
        return self._max_value * (batches_per_epoch if isinstance(self.max_length, Epoch) else 1)

    @property
    def _max_value(self) -> int:
        assert isinstance(self.max_length.value, int)
        return self.max_length.value

    def _get_length(self, progress: Progress) -> int:
        is_epoch = isinstance(self.max_length, Epoch)
        return progress.epoch if is_epoch else progress.steps_completed


def parse_rungs(
    lengths: list[int],
    searcher: JsonMapping,
    global_batch_size: int | None,
) -> TrainUnit | None:
    """Converts the rungs of a search to batches or epochs.

    Args:
        lengths: The rungs, in the unit of searcher.max_length or searcher.time_metric.
        searcher: The section `searcher` of the experiment config.
        global_batch_size: The hyperparameter, or None.

    Returns:
        A TrainUnit with all rungs, or None if there are none.
    """
    if not lengths:
        return None
    max_length = searcher.get("max_length")
    unit = next(iter(max_length)) if isinstance(max_length, dict) else searcher.get("time_metric")
    if unit == "epochs":
        return Epoch(frozenset(lengths))
    if unit == "records" and global_batch_size:  # Rounded up, so that the length is reached.
        return Batch(frozenset(-(-length // global_batch_size) for length in lengths))
    return Batch(frozenset(lengths))
