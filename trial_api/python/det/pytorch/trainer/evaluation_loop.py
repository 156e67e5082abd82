"""One validation."""

from __future__ import annotations

from det.pytorch.data.sharded_loader import ShardedDataLoader
from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.metrics.accumulators import (
    EvaluationMetrics,
    detach_metrics,
    to_numpy_scalar,
    to_python,
    to_python_all,
)
from det.pytorch.metrics.reducers import add_reduced
from det.pytorch.strategies.data_parallel import broadcast_buffers, evaluation_mode
from det.pytorch.trial.callbacks import CallbackList
from det.pytorch.trial.context import PyTorchTrialContext
from det.pytorch.trial.trial import PyTorchTrial
from det.pytorch.utilities.types import MetricDict, ValidationData


def evaluate(
    trial: PyTorchTrial,
    context: PyTorchTrialContext,
    data: ShardedDataLoader | ValidationData,
    callbacks: CallbackList,
) -> MetricDict:
    """Validates the model. Collective.

    Args:
        trial: The Trial.
        context: Its context.
        data: A ShardedDataLoader, or the argument of evaluate_full_dataset() on the chief.
        callbacks: The Trial's callbacks.

    Returns:
        The validation metrics by name, on every rank.
    """
    group = _get_metric_group(context, data)
    broadcast_buffers(context.models, context._process_group)
    callbacks.call("on_validation_start")
    context.reducers.reset(training=False)
    with evaluation_mode(context.models):
        if isinstance(data, ShardedDataLoader):
            metrics = _evaluate_batches(trial, context, data, callbacks, group)
        elif group.is_chief:
            with context.experimental.autocast():
                result = trial.evaluate_full_dataset(data)
            [metrics] = to_python_all([detach_metrics(result, "evaluate_full_dataset")])
        else:
            metrics = {}
    add_reduced(metrics, context.reducers.reduce(training=False, process_group=group))
    metrics = call_on_validation_end(callbacks, context._process_group.broadcast(metrics))
    # A reducer may be used in training as well, whose metrics have been reported.
    context.reducers.reset(training=False)
    return metrics


def call_on_validation_end(callbacks: CallbackList, metrics: MetricDict) -> MetricDict:
    """Calls on_validation_end() with NumPy's values; callbacks may change the metrics.

    Args:
        callbacks: The Trial's callbacks.
        metrics: The validation metrics.

    Returns:
        The metrics to report.
    """
    shown = {name: to_numpy_scalar(value) for name, value in metrics.items()}
    callbacks.call("on_validation_end", shown)
    return {name: to_python(value) for name, value in shown.items()}


def _evaluate_batches(
    trial: PyTorchTrial,
    context: PyTorchTrialContext,
    data: ShardedDataLoader,
    callbacks: CallbackList,
    group: ProcessGroup,
) -> MetricDict:
    evaluation = EvaluationMetrics(trial.evaluation_reducer())
    takes_index = _takes_index(trial)
    callbacks.call("on_validation_epoch_start")
    for index, batch in enumerate(data.read(0)):
        records = trial.get_batch_length(batch)
        if context.experimental.auto_to_device:
            batch = context.to_device(batch)
        with context.experimental.autocast():
            output = (
                trial.evaluate_batch(batch, index) if takes_index else trial.evaluate_batch(batch)
            )
        evaluation.add(detach_metrics(output, "evaluate_batch"), records)
    callbacks.call("on_validation_epoch_end", evaluation.to_numpy())
    metrics: MetricDict = evaluation.reduce(group)
    return metrics


def _get_metric_group(
    context: PyTorchTrialContext, data: ShardedDataLoader | ValidationData
) -> ProcessGroup:
    """Returns the ranks with metrics of their own.

    It is this rank alone if all ranks compute on the same records.
    """
    if isinstance(data, ShardedDataLoader):
        same_records = data.reads_all_records
    else:
        same_records = context._strategy.is_sharded
    return ProcessGroup(single=True) if same_records else context._data_group


def _takes_index(trial: PyTorchTrial) -> bool:
    """Returns whether evaluate_batch() takes batch_idx; in older Trials it takes the batch alone."""
    code = getattr(trial.evaluate_batch, "__code__", None)
    if code is None or code.co_flags & 0x04:  # The flag of *args.
        return True
    return "batch_idx" in code.co_varnames[: code.co_argcount] or code.co_argcount > 2
