"""From the metrics of batches and ranks to those of the whole."""

from __future__ import annotations

import abc
import enum
from typing import Any, Callable, Dict, List, Mapping, Optional, Union


class Reducer(enum.Enum):
    """How evaluate_batch()'s metrics become one: the mean over the records, or over the batches
    their sum, greatest or least."""

    AVG = 1
    SUM = 2
    MAX = 3
    MIN = 4


def check(given: Any) -> None:
    """Raises TypeError for what evaluation_reducer() must not give."""
    for name, one in (given if isinstance(given, Mapping) else {"all metrics": given}).items():
        if not isinstance(one, Reducer):
            raise TypeError(
                f"evaluation_reducer() gives {one!r} for {name}: give a det.pytorch.Reducer; for a "
                "function of all values there is context.wrap_reducer()"
            )


class MetricReducer(abc.ABC):
    """A metric that is no mean. Filled by train_batch() or evaluate_batch() on each rank."""

    @abc.abstractmethod
    def reset(self) -> None:
        """Starts from nothing: before and after a validation, and after a report of training."""

    @abc.abstractmethod
    def per_slot_reduce(self) -> Any:
        """What this rank has; it is pickled and sent to the chief."""

    @abc.abstractmethod
    def cross_slot_reduce(self, per_slot_metrics: List[Any]) -> Any:
        """The metric, from what per_slot_reduce() gave on each rank, in order; on the chief. In a run
        that resumed amid two reports a rank has one more, of the run before, and those of the ranks that
        it took over. A dictionary of metrics, if wrap_reducer() was given no name."""


class SimpleReducer(MetricReducer):
    """Keeps what update() is given and hands all of it, in one list, to a function."""

    def __init__(self, function: Callable[[List[Any]], Any]) -> None:
        self._function = function
        self._values: List[Any] = []

    def update(self, value: Any) -> None:
        self._values.append(value)

    def reset(self) -> None:
        self._values = []

    def per_slot_reduce(self) -> Any:
        return self._values

    def cross_slot_reduce(self, per_slot_metrics: List[Any]) -> Any:
        return self._function([value for values in per_slot_metrics for value in values])


class WrappedReducers:
    """All that the Trial wrapped, and when each is asked."""

    def __init__(self) -> None:
        self._wrapped: List[Any] = []  # (reducer, name, for_training, for_validation)
        # Of training, what reducers of an earlier run had for the next report, one list for each.
        self._carried: List[List[Any]] = []

    def wrap(
        self,
        reducer: Union[MetricReducer, Callable[[List[Any]], Any]],
        name: Optional[str],
        for_training: bool,
        for_validation: bool,
    ) -> Any:
        if not isinstance(reducer, MetricReducer):
            if not callable(reducer):
                raise TypeError("wrap_reducer() takes a MetricReducer or a function")
            reducer = SimpleReducer(reducer)
        if any(reducer is known for known, *_ in self._wrapped):
            raise ValueError("wrap_reducer() was called twice with the same reducer")
        if name is not None and any(name == known for _, known, *_ in self._wrapped):
            raise ValueError(f"wrap_reducer() was called twice with the name {name!r}")
        self._wrapped.append((reducer, name, for_training, for_validation))
        return reducer

    def wanted(self, training: bool) -> bool:
        """Whether there is one; on all ranks alike."""
        return any(one[2] if training else one[3] for one in self._wrapped)

    def keep(self) -> List[List[Any]]:
        """For a checkpoint amid two reports: what this rank has for the next one."""
        reducers = [reducer for reducer, _, for_training, _ in self._wrapped if for_training]
        carried = self._carried or [[] for _ in reducers]
        return [[*of, reducer.per_slot_reduce()] for of, reducer in zip(carried, reducers)]

    def carry(self, kept: List[List[Any]]) -> None:
        """What keep() gave, in a run that goes on from there; of a Trial with other reducers nothing. Once
        for each rank that this one takes over."""
        if len(kept) == sum(for_training for _, _, for_training, _ in self._wrapped):
            before = self._carried or [[] for _ in kept]
            self._carried = [[*old, *more] for old, more in zip(before, kept)]

    def reset(self, training: bool) -> None:
        if training:
            self._carried = []
        for reducer, _, for_training, for_validation in self._wrapped:
            if for_training if training else for_validation:
                reducer.reset()

    def reduce(self, training: bool, ranks: Any) -> Dict[str, Any]:
        """Collective: the metrics, on the chief; on the others nothing."""
        metrics: Dict[str, Any] = {}
        carried = iter(self._carried if training else [])
        for reducer, name, for_training, for_validation in self._wrapped:
            if not (for_training if training else for_validation):
                continue
            own = [*next(carried, []), reducer.per_slot_reduce()]
            gathered = ranks.gather(own)
            if gathered is None:
                continue
            metric = reducer.cross_slot_reduce([one for of_rank in gathered for one in of_rank])
            if name is not None:
                metrics[name] = metric
            elif isinstance(metric, dict):
                metrics.update(metric)
            else:
                raise TypeError(
                    f"{type(reducer).__name__}.cross_slot_reduce() gave a {type(metric).__name__}: "
                    "it must give a dictionary, or wrap_reducer() a name"
                )
        return metrics
