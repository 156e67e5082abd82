"""One validation."""

from __future__ import annotations

from typing import Any, Dict

from det.pytorch import _metrics, _parallel, _trial
from det.pytorch._callback import Callbacks
from det.pytorch._context import PyTorchTrialContext
from det.pytorch._ranks import Ranks
from det.pytorch._sharding import ShardedData


def evaluate(
    trial: _trial.PyTorchTrial,
    context: PyTorchTrialContext,
    data: Any,
    callbacks: Callbacks,
) -> Dict[str, Any]:
    """Collective: the metrics, on every rank. `data`: ShardedData, or what evaluate_full_dataset()
    is given, on the chief."""
    ranks = _readers(context, data)
    _parallel.broadcast_buffers(context.models, context._ranks)
    callbacks.call("on_validation_start")
    context.reducers.reset(training=False)
    with _parallel.evaluating(context.models):
        if isinstance(data, ShardedData):
            metrics = _by_batch(trial, context, data, callbacks, ranks)
        elif ranks.is_chief:
            with context.experimental.autocast():
                full = trial.evaluate_full_dataset(data)
            metrics = _metrics.to_plain_all([_metrics.detach(full, "evaluate_full_dataset")])[0]
        else:
            metrics = {}
    metrics.update(context.reducers.reduce(training=False, ranks=ranks))
    metrics = dict(context._ranks.broadcast(metrics))
    callbacks.call("on_validation_end", metrics)
    context.reducers.reset(training=False)  # One may be training's, too, which has been reported.
    return metrics


def _by_batch(
    trial: _trial.PyTorchTrial,
    context: PyTorchTrialContext,
    data: ShardedData,
    callbacks: Callbacks,
    ranks: Ranks,
) -> Dict[str, Any]:
    evaluation = _metrics.Evaluation(trial.evaluation_reducer())
    with_index = _takes_index(trial)
    callbacks.call("on_validation_epoch_start")
    for index, batch in enumerate(data.read(0)):
        records = trial.get_batch_length(batch)
        if context.experimental.auto_to_device:
            batch = context.to_device(batch)
        with context.experimental.autocast():
            output = (
                trial.evaluate_batch(batch, index) if with_index else trial.evaluate_batch(batch)
            )
        evaluation.add(_metrics.detach(output, "evaluate_batch"), records)
    callbacks.call("on_validation_epoch_end", evaluation.outputs)
    return evaluation.reduce(ranks)


def _readers(context: PyTorchTrialContext, data: Any) -> Ranks:
    """Who has metrics of its own; this rank alone where all ranks see the same records, or make the
    same pass over the full data set."""
    whole = data.reads_all if isinstance(data, ShardedData) else context._strategy.in_parts
    return Ranks(alone=True) if whole else context._readers


def _takes_index(trial: _trial.PyTorchTrial) -> bool:
    """Older Trials' evaluate_batch() takes the batch alone."""
    code = getattr(trial.evaluate_batch, "__code__", None)
    if code is None or code.co_flags & 0x04:  # *args
        return True
    return "batch_idx" in code.co_varnames[: code.co_argcount] or code.co_argcount > 2
