"""What a rank alone has, in its file of a checkpoint, and how the ranks of a later run take it over.

The state of rank q of the earlier attempt is restored on rank q % n of the n ranks. A rank that gets
the states of several adds them up, so that the sum over all ranks is unchanged. Gradients, which are
averaged, are weighted with the shares of the global batch before and now. A rank that gets no state
starts with an empty one.
"""

from __future__ import annotations

import itertools
import pathlib
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Optional

import torch

from det.pytorch.metrics.accumulators import TrainingMetrics
from det.pytorch.state.snapshot import Snapshot, read_tree
from det.pytorch.state.tree_codec import NotSavableError, encode_tree
from det.pytorch.strategies.bucket_order import find_sparse_gradients
from det.pytorch.strategies.data_parallel import unwrap_model
from det.pytorch.strategies.gradient_compression import (
    get_error_feedback,
    rescale_error_feedback,
)
from det.pytorch.trial.context import PyTorchTrialContext
from det.pytorch.utilities.rng import get_rng_state, set_rng_state
from det.pytorch.utilities.types import ReducedValue, StateDict

_Gradients = dict[str, Optional[torch.Tensor]]  # The gradients by the names of the parameters.
_RankState = StateDict  # The content of a rank's file.


def take_rank_file(
    snapshot: Snapshot,
    context: PyTorchTrialContext,
    metrics: TrainingMetrics,
    local_state: StateDict,
) -> None:
    """Adds the file of this rank.

    Args:
        snapshot: Gets the file.
        context: The Trial's context.
        metrics: Those of the batches since the last report.
        local_state: What the strategy's save_local_state() returned.
    """
    own: _RankState = {**collect_reports(context, metrics), "kept": local_state}
    progress = context._progress
    saves_gradients = context._strategy.saves_gradients
    incomplete = progress and progress.steps_completed % context._aggregation_frequency
    if saves_gradients and incomplete:
        own["gradients"] = [_get_gradients(model) for model in context.models]
    else:
        own["cleared"] = [list(_drop_missing(_get_gradients(m))) for m in context.models]
    # torch divides gradients in its buckets, and multiplies others, so the last bits differ.
    own["in_buckets"] = [_list_in_buckets(_get_gradients(model)) for model in context.models]
    rescale_error_feedback(context.models, context.scaler)
    feedbacks = [get_error_feedback(model) for model in context.models]
    if any(feedbacks):
        own["feedback"] = [f and f.save(model) for f, model in zip(feedbacks, context.models)]
    snapshot.take_tree(rank_file_name(context._process_group.rank), own)


def collect_reports(context: PyTorchTrialContext, metrics: TrainingMetrics) -> _RankState:
    """Returns the random state and what the next report needs, for a trial of any kind."""
    return {
        "random": get_rng_state(),
        "readers": context._data_group.size,
        "share": [context._batch_shard.slots, context._batch_shard.total],
        **metrics.save(),
        "reducers": _save_reducers(context) if metrics.batches else [],
    }


def rank_file_name(rank: int) -> str:
    """Returns the name of a rank's file."""
    return f"rank_{rank}.safetensors"


def _save_reducers(context: PyTorchTrialContext) -> list[list[ReducedValue]]:
    """Returns what the reducers have since the last report; [] if a checkpoint cannot contain it."""
    saved = context.reducers.save()
    try:
        encode_tree(saved, "reducers")
    except NotSavableError as error:
        print(
            f"WARNING: {error}; a run that resumes from this checkpoint reports without it",
            file=sys.stderr,
            flush=True,
        )
        return []
    return saved


def restore_rank_state(
    folder: pathlib.Path, context: PyTorchTrialContext, metrics: TrainingMetrics
) -> None:
    """Restores what take_rank_file() saved on the ranks that this one takes over. Collective.

    A new rank keeps its random state.
    """
    states, similar = _read_states(folder, context)
    if similar is None:
        return
    if context._strategy.saves_gradients:
        _restore_gradients(states, similar, context)
    if similar.get("kept"):
        context._strategy.restore_local_state(similar["kept"])
    _restore_feedback(states, context)
    _restore_reports(states, context, metrics)


def restore_reports(
    folder: pathlib.Path, context: PyTorchTrialContext, metrics: TrainingMetrics
) -> None:
    """Restores what collect_reports() returned on the ranks that this one takes over."""
    _restore_reports(_read_states(folder, context)[0], context, metrics)


def _restore_reports(
    states: list[_RankState], context: PyTorchTrialContext, metrics: TrainingMetrics
) -> None:
    for state in states:
        # Further ranks have read the same records as these.
        if state["rank"] < state["readers"]:
            metrics.carry_over(state, state["share"])
            context.reducers.carry_over(state.get("reducers", []))
    if states:
        set_rng_state(states[0]["random"])


