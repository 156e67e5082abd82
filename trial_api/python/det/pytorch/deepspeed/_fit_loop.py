"""The training loop of a DeepSpeedTrial: det.pytorch's, in which a batch is a step of the engines."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Sequence
from typing import cast

import torch

from det.pytorch.data.sharded_loader import ShardedDataLoader
from det.pytorch.deepspeed._context import DeepSpeedTrialContext
from det.pytorch.deepspeed._micro_batches import MicroBatches
from det.pytorch.deepspeed._saver import DeepSpeedSaver
from det.pytorch.deepspeed._trial import DeepSpeedTrial
from det.pytorch.metrics.accumulators import EvaluationMetrics, detach_metrics
from det.pytorch.metrics.reducers import add_reduced
from det.pytorch.state.rank_state import restore_reports
from det.pytorch.state.snapshot import read_tree
from det.pytorch.strategies.data_parallel import evaluation_mode
from det.pytorch.trainer.checkpoint_saver import Saver
from det.pytorch.trainer.evaluation_loop import call_on_validation_end
from det.pytorch.trainer.fit_loop import FitLoop
from det.pytorch.utilities.rng import derive_seed, seed_all
from det.pytorch.utilities.types import DataBatch, MetricDict, StateDict


class DeepSpeedFitLoop(FitLoop):
    """The training of a DeepSpeedTrial. Trainer.fit() creates it, and calls run() once."""

    _context: DeepSpeedTrialContext

    @property
    def _deepspeed_trial(self) -> DeepSpeedTrial:
        return cast(DeepSpeedTrial, self._trial)

    def _check_trial(self) -> bool:
        if not self._context.engines:
            name = type(self._trial).__name__
            raise RuntimeError(
                f"{name} wrapped no engine: call context.wrap_model_engine() in __init__()"
            )
        return True

    def _create_saver(self) -> Saver:
        return DeepSpeedSaver(self._context, self._deepspeed_trial, self._callbacks)

    @property
    def _records_per_batch(self) -> int:
        return self._context.get_global_batch_size()

    # Before training.

    def _read_state(self, folder: pathlib.Path) -> StateDict:
        """Returns the state that the engines do not load themselves."""
        path = folder / "training.safetensors"
        return dict(read_tree(path)) if path.exists() else {}

    def _restore(self, state: StateDict, folder: pathlib.Path, uuid: str) -> None:
        self._context.warm_start = self._is_warm_start
        self._deepspeed_trial.load(self._context, folder)
        if self._is_warm_start:
            return
        self._callbacks.load_state_dict(state.get("callbacks", {}))
        restore_reports(folder, self._context, self._training_metrics)
        self._saved_at = self._progress.steps_completed
        self._convert_position()

    def _build_data(self) -> None:
        seed_all(derive_seed(self._context.get_trial_seed()))
        validation_data: ShardedDataLoader | None = None
        if self._context.mpu.should_build_data_loader:
            given = self._trial.build_training_data_loader()
            self._training_data = self._shard(given, "build_training_data_loader", True)
            given = self._trial.build_validation_data_loader()
            validation_data = self._shard(given, "build_validation_data_loader", False)
            if not validation_data.is_even:
                # Every rank must call evaluate_batch() equally often.
                validation_data.read_all_records()
        self._validation_data = validation_data
        per_step = self._context.get_num_micro_batches_per_slot()
        micro_batches = self._get_common_length(self._training_data, "training")
        self._context._batches_per_epoch = micro_batches // per_step
        per_call = per_step if self._context.use_pipeline_parallel else 1
        self._evaluations = self._get_common_length(validation_data, "validation") // per_call
        if not self._context._batches_per_epoch:
            raise ValueError(
                f"the training data is too small for one step of {per_step} micro-batches on each slot"
            )

    def _get_common_length(self, data: ShardedDataLoader | None, what: str) -> int:
        """Returns the number of micro-batches of an epoch on the ranks that read data."""
        lengths = self._process_group.allgather(
            None if data is None else data.batches_per_epoch() or 0
        )
        known = sorted({length for length in lengths if length is not None})
        if len(known) != 1 or not known[0]:
            raise ValueError(
                f"the {what} data has {' or '.join(map(str, known)) or 'no'} micro-batches an epoch: "
                "under DeepSpeed its length must be known, and the same on all slots"
            )
        return int(known[0])

    # Training.

    def _iterate_batches(self) -> Iterator[tuple[DataBatch, bool]]:
        progress, known = self._progress, self._context._batches_per_epoch or 0
        per_step = self._context.get_num_micro_batches_per_slot()
        first = progress.batch
        source: Iterator[DataBatch] | None = None
        if self._training_data is not None:
            source = self._training_data.read(progress.epoch, first * per_step)
        for number in range(first, known):
            step = None if source is None else MicroBatches(source, per_step)
            yield step, number == known - 1

    def _call_train_batch(self, batch: MicroBatches | None) -> MetricDict:
        context, progress = self._context, self._progress
        outputs: list[MetricDict] = []
        for _ in range(context.calls_per_step):
            metrics = self._deepspeed_trial.train_batch(
                batch, progress.epoch, progress.steps_completed
            )
            if context.mpu.should_report_metrics:
                outputs.append(detach_metrics(metrics, "train_batch"))
        if batch is not None:
            batch.skip()
        return _average(outputs)

    # Validation.

    def _evaluate(self) -> MetricDict:
        context = self._context
        evaluation = EvaluationMetrics(self._trial.evaluation_reducer())
        self._callbacks.call("on_validation_start")
        context.reducers.reset(training=False)
        with evaluation_mode(cast("Sequence[torch.nn.Module]", context.engines)):
            self._callbacks.call("on_validation_epoch_start")
            self._evaluate_batches(evaluation)
            self._callbacks.call("on_validation_epoch_end", evaluation.to_numpy())
        metrics: MetricDict = dict(evaluation.reduce(self._process_group))
        process_group = self._process_group
        add_reduced(metrics, context.reducers.reduce(training=False, process_group=process_group))
        metrics = call_on_validation_end(self._callbacks, process_group.broadcast(metrics))
        # A reducer may be used in training as well, whose metrics have been reported.
        context.reducers.reset(training=False)
        return metrics

    def _evaluate_batches(self, evaluation: EvaluationMetrics) -> None:
        context = self._context
        data: ShardedDataLoader | None = self._validation_data
        per_call = context.get_num_micro_batches_per_slot() if context.use_pipeline_parallel else 1
        # If all model replicas read the same records, the metrics of the first one are reported.
        is_first = context.mpu.data_parallel_rank == 0
        reports = context.mpu.should_report_metrics and (
            data is None or is_first or not data.reads_all_records
        )
        source = None if data is None else data.read(0)
        for index in range(self._evaluations):
            step = None if source is None else MicroBatches(source, per_call)
            output = self._deepspeed_trial.evaluate_batch(step, index)
            if reports:
                records = step.records if step else 1
                evaluation.add(detach_metrics(output, "evaluate_batch"), records or 1)
            if step is not None:
                step.skip()


def _average(outputs: list[MetricDict]) -> MetricDict:
    """Returns the means over the micro-batches of a step; of other values than numbers, the last."""
    means: MetricDict = dict(outputs[-1]) if outputs else {}
    for name in means:
        values = [metrics[name] for metrics in outputs if name in metrics]
        if len(values) == 1:
            continue
        if all(isinstance(value, torch.Tensor) and value.numel() == 1 for value in values):
            means[name] = torch.stack([value.reshape(()) for value in values]).mean()
        elif all(isinstance(value, (int, float)) for value in values):
            means[name] = sum(values) / len(values)
    return means
