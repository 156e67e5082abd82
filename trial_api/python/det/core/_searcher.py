"""How long the configuration lets a trial train."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any

from det.core._distributed import DistributedContext
from det.core._train import TrainContext


class SearcherMode(enum.Enum):
    """Who calls SearcherContext.operations(). WorkersAskChief: every rank. ChiefOnly: rank 0."""

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    ChiefOnly = "CHIEF_ONLY"


class SearcherOperation:
    """Train until `length`, in `unit` ("batches", "records", "epochs")."""

    def __init__(self, length: int, unit: str, chief: bool, train: TrainContext) -> None:
        self.length, self.unit = length, unit
        self._chief, self._train = chief, train
        self.completed = False

    def report_progress(self, length: float) -> None:
        """Of the chief: how much of `length` is done, in its unit. As train.report_progress()."""
        self._check("report_progress")
        self._train.report_progress(min(1.0, length / self.length))

    def report_completed(self, searcher_metric: Any = None) -> None:
        """Of the chief. What counts is the validation metric that was reported."""
        self._check("report_completed")
        self.completed = True

    def _check(self, what: str) -> None:
        if not self._chief:
            raise RuntimeError(f"only rank 0 calls {what}()")


class SearcherContext:
    """`operations()` is one of the length of `searcher.max_length`, off the cluster of one epoch.
    `validate_at`: lengths at which the search compares trials; a validation at exactly these loses
    nothing.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
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
        length = self._searcher.get("max_length")
        return {"batches": length} if isinstance(length, int) else length

    def operations(
        self, searcher_mode: SearcherMode = SearcherMode.WorkersAskChief, auto_ack: bool = True
    ) -> Iterator[SearcherOperation]:
        """One. The ranks need not wait for each other: all know its length. auto_ack: of existing
        scripts; whether to go is preempt's to say.

        Raises:
            RuntimeError: another rank than 0 calls with ChiefOnly, or no length is configured.
        """
        ranks = self._distributed
        if SearcherMode(searcher_mode) is SearcherMode.ChiefOnly and not ranks.is_chief:
            raise RuntimeError(
                f"with SearcherMode.ChiefOnly only rank 0 calls operations(), not rank {ranks.rank}"
            )
        length = self.max_length
        if not length:
            raise RuntimeError(
                "the configuration has no searcher.max_length: say in the script how long it trains"
            )
        unit, count = next(iter(length.items()))
        return iter([SearcherOperation(int(count), unit, ranks.is_chief, self._train)])

    def get_configured_units(self) -> str | None:
        length = self.max_length
        return next(iter(length)) if length else None
