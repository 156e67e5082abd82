"""What a rank alone has, in its file of a checkpoint, and how the ranks of a later run take it over.

Old rank q belongs to new rank q % n of n. What such a rank takes over it adds up, so that the sum over
the ranks is what it was; gradients, which travel as means, are weighted by the shares of then and now.
Of a rank that the checkpoint does not know, it is as if it had seen nothing yet.
"""

from __future__ import annotations

import itertools
import pathlib
import sys
from typing import AbstractSet, Any, Dict, Iterable, List, Optional, Set, Tuple

import torch

from det.pytorch import _arrangement, _compression, _parallel, _random, _snapshot, _tree
from det.pytorch._context import PyTorchTrialContext
from det.pytorch._metrics import Unreported

_Part = Dict[str, Any]  # What the file of a rank has.


def take(
    snapshot: _snapshot.Snapshot,
    context: PyTorchTrialContext,
    metrics: Unreported,
    kept: Dict[str, Any],
) -> None:
    """The file of this rank. metrics: of the batches since the last report. kept: what the strategy's
    keep() gave."""
    own: _Part = {**reports(context, metrics), "kept": kept}
    progress = context._progress
    keeps = context._strategy.keeps_gradients
    if keeps and progress and progress.steps_completed % context._aggregation_frequency:
        own["gradients"] = [_gradients(model) for model in context.models]
    else:
        own["cleared"] = [list(_there(_gradients(model))) for model in context.models]
    # Torch divides those that lie in its buckets, and multiplies others: the last bits are others.
    own["in_buckets"] = [_in_buckets(_gradients(model)) for model in context.models]
    _compression.rescale(context.models, context.scaler)
    feedbacks = [_compression.feedback_of(model) for model in context.models]
    if any(feedbacks):
        own["feedback"] = [f and f.save(model) for f, model in zip(feedbacks, context.models)]
    snapshot.take_tree(file_of(context._ranks.rank), own)


def reports(context: PyTorchTrialContext, metrics: Unreported) -> _Part:
    """What any trial's rank has: random state, and what is for the next report."""
    return {
        "random": _random.get_state(),
        "readers": context._readers.size,
        "share": [context._share.slots, context._share.total],
        **metrics.save(),
        "reducers": _kept_of_reducers(context) if metrics.batches else [],
    }


def file_of(rank: int) -> str:
    return f"rank_{rank}.safetensors"


def _kept_of_reducers(context: PyTorchTrialContext) -> List[List[Any]]:
    """Of the batches since the last report; nothing where it is of a kind that no checkpoint has."""
    kept = context.reducers.keep()
    try:
        _tree.split(kept, "reducers")
    except _tree.NotSavable as error:
        print(
            f"WARNING: {error}; a run that goes on from here misses it", file=sys.stderr, flush=True
        )
        return []
    return kept


def restore(folder: pathlib.Path, context: PyTorchTrialContext, metrics: Unreported) -> None:
    """Everything that take() gave of the ranks that this one takes over. A rank that the checkpoint does
    not know keeps its random state."""
    parts, like = _read(folder, context)
    if like is None:
        return
    if context._strategy.keeps_gradients:
        _restore_gradients(parts, like, context)
    if like.get("kept"):
        context._strategy.go_on(like["kept"])
    _restore_feedback(parts, context)
    _restore_reports(parts, context, metrics)


def restore_reports(
    folder: pathlib.Path, context: PyTorchTrialContext, metrics: Unreported
) -> None:
    """As restore(), of what reports() gave."""
    _restore_reports(_read(folder, context)[0], context, metrics)


def _restore_reports(parts: List[_Part], context: PyTorchTrialContext, metrics: Unreported) -> None:
    for part in parts:
        if part["rank"] < part["readers"]:  # Others have read what the first has.
            metrics.take_over(part, part["share"])
            context.reducers.carry(part.get("reducers", []))
    if parts:
        _random.set_state(parts[0]["random"])


def _read(
    folder: pathlib.Path, context: PyTorchTrialContext
) -> Tuple[List[_Part], Optional[_Part]]:
    """The files of the old ranks that this one takes over, all where all ranks work on the same records;
    and one that is like it in what ranks have alike, None in a checkpoint without any."""
    # Not by a pattern: a callback may have added files of such names.
    files = (folder / file_of(rank) for rank in itertools.count())
    count = sum(1 for _ in itertools.takewhile(pathlib.Path.exists, files))
    if not count:
        return [], None
    ranks, readers, share = context._ranks, context._readers, context._share
    of_older = {"share": [1, count], "readers": count}
    if count == ranks.size:
        of_older = {"share": [share.slots, share.total], "readers": readers.size}

    def read(rank: int) -> _Part:
        return {**of_older, **_snapshot.read_tree(folder / file_of(rank)), "rank": rank}

    parts = {rank: read(rank) for rank in range(readers.rank, count, readers.size)}
    like = ranks.rank % count
    return list(parts.values()), parts.get(like) or read(like)


