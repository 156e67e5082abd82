"""Accumulates the metrics of batches, and reduces them over batches and ranks."""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Mapping
from typing import Any, Callable, TypeVar, Union

import torch

from det.pytorch.data.batch_shard import BatchShard
from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.metrics.reducers import Reducer
from det.pytorch.metrics.warnings import warn_once
from det.pytorch.utilities.types import MetricDict, StateDict

# torch works without NumPy; callbacks then get Python's values.
_numpy: Any = importlib.import_module("numpy") if importlib.util.find_spec("numpy") else None


def detach_metrics(metrics: object, what: str) -> MetricDict:
    """Converts what a Trial returned for a batch to detached metrics.

    Tensors stay on their device, because reading them would wait for it.

    Args:
        metrics: A dict of metrics by name, or the loss.
        what: The name of the method that returned them, for errors.

    Raises:
        TypeError: If it is neither.
    """
    if isinstance(metrics, torch.Tensor):
        return {"loss": metrics.detach()}
    if not isinstance(metrics, dict):
        raise TypeError(
            f"{what}() returned a {type(metrics).__name__}: return a dict of metrics by name"
            + (", or the loss" if what == "train_batch" else "")
        )
    return {
        str(name): value.detach() if isinstance(value, torch.Tensor) else value
        for name, value in metrics.items()
    }


def to_python(value: object) -> object:
    """Converts a tensor or array of one element to a number, and of several to lists."""
    if isinstance(value, torch.Tensor):
        return value.item() if value.numel() == 1 else value.tolist()
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:  # NumPy's.
        return value.item()
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


def to_python_all(batches: list[MetricDict]) -> list[MetricDict]:
    """Converts the metrics of batches with to_python(), with one transfer from a GPU per metric."""
    return _convert_all(batches, to_python, torch.Tensor.tolist)


def to_numpy(value: object) -> object:
    """Converts a tensor to an array of NumPy; returns another value unchanged."""
    if not isinstance(value, torch.Tensor):
        return value
    if _numpy is None:
        return to_python(value)
    tensor: Any = value.detach().cpu()
    if tensor.dtype is torch.bfloat16:  # NumPy has no such type.
        tensor = tensor.float()
    try:
        return tensor.numpy()
    except RuntimeError:  # torch was built for another version of NumPy.
        return _numpy.asarray(tensor.tolist(), dtype=str(tensor.dtype).rpartition(".")[2])


def to_numpy_all(batches: list[MetricDict]) -> list[MetricDict]:
    """Converts the metrics of batches with to_numpy(), with one transfer from a GPU per metric."""

    def split(column: torch.Tensor) -> list[object]:
        array: Any = to_numpy(column)
        return array if _numpy is None else [array[row, ...] for row in range(len(array))]

    return _convert_all(batches, to_numpy, split)


def to_numpy_scalar(value: object) -> object:
    """Converts a number to a scalar of NumPy, and other values with to_numpy()."""
    if _numpy is not None and _is_number(value):
        return _numpy.asarray(value)[()]
    return to_numpy(value)


def _convert_all(
    batches: list[MetricDict],
    convert: Callable[[object], object],
    split: Callable[[torch.Tensor], list[object]],
) -> list[MetricDict]:
    """Converts the metrics of batches.

    Args:
        batches: The metrics of each batch.
        convert: Converts a value.
        split: Converts the elements of a tensor with the values of a metric, if all are tensors
            without dimensions.
    """
    columns: dict[str, list[object]] = {}
    for name in dict.fromkeys(name for batch in batches for name in batch):
        values = [batch[name] for batch in batches if name in batch]
        single = all(
            isinstance(v, torch.Tensor) and v.numel() == 1 and v.dim() == 0 for v in values
        )
        same = single and len({(v.dtype, v.device) for v in values}) == 1
        columns[name] = split(torch.stack(values)) if same else [convert(v) for v in values]
    rows = {name: iter(column) for name, column in columns.items()}
    return [{name: next(rows[name]) for name in batch} for batch in batches]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float))


