"""Reduction of metrics over batches and ranks, as a Trial defines it."""

from __future__ import annotations

import abc
import enum
from collections.abc import Mapping
from typing import Callable, NamedTuple

from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.metrics.warnings import warn_once
from det.pytorch.utilities.types import MetricDict, ReducedValue


class Reducer(enum.Enum):
    """How the metrics that evaluate_batch() returns for each batch become one number.

    AVG is the mean over the batches of all ranks, and SUM, MAX and MIN are over them, too. In AVG a
    last, smaller batch counts as much as the others, so the result depends on how records are
    divided into batches. WEIGHTED_AVG is the mean over the records: each batch is weighted with the
    number that get_batch_length() returns.

    If the metric of a batch is an array, it is reduced to a number first: AVG and WEIGHTED_AVG use
    the mean of its elements. A dict of metrics is reduced name by name.
    """

    AVG = 1
    SUM = 2
    MAX = 3
    MIN = 4
    WEIGHTED_AVG = 5


def add_reduced(metrics: MetricDict, reduced: MetricDict) -> None:
    """Adds the metrics of reducers. They replace those of the same name, with a warning."""
    warn_once(
        reduced,
        [name for name in reduced if name not in metrics],
        "of a reducer replaces another metric of this name; give one of them another name",
    )
    metrics.update(reduced)


def check_reducers(given: object) -> None:
    """Checks what evaluation_reducer() returned.

    Raises:
        TypeError: If it is neither a Reducer nor a dict of those.
    """
    for name, one in (given if isinstance(given, Mapping) else {"all metrics": given}).items():
        if not isinstance(one, Reducer):
            raise TypeError(
                f"evaluation_reducer() returned {one!r} for {name}: return a det.pytorch.Reducer; "
                "to reduce with a function of all values, call context.wrap_reducer()"
            )


class MetricReducer(abc.ABC):
    """A metric that is not a mean over batches, such as F1 or an area under a curve.

    A Trial passes it to context.wrap_reducer(), and fills it in train_batch() or evaluate_batch()
    on each rank.

    Example:
        >>> class Recall(MetricReducer):
        ...     def __init__(self):
        ...         self.reset()
        ...     def reset(self):
        ...         self.found = self.relevant = 0
        ...     def update(self, found: int, relevant: int):
        ...         self.found += found
        ...         self.relevant += relevant
        ...     def per_slot_reduce(self):
        ...         return self.found, self.relevant
        ...     def cross_slot_reduce(self, per_slot_metrics):
        ...         found, relevant = map(sum, zip(*per_slot_metrics))
        ...         return found / relevant
    """

    @abc.abstractmethod
    def reset(self) -> None:
        """Discards what was added: before and after a validation, and after a training report."""

    @abc.abstractmethod
    def per_slot_reduce(self) -> ReducedValue:
        """Returns the intermediate result of this rank.

        Returns:
            Any object that can be pickled. It is sent to the chief. If it consists of numbers,
            strings, containers and tensors, checkpoints between two reports contain it.
        """

    @abc.abstractmethod
    def cross_slot_reduce(self, per_slot_metrics: list[ReducedValue]) -> ReducedValue:
        """Returns the metric. Called on the chief.

        Args:
            per_slot_metrics: What per_slot_reduce() returned on each rank, in order. In a run that
                resumed between two reports there is one more for each rank of the earlier attempt.

        Returns:
            The metric, or a dict of metrics by name if wrap_reducer() was called without a name.
        """


class FunctionReducer(MetricReducer):
    """Collects the values that update() gets, and passes all of them in one list to a function."""

    def __init__(self, function: Callable[[list[ReducedValue]], ReducedValue]) -> None:
        self._function = function
        self._values: list[ReducedValue] = []

    def update(self, value: ReducedValue) -> None:
        """Adds a value of this rank.

        Args:
            value: The value. It must be picklable.
        """
        self._values.append(value)

    def reset(self) -> None:
        self._values = []

    def per_slot_reduce(self) -> list[ReducedValue]:
        return self._values

    def cross_slot_reduce(self, per_slot_metrics: list[ReducedValue]) -> ReducedValue:
        return self._function([value for values in per_slot_metrics for value in values])