def _scale(part: _Part, context: PyTorchTrialContext) -> float:
    """What a mean over the records of that rank then counts in one over those of this rank now."""
    slots, total = part["share"]
    now = context._share
    return float(slots * now.total / (total * now.slots))


def _restore_gradients(parts: List[_Part], like: _Part, context: PyTorchTrialContext) -> None:
    nothing: List[Any] = [[] for _ in context.models]
    in_buckets = like.get("in_buckets", nothing)
    if "gradients" in like:
        for i, (model, names) in enumerate(zip(context.models, in_buckets)):
            # Of a rank that has seen nothing they are zeros where others have some.
            gradients: Dict[str, Any] = _zeros(
                model, set(_there(_by_name(model, like["gradients"][i])))
            )
            gradients.update(
                _sum(
                    (_by_name(model, part["gradients"][i]), _scale(part, context)) for part in parts
                )
            )
            _set_gradients(model, gradients, set(names))
    for i, (model, names) in enumerate(
        zip(context.models, in_buckets if "cleared" in like else [])
    ):
        cleared = {name for part in (like, *parts) for name in part["cleared"][i]}
        _set_gradients(model, _zeros(model, cleared), set(names))


def _restore_feedback(parts: List[_Part], context: PyTorchTrialContext) -> None:
    """Where nothing is rounded any more, what was left out goes into the gradients."""
    for part in parts:
        for model, left in zip(context.models, part.get("feedback", [])):
            feedback, scale = _compression.feedback_of(model), _scale(part, context)
            if left and feedback is not None:
                feedback.add(model, left, scale)
            elif left and context._strategy.keeps_gradients:
                _add_to_gradients(model, left, scale)


def _gradients(model: torch.nn.Module) -> Dict[str, Any]:
    return {name: p.grad for name, p in _parallel.unwrap(model).named_parameters()}


def _there(gradients: Dict[str, Any]) -> Dict[str, torch.Tensor]:
    return {name: gradient for name, gradient in gradients.items() if gradient is not None}


def _in_buckets(gradients: Dict[str, Any]) -> List[str]:
    """A bucket is one row of numbers; other gradients may be views too, transposed ones."""
    there = _there(gradients).items()
    return [name for name, g in there if g._base is not None and g._base.dim() == 1]


def _by_name(model: torch.nn.Module, gradients: Any) -> Dict[str, Any]:
    """What _gradients() gave; in older checkpoints a list, in the order of the parameters."""
    if isinstance(gradients, dict):
        return gradients
    return dict(zip(dict(_parallel.unwrap(model).named_parameters()), gradients))


def _sum(weighted: Iterable[Tuple[Dict[str, Any], float]]) -> Dict[str, torch.Tensor]:
    """Those of one rank with the weight 1 come out as they are, to the last bit."""
    total: Dict[str, torch.Tensor] = {}
    for gradients, weight in weighted:
        for name, gradient in _there(gradients).items():
            part = gradient if weight == 1 else gradient * weight
            total[name] = total[name] + part if name in total else part
    return total


def _zeros(model: torch.nn.Module, names: Set[str]) -> Dict[str, torch.Tensor]:
    """But for those whose gradients are sparse, where torch takes no others."""
    inner = _parallel.unwrap(model)
    names = names - _arrangement.with_sparse_gradients(inner)
    return {name: torch.zeros_like(p) for name, p in inner.named_parameters() if name in names}


def _set_gradients(
    model: torch.nn.Module, gradients: Dict[str, Any], in_buckets: AbstractSet[str]
) -> None:
    for name, parameter in _parallel.unwrap(model).named_parameters():
        gradient = gradients.get(name)
        if gradient is not None and parameter.grad is not None and name in in_buckets:
            parameter.grad.copy_(gradient)
        else:
            parameter.grad = None if gradient is None else gradient.to(parameter.device)


def _add_to_gradients(
    model: torch.nn.Module, numbers: Iterable[Optional[torch.Tensor]], weight: float
) -> None:
    """numbers: in the order of the model's parameters."""
    for parameter, one in zip(model.parameters(), numbers):
        if one is None:
            continue
        # Torch's buckets have a parameter's numbers as they lie in memory.
        part = (one * weight).to(parameter).as_strided(parameter.size(), parameter.stride())
        parameter.grad = part if parameter.grad is None else parameter.grad.add_(part)
