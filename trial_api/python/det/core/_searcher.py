"""How long the configuration lets a trial train."""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Optional

from det.core._distributed import DistributedContext


class SearcherOperation:
    """Train until `length`, in `unit` ("batches", "records", "epochs")."""

    def __init__(self, length: int, unit: str, chief: bool) -> None:
        self.length, self.unit = length, unit
        self._chief = chief
        self.completed = False

    def report_progress(self, length: float) -> None:
        """Kept for existing scripts; see train.report_progress."""

    def report_completed(self, searcher_metric: Any = None) -> None:
        """Of the chief. What counts is the validation metric that was reported."""
        if not self._chief:
            raise RuntimeError("only rank 0 calls report_completed()")
        self.completed = True


class SearcherContext:
    """`operations()` is one of the length of `searcher.max_length`. `validate_at`: lengths at which
    the search compares trials; a validation at exactly these loses nothing."""

    def __init__(
        self, config: Mapping[str, Any], distributed: DistributedContext, validate_at: List[int]
    ) -> None:
        self._searcher = dict(config.get("searcher") or {})
        self._distributed = distributed
        self.validate_at = validate_at

    @property
    def max_length(self) -> Optional[Mapping[str, int]]:
        length = self._searcher.get("max_length")
        return {"batches": length} if isinstance(length, int) else length

    def operations(self) -> Iterator[SearcherOperation]:
        length = self.max_length
        if not length:
            raise RuntimeError(
                "the configuration has no searcher.max_length: say in the script how long it trains"
            )
        unit, count = next(iter(length.items()))
        yield SearcherOperation(int(count), unit, self._distributed.is_chief)

    def get_configured_units(self) -> Optional[str]:
        length = self.max_length
        return next(iter(length)) if length else None
