"""Metrics of batches, and their sums over batches and ranks."""

from __future__ import annotations

import math
import sys
from typing import Any, Collection, Dict, Iterable, List, Mapping, Set, Tuple, Union

import torch

from det.pytorch._ranks import Ranks
from det.pytorch._reducers import Reducer
from det.pytorch._shares import Share


def detach(metrics: Any, what: str) -> Dict[str, Any]:
    """The metrics of one batch, free of what computed them; still on their device, where a look at
    them would wait for it.

    Raises:
        TypeError: `what` gave no metrics.
    """
    if isinstance(metrics, torch.Tensor):
        return {"loss": metrics.detach()}
    if not isinstance(metrics, dict):
        raise TypeError(
            f"{what}() returned a {type(metrics).__name__}: return metrics by name"
            + (", or the loss" if what == "train_batch" else "")
        )
    return {
        str(name): value.detach() if isinstance(value, torch.Tensor) else value
        for name, value in metrics.items()
    }


def to_plain(value: Any) -> Any:
    """A number for what holds one number, lists for what holds several."""
    if isinstance(value, torch.Tensor):
        return value.item() if value.numel() == 1 else value.tolist()
    if hasattr(value, "item") and getattr(value, "size", 1) == 1:  # Of numpy.
        return value.item()
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


def to_plain_all(batches: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """As to_plain(), with one transfer from a GPU for each metric."""
    columns: Dict[str, List[Any]] = {}
    for name in dict.fromkeys(name for batch in batches for name in batch):
        values = [batch[name] for batch in batches if name in batch]
        single = all(isinstance(v, torch.Tensor) and v.numel() == 1 for v in values)
        same = single and len({(v.dtype, v.device) for v in values}) == 1
        plain = torch.stack([v.reshape(()) for v in values]).tolist() if same else None
        columns[name] = plain if plain is not None else [to_plain(v) for v in values]
    rows = {name: iter(column) for name, column in columns.items()}
    return [{name: next(rows[name]) for name in batch} for batch in batches]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


_said: Set[Tuple[str, str]] = set()


def _say_once(names: Iterable[str], reported: Collection[str], why: str) -> None:
    """Of those that are not among what is reported."""
    for name in dict.fromkeys(names):
        if name not in reported and (name, why) not in _said:
            _said.add((name, why))
            print(f"WARNING: metric {name!r} {why}", file=sys.stderr, flush=True)


class Unreported:
    """The metrics of training's batches since the last report, of this rank and, in a run that resumed,
    of those that it took over. A batch counts for the part of its records that the rank had.

    share: of the global batch, this rank's.
    """

    def __init__(self, share: Share) -> None:
        self._share = share
        self.batches: List[Dict[str, Any]] = []
        self._shares: List[Tuple[int, int]] = []  # (slots, of so many); of each batch.

    def add(self, metrics: Dict[str, Any]) -> None:
        """Of a batch; they may lie on the device."""
        self.batches.append(metrics)
        self._shares.append((self._share.slots, self._share.total))

    def save(self) -> Dict[str, Any]:
        """For a checkpoint."""
        self.batches = to_plain_all(self.batches)
        return {"metrics": self.batches, "shares": [list(share) for share in self._shares]}

    def take_over(self, saved: Dict[str, Any], share: Tuple[int, int]) -> None:
        """What save() gave, on some rank of an earlier run; share: of that, for older checkpoints."""
        self.batches.extend(saved["metrics"])
        shares = saved.get("shares") or [share] * len(saved["metrics"])
        self._shares.extend((slots, total) for slots, total in shares)

    def means(self, ranks: Ranks) -> Dict[str, Any]:
        """Collective: over all batches of all ranks. What is no number is left out."""
        self.batches = to_plain_all(self.batches)
        sums: Dict[str, Tuple[float, float]] = {}
        for batch, (slots, total) in zip(self.batches, self._shares):
            # A whole number, but for ranks of other runs.
            weight = slots * self._share.total / total
            for name, value in batch.items():
                if _is_number(value):
                    added, count = sums.get(name, (0.0, 0.0))
                    sums[name] = (added + value * weight, count + weight)
        if ranks.is_chief:
            names = (name for batch in self.batches for name in batch)
            _say_once(names, sums, "of train_batch() is no single number, and is not reported")
        gathered = ranks.allgather(sums)
        means: Dict[str, Any] = {}
        for name in dict.fromkeys(name for rank in gathered for name in rank):
            known = [rank[name] for rank in gathered if name in rank]
            means[name] = math.fsum(t for t, _ in known) / math.fsum(c for _, c in known)
        return means


class Evaluation:
    """The metrics of a validation's batches on one rank, made into one on the chief."""

    def __init__(self, reducer: Union[Reducer, Dict[str, Reducer]]) -> None:
        self._reducer = reducer
        self.outputs: List[Dict[str, Any]] = []
        self._records: List[int] = []

    def add(self, metrics: Dict[str, Any], records: int) -> None:
        self.outputs.append(metrics)
        self._records.append(records)

    def _reducer_of(self, name: str) -> Reducer:
        if isinstance(self._reducer, Mapping):
            return self._reducer.get(name, Reducer.AVG)
        return self._reducer

    def reduce(self, ranks: Ranks) -> Dict[str, Any]:
        """Collective: on the chief all metrics that are numbers; on the others nothing."""
        plain = [
            {name: value for name, value in output.items() if _is_number(value)}
            for output in to_plain_all(self.outputs)
        ]
        gathered = ranks.gather(list(zip(plain, self._records)))
        everything = [one for rank in gathered or [] for one in rank]
        metrics: Dict[str, Any] = {}
        for name in dict.fromkeys(name for output, _ in everything for name in output):
            values = [(output[name], records) for output, records in everything if name in output]
            metrics[name] = _reduce(self._reducer_of(name), values)
        if ranks.is_chief:
            names = (name for output in self.outputs for name in output)
            _say_once(
                names, metrics, "of evaluate_batch() is no single number, and is not reported"
            )
            reduced = self._reducer if isinstance(self._reducer, dict) and everything else {}
            _say_once(reduced, metrics, "of evaluation_reducer() is none of evaluate_batch()")
        return metrics


def _reduce(reducer: Reducer, values: List[Tuple[float, int]]) -> float:
    numbers = [value for value, _ in values]
    if reducer is Reducer.SUM:
        return math.fsum(numbers)
    if any(math.isnan(number) for number in numbers):
        return math.nan
    if reducer is Reducer.MAX:
        return max(numbers)
    if reducer is Reducer.MIN:
        return min(numbers)
    # fsum is exact, so that the division among ranks changes nothing. It refuses infinities.
    if any(math.isinf(number) for number in numbers):
        return sum(v * n for v, n in values) / sum(n for _, n in values)
    return math.fsum(v * n for v, n in values) / sum(n for _, n in values)
