"""How long to train and how often to do something: in batches or in epochs."""

from __future__ import annotations

from collections.abc import Container


class TrainUnit:
    """A length or a period of training. Use one of its subclasses Batch and Epoch.

    Example:
        >>> trainer.fit(max_length=Epoch(3), validation_period=Batch(100))

    Attributes:
        value: A number of units, or a container of the counts at which something is done.
    """

    def __init__(self, value: int | Container[int]) -> None:
        """Creates a length or a period.

        Args:
            value: An integer of at least 1 (the length, or the period), or a container of counts.

        Raises:
            TypeError: If the value is neither.
            ValueError: If the number is less than 1.
        """
        if isinstance(value, bool) or not isinstance(value, (int, Container)):
            raise TypeError(
                f"{type(self).__name__}({value!r}): must be an integer or a container of integers"
            )
        if isinstance(value, int) and value < 1:
            raise ValueError(f"{type(self).__name__}({value}): must be at least 1")
        self.value = value

    def due(self, count: int) -> bool:
        """Returns whether a period ends after `count` units, which is at least 1.

        Args:
            count: The number of units so far, at least 1.
        """
        if isinstance(self.value, int):
            return count % self.value == 0
        return count in self.value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.value == getattr(other, "value", None)

    def __hash__(self) -> int:
        return hash((type(self), repr(self.value)))


def validate_units(**units: object) -> None:
    """Checks arguments that take a TrainUnit or None.

    Raises:
        TypeError: If one is something else; the message has its name.
    """
    for name, unit in units.items():
        if unit is not None and not isinstance(unit, TrainUnit):
            number = unit if isinstance(unit, int) and not isinstance(unit, bool) else 100
            raise TypeError(
                f"{name} is {unit!r}: must be a det.pytorch.Batch or Epoch, for example "
                f"Batch({number})"
            )


class Batch(TrainUnit):
    """A number of global batches."""


class Epoch(TrainUnit):
    """A number of passes over the training data."""


def parse_train_unit(value: object, field: str, global_batch_size: int | None) -> TrainUnit | None:
    """Parses a length in the experiment config.

    Args:
        value: 100, {batches: 100}, {epochs: 3} or {records: 1000}; None if it is absent.
        field: The name of the field, for errors.
        global_batch_size: The hyperparameter, or None.

    Returns:
        The length; None if it is absent or 0.

    Raises:
        ValueError: If the value has another form, or a length in records needs global_batch_size.
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
                return Epoch(count)
            if unit == "batches":
                return Batch(count)
            if global_batch_size:
                return Batch(max(1, count // global_batch_size))
            raise ValueError(
                f"{field} is {value}: a length in records needs the hyperparameter "
                "global_batch_size; or write it in batches or epochs"
            )
    raise ValueError(
        f"{field} is {value!r}: must be a length such as {{epochs: 3}} or {{batches: 100}}"
    )