# A number, or numbers by name.
_Numbers = Union[float, dict[str, Any]]
_T = TypeVar("_T")
_NO_NUMBER = "neither a number nor an array of numbers"


class TrainingMetrics:
    """The metrics of the batches since the last training report.

    They are those of this rank and, in a run that resumed, of the ranks that it replaces. A batch
    is weighted with the fraction of its records that the rank had.

    Attributes:
        batches: The metrics of each batch by name; tensors may be on the device.
    """

    def __init__(self, shard: BatchShard) -> None:
        """Creates an empty accumulator.

        Args:
            shard: This rank's part of each global batch.
        """
        self._shard = shard
        self.batches: list[MetricDict] = []
        self._shards: list[tuple[int, int]] = []  # For each batch: slots of the rank, slots of all.

    def add(self, metrics: MetricDict) -> None:
        """Adds the metrics of a batch."""
        self.batches.append(metrics)
        self._shards.append((self._shard.slots, self._shard.total))

    def save(self) -> StateDict:
        """Returns the state for a checkpoint."""
        return {
            "metrics": to_python_all(self.batches),
            "shares": [list(shard) for shard in self._shards],
        }

    def carry_over(self, saved: StateDict, shard: tuple[int, int]) -> None:
        """Adds what save() returned on a rank of an earlier attempt.

        Args:
            saved: The state.
            shard: The slots of that rank and of all ranks, for checkpoints without `shares`.
        """
        self.batches.extend({k: _to_tensor(v) for k, v in one.items()} for one in saved["metrics"])
        shards = saved.get("shares") or [shard] * len(saved["metrics"])
        self._shards.extend((slots, total) for slots, total in shards)

    def means(self, process_group: ProcessGroup) -> dict[str, float]:
        """Returns the means over all batches and ranks, on every rank. Collective.

        An array is averaged over its elements. Other values are left out, with a warning.
        """
        batches = to_python_all(self.batches)
        sums: dict[str, tuple[float, float]] = {}
        for metrics, (slots, total) in zip(batches, self._shards):
            # An integer, except for batches of an earlier attempt on another number of slots.
            weight = slots * self._shard.total / total
            batch = {name: _to_number(Reducer.AVG, value) for name, value in metrics.items()}
            for name, value in _without_none(batch).items():
                added, count = sums.get(name, (0.0, 0.0))
                sums[name] = (added + value * weight, count + weight)
        if process_group.is_chief:
            names = (name for batch in self.batches for name in batch)
            warn_once(names, sums, f"of train_batch() is {_NO_NUMBER}, and is not reported")
        gathered = process_group.allgather(sums)
        means: dict[str, float] = {}
        for name in dict.fromkeys(name for rank in gathered for name in rank):
            known = [rank[name] for rank in gathered if name in rank]
            means[name] = math.fsum(t for t, _ in known) / math.fsum(c for _, c in known)
        return means


def _to_tensor(value: object) -> object:
    """Converts a number to a tensor without rounding it; returns another value unchanged."""
    if isinstance(value, float):
        return torch.tensor(value, dtype=torch.float64)
    return torch.tensor(value) if isinstance(value, (bool, int)) else value


