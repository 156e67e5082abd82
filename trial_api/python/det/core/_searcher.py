"""How long a trial should train."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping

from det._types import JsonMapping
from det.core._distributed import DistributedContext
from det.core._train import TrainContext


class SearcherMode(enum.Enum):
    """Which ranks call SearcherContext.operations().

    WorkersAskChief: every rank. ChiefOnly: rank 0.
    """

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    ChiefOnly = "CHIEF_ONLY"


class SearcherOperation:
    """A request to train up to a length.

    Attributes:
        length: The length.
        unit: The unit of the length: "batches", "records" or "epochs".
        completed: Whether report_completed() was called.
    """

    def __init__(self, length: int, unit: str, chief: bool, train: TrainContext) -> None:
        self.length, self.unit = length, unit
        self._chief, self._train = chief, train
        self.completed = False

    def report_progress(self, length: float) -> None:
        """Reports how much of `length` is trained, in its unit. Only the chief calls.

        Args:
            length: How much is trained so far, in the unit of the operation.

        Raises:
            RuntimeError: Another rank than the chief calls.
        """
        self._check("report_progress")
        self._train.report_progress(min(1.0, length / self.length))

    def report_completed(self, searcher_metric: object = None) -> None:
        """Marks the operation as completed. Only the chief calls.

        Args:
            searcher_metric: Ignored: the searcher uses the reported validation metrics.

        Raises:
            RuntimeError: Another rank than the chief calls.
        """
        self._check("report_completed")
        self.completed = True

    def _check(self, what: str) -> None:
        if not self._chief:
            raise RuntimeError(f"only rank 0 calls {what}()")


class SearcherContext:
    """The length of the training, from `searcher.max_length`; one epoch off the cluster.

    Attributes:
        validate_at: The lengths at which the search compares trials. Validate at exactly these.
    """

    def __init__(
        self,
        config: JsonMapping,
        distributed: DistributedContext,
        validate_at: list[int],
        train: TrainContext,
    ) -> None:
        self._searcher = dict(config.get("searcher") or {})
        self._distributed = distributed
        self._train = train
        self.validate_at = validate_at

    @property
    def max_length(self) -> Mapping[str, int] | None:
        """The length by its unit; None if it is not configured."""
        length = self._searcher.get("max_length")
        return {"batches": length} if isinstance(length, int) else length

    def operations(
        self, searcher_mode: SearcherMode = SearcherMode.WorkersAskChief, auto_ack: bool = True
    ) -> Iterator[SearcherOperation]:
        """Returns an iterator over one operation.

        All ranks know its length and do not wait for each other.

        Args:
            searcher_mode: Which ranks call.
            auto_ack: Ignored; existing scripts pass it.

        Returns:
            An iterator over one SearcherOperation.

        Raises:
            RuntimeError: A rank other than 0 calls with ChiefOnly, or no length is configured.
        """
        ranks = self._distributed
        if SearcherMode(searcher_mode) is SearcherMode.ChiefOnly and not ranks.is_chief:
            raise RuntimeError(
                f"with SearcherMode.ChiefOnly only rank 0 calls operations(), not rank {ranks.rank}"
            )
        length = self.max_length
        if not length:
            raise RuntimeError(
                "the configuration has no searcher.max_length; add it, or let the script decide how long to train"
            )
        unit, count = next(iter(length.items()))
        return iter([SearcherOperation(int(count), unit, ranks.is_chief, self._train)])

    def get_configured_units(self) -> str | None:
        """Returns the unit of the length; None if no length is configured."""
        length = self.max_length
        return next(iter(length)) if length else None