class _WrappedReducer(NamedTuple):
    reducer: MetricReducer
    name: str | None
    for_training: bool
    for_validation: bool

    def applies(self, training: bool) -> bool:
        return self.for_training if training else self.for_validation


class ReducerList:
    """All reducers that a Trial has wrapped."""

    def __init__(self) -> None:
        self._wrapped: list[_WrappedReducer] = []
        # For each training reducer, intermediate results of an earlier attempt for the next report.
        self._carried: list[list[ReducedValue]] = []

    def wrap(
        self,
        reducer: MetricReducer | Callable[[list[ReducedValue]], ReducedValue],
        name: str | None,
        for_training: bool,
        for_validation: bool,
    ) -> MetricReducer:
        """Adds a reducer; see PyTorchTrialContext.wrap_reducer()."""
        if not isinstance(reducer, MetricReducer):
            if not callable(reducer):
                raise TypeError("wrap_reducer() takes a MetricReducer or a function")
            reducer = FunctionReducer(reducer)
        if any(reducer is known.reducer for known in self._wrapped):
            raise ValueError("wrap_reducer() was called twice with the same reducer")
        if name is not None and any(name == known.name for known in self._wrapped):
            raise ValueError(f"wrap_reducer() was called twice with the name {name!r}")
        self._wrapped.append(_WrappedReducer(reducer, name, for_training, for_validation))
        return reducer

    def has_any(self, training: bool) -> bool:
        """Returns whether there is a reducer for training or validation; the same on all ranks."""
        return any(one.applies(training) for one in self._wrapped)

    def save(self) -> list[list[ReducedValue]]:
        """Returns what this rank has for the next training report, for a checkpoint."""
        reducers = [one.reducer for one in self._wrapped if one.for_training]
        carried = self._carried or [[] for _ in reducers]
        return [[*old, reducer.per_slot_reduce()] for old, reducer in zip(carried, reducers)]

    def carry_over(self, saved: list[list[ReducedValue]]) -> None:
        """Adds what save() returned in an earlier attempt. Called for each rank that this one replaces.

        Does nothing if the Trial has another number of training reducers now.
        """
        if len(saved) == sum(one.for_training for one in self._wrapped):
            before = self._carried or [[] for _ in saved]
            self._carried = [[*old, *more] for old, more in zip(before, saved)]

    def reset(self, training: bool) -> None:
        """Resets the reducers for training or validation."""
        if training:
            self._carried = []
        for one in self._wrapped:
            if one.applies(training):
                one.reducer.reset()

    def reduce(self, training: bool, process_group: ProcessGroup) -> MetricDict:
        """Reduces over the ranks. Collective.

        Returns:
            The metrics by name on the chief, and an empty dict on the other ranks.

        Raises:
            TypeError: If a reducer without a name does not return a dict.
        """
        metrics: MetricDict = {}
        carried = iter(self._carried if training else [])
        for reducer, name, for_training, for_validation in self._wrapped:
            if not (for_training if training else for_validation):
                continue
            own = [*next(carried, []), reducer.per_slot_reduce()]
            gathered = process_group.gather(own)
            if gathered is None:
                continue
            metric = reducer.cross_slot_reduce([one for values in gathered for one in values])
            if name is not None:
                add_reduced(metrics, {name: metric})
            elif isinstance(metric, dict):
                add_reduced(metrics, metric)
            else:
                raise TypeError(
                    f"{type(reducer).__name__}.cross_slot_reduce() returned a "
                    f"{type(metric).__name__}: return a dict, or pass a name to wrap_reducer()"
                )
        return metrics