def _read_states(
    folder: pathlib.Path, context: PyTorchTrialContext
) -> tuple[list[_RankState], _RankState | None]:
    """Reads the files of ranks.

    Returns:
        The states of the earlier ranks that this one takes over (all, if all ranks read the same
        records), and one state for what is the same on all ranks: None in a checkpoint without any.
    """
    # Not a glob: a callback may have added files with such names.
    files = (folder / rank_file_name(rank) for rank in itertools.count())
    count = sum(1 for _ in itertools.takewhile(pathlib.Path.exists, files))
    if not count:
        return [], None
    process_group, data_group = context._process_group, context._data_group
    # For older checkpoints, which lack these.
    defaults = {"share": [1, count], "readers": count}
    if count == process_group.size:
        shard = context._batch_shard
        defaults = {"share": [shard.slots, shard.total], "readers": data_group.size}

    def read(rank: int) -> _RankState:
        return {**defaults, **read_tree(folder / rank_file_name(rank)), "rank": rank}

    states = {rank: read(rank) for rank in range(data_group.rank, count, data_group.size)}
    similar = process_group.rank % count
    return list(states.values()), states.get(similar) or read(similar)


def _get_weight(state: _RankState, context: PyTorchTrialContext) -> float:
    """Returns the weight of a mean over that rank's records in one over this rank's records."""
    slots, total = state["share"]
    shard = context._batch_shard
    return float(slots * shard.total / (total * shard.slots))


def _restore_gradients(
    states: list[_RankState], similar: _RankState, context: PyTorchTrialContext
) -> None:
    models = context.models
    in_buckets = similar.get("in_buckets", [[] for _ in models])
    if "gradients" in similar:
        for i, (model, names) in enumerate(zip(models, in_buckets)):
            # A new rank has zeros where others have gradients.
            existing = set(_drop_missing(_by_name(model, similar["gradients"][i])))
            gradients: _Gradients = {**_make_zeros(model, existing)}
            weighted = (
                (_by_name(model, state["gradients"][i]), _get_weight(state, context))
                for state in states
            )
            gradients.update(_sum_weighted(weighted))
            _set_gradients(model, gradients, set(names))
    if "cleared" in similar:
        for i, (model, names) in enumerate(zip(models, in_buckets)):
            cleared = {name for state in (similar, *states) for name in state["cleared"][i]}
            _set_gradients(model, _make_zeros(model, cleared), set(names))


def _restore_feedback(states: list[_RankState], context: PyTorchTrialContext) -> None:
    """Restores rounding errors; if gradients are not rounded any more, adds them to those."""
    for state in states:
        for model, errors in zip(context.models, state.get("feedback", [])):
            feedback, weight = get_error_feedback(model), _get_weight(state, context)
            if errors and feedback is not None:
                feedback.add(model, errors, weight)
            elif errors and context._strategy.saves_gradients:
                _add_to_gradients(model, errors, weight)


def _get_gradients(model: torch.nn.Module) -> dict[str, torch.Tensor | None]:
    return {name: p.grad for name, p in unwrap_model(model).named_parameters()}


def _drop_missing(gradients: Mapping[str, torch.Tensor | None]) -> dict[str, torch.Tensor]:
    return {name: gradient for name, gradient in gradients.items() if gradient is not None}


def _list_in_buckets(gradients: Mapping[str, torch.Tensor | None]) -> list[str]:
    """Returns the names of gradients in torch's buckets.

    A bucket has one dimension; gradients of transposed weights are views, too, but of several.
    """
    existing = _drop_missing(gradients)
    return [n for n, g in existing.items() if g._base is not None and g._base.dim() == 1]


def _by_name(
    model: torch.nn.Module, gradients: _Gradients | Sequence[torch.Tensor | None]
) -> _Gradients:
    """Returns gradients by name; older checkpoints have a list in the order of the parameters."""
    if isinstance(gradients, dict):
        return gradients
    return dict(zip(dict(unwrap_model(model).named_parameters()), gradients))


def _sum_weighted(
    weighted: Iterable[tuple[_Gradients, float]],
) -> dict[str, torch.Tensor]:
    """Returns the weighted sum; those of one rank with weight 1 are unchanged to the last bit."""
    total: dict[str, torch.Tensor] = {}
    for gradients, weight in weighted:
        for name, gradient in _drop_missing(gradients).items():
            part = gradient if weight == 1 else gradient.mul(weight)
            total[name] = total[name] + part if name in total else part
    return total


def _make_zeros(model: torch.nn.Module, names: set[str]) -> dict[str, torch.Tensor]:
    """Returns gradients of zeros, except for sparse ones, whose layout torch checks."""
    inner = unwrap_model(model)
    names = names - find_sparse_gradients(inner)
    return {name: torch.zeros_like(p) for name, p in inner.named_parameters() if name in names}


def _set_gradients(
    model: torch.nn.Module,
    gradients: Mapping[str, torch.Tensor | None],
    in_buckets: Collection[str],
) -> None:
    for name, parameter in unwrap_model(model).named_parameters():
        gradient = gradients.get(name)
        if gradient is not None and parameter.grad is not None and name in in_buckets:
            parameter.grad.copy_(gradient)
        else:
            parameter.grad = None if gradient is None else gradient.to(parameter.device)


def _add_to_gradients(
    model: torch.nn.Module, errors: Iterable[torch.Tensor | None], weight: float
) -> None:
    """Adds rounding errors, which are in the order of the model's parameters."""
    for parameter, one in zip(model.parameters(), errors):
        if one is None:
            continue
        # torch's buckets have the numbers of a parameter in the order of its memory.
        part = one.mul(weight).to(parameter).as_strided(parameter.size(), parameter.stride())
        parameter.grad = part if parameter.grad is None else parameter.grad.add_(part)
