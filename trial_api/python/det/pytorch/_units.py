"""How long to train and how often to do something: in batches or in epochs."""

from __future__ import annotations

from typing import Any, Container, Optional, Union


class TrainUnit:
    """A number of steps (every so many; or that long), or a container of those at which."""

    def __init__(self, value: Union[int, Container[int]]) -> None:
        if isinstance(value, bool) or not isinstance(value, (int, Container)):
            raise TypeError(f"{type(self).__name__}({value!r}): give a number or several")
        if isinstance(value, int) and value < 1:
            raise ValueError(f"{type(self).__name__}({value}): must be at least 1")
        self.value = value

    def due(self, count: int) -> bool:
        """Whether it is time after `count` of them, which is at least 1."""
        if isinstance(self.value, int):
            return count % self.value == 0
        return count in self.value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.value == getattr(other, "value", None)

    def __hash__(self) -> int:
        return hash((type(self), repr(self.value)))


def check_units(**given: Any) -> None:
    """Raises TypeError for one that is neither a TrainUnit nor None, by its name."""
    for name, unit in given.items():
        if unit is not None and not isinstance(unit, TrainUnit):
            number = unit if isinstance(unit, int) and not isinstance(unit, bool) else 100
            raise TypeError(
                f"{name} is {unit!r}: give a det.pytorch.Batch or Epoch, for example Batch({number})"
            )


class Batch(TrainUnit):
    """Global batches."""


class Epoch(TrainUnit):
    """Passes over the training data."""


def configured_epoch(records_per_epoch: int, global_batch_size: Optional[int]) -> Optional[int]:
    """Batches of what the configuration calls an epoch; None: a pass over the data.

    Raises:
        ValueError: it is told in records, and nobody says how many a batch has.
    """
    if not records_per_epoch:
        return None
    if not global_batch_size:
        raise ValueError(
            f"records_per_epoch is {records_per_epoch}: it needs the hyperparameter "
            "global_batch_size; or leave it out, for epochs as long as the data"
        )
    return max(1, records_per_epoch // global_batch_size)


def unit_from_config(
    value: Any, field: str, global_batch_size: Optional[int], records_per_epoch: int = 0
) -> Optional[TrainUnit]:
    """What a length in an experiment's configuration says: 100, {batches: 100}, {epochs: 3} or
    {records: 1000}; None where it is absent or 0. records_per_epoch: the configuration's.

    Raises:
        ValueError: naming `field`, if it is none of these.
    """
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        value = {"batches": value}
    if isinstance(value, dict) and len(value) == 1:
        [(unit, count)] = value.items()
        if isinstance(count, int) and count >= 0 and unit in ("batches", "epochs", "records"):
            if count == 0:
                return None
            if unit == "epochs":
                batches = configured_epoch(records_per_epoch, global_batch_size)
                return Epoch(count) if batches is None else Batch(count * batches)
            if unit == "batches":
                return Batch(count)
            if global_batch_size:
                return Batch(max(1, count // global_batch_size))
            raise ValueError(
                f"{field} is {value}: a length in records needs the hyperparameter "
                "global_batch_size; or write it in batches or epochs"
            )
    raise ValueError(f"{field} is {value!r}: write for example {{epochs: 3}} or {{batches: 100}}")