class EvaluationMetrics:
    """The metrics of a validation's batches on this rank.

    Attributes:
        outputs: What evaluate_batch() returned for each batch, detached.
    """

    def __init__(self, reducer: Reducer | dict[str, Reducer]) -> None:
        self._reducer = reducer
        self.outputs: list[MetricDict] = []
        self._records: list[int] = []

    def add(self, metrics: MetricDict, records: int) -> None:
        """Adds the metrics of a batch of `records` records."""
        self.outputs.append(metrics)
        self._records.append(records)

    def to_numpy(self) -> list[MetricDict]:
        """Converts the outputs for callbacks, which may change them, and returns them."""
        self.outputs = to_numpy_all(self.outputs)
        return self.outputs

    def _get_reducer(self, name: str) -> Reducer:
        if isinstance(self._reducer, Mapping):
            return self._reducer.get(name, Reducer.AVG)
        return self._reducer

    def reduce(self, process_group: ProcessGroup) -> MetricDict:
        """Reduces over all batches and ranks. Collective.

        Returns:
            The metrics that are numbers, arrays, or dicts of those on the chief, and an empty dict on
            the other ranks.
        """
        plain: list[dict[str, _Numbers]] = [
            _without_none(
                {
                    name: _to_numbers(self._get_reducer(name), value)
                    for name, value in output.items()
                }
            )
            for output in to_python_all(self.outputs)
        ]
        gathered = process_group.gather(list(zip(plain, self._records)))
        everything = [one for rank in gathered or [] for one in rank]
        metrics: MetricDict = {}
        for name in dict.fromkeys(name for output, _ in everything for name in output):
            values = [(output[name], records) for output, records in everything if name in output]
            metrics[name] = _reduce_nested(self._get_reducer(name), values)
        if process_group.is_chief:
            names = (name for output in self.outputs for name in output)
            warn_once(names, metrics, f"of evaluate_batch() is {_NO_NUMBER}, and is not reported")
            reduced = self._reducer if isinstance(self._reducer, dict) and everything else {}
            warn_once(
                reduced, metrics, "of evaluation_reducer() is not returned by evaluate_batch()"
            )
        return metrics


def _to_number(reducer: Reducer, value: object) -> float | None:
    """Reduces the elements of a list, also a nested one, to a number; None if it has none."""
    if not isinstance(value, (list, tuple)):
        return value if isinstance(value, (int, float)) else None
    elements = [_to_number(reducer, element) for element in value]
    numbers = [(element, 1) for element in elements if element is not None]
    return _reduce(reducer, numbers) if numbers and len(numbers) == len(elements) else None


def _to_numbers(reducer: Reducer, value: object) -> _Numbers | None:
    """Converts a metric with _to_number(), and each value of a dict."""
    value = to_python(value)
    if not isinstance(value, Mapping):
        return _to_number(reducer, value)
    inner = {str(name): _to_numbers(reducer, one) for name, one in value.items()}
    return _without_none(inner) or None


def _without_none(metrics: Mapping[str, _T | None]) -> dict[str, _T]:
    return {name: value for name, value in metrics.items() if value is not None}


def _reduce_nested(reducer: Reducer, values: list[tuple[_Numbers, int]]) -> _Numbers:
    """Reduces a metric over batches; if it is a dict, name by name."""
    dicts = [(value, records) for value, records in values if isinstance(value, dict)]
    if not dicts:
        return _reduce(reducer, [(v, records) for v, records in values if not isinstance(v, dict)])
    names = dict.fromkeys(name for value, _ in dicts for name in value)
    return {
        name: _reduce_nested(reducer, [(v[name], records) for v, records in dicts if name in v])
        for name in names
    }


def _reduce(reducer: Reducer, values: list[tuple[float, int]]) -> float:
    if reducer is Reducer.AVG:
        values = [(value, 1) for value, _ in values]
    numbers = [value for value, _ in values]
    if reducer is Reducer.SUM:
        return math.fsum(numbers)
    if any(math.isnan(number) for number in numbers):
        return math.nan
    if reducer is Reducer.MAX:
        return max(numbers)
    if reducer is Reducer.MIN:
        return min(numbers)
    # fsum is exact, so the result does not depend on the division among ranks. It raises for
    # infinities.
    if any(math.isinf(number) for number in numbers):
        return sum(v * n for v, n in values) / sum(n for _, n in values)
    return math.fsum(v * n for v, n in values) / sum(n for _, n in values)
