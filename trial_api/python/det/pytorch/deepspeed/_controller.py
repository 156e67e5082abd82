"""The training loop of a DeepSpeedTrial: det.pytorch's, whose batch is a step of the engines."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch

from det.pytorch import _metrics, _parallel, _random, _rank_state, _snapshot
from det.pytorch._controller import Controller
from det.pytorch._sharding import ShardedData
from det.pytorch.deepspeed._context import DeepSpeedTrialContext
from det.pytorch.deepspeed._micro_batches import MicroBatches
from det.pytorch.deepspeed._saver import DeepSpeedSaver


class DeepSpeedController(Controller):
    """Made by the Trainer; run() once."""

    _context: DeepSpeedTrialContext
    _trial: Any

    def _check(self) -> bool:
        if not self._context.engines:
            name = type(self._trial).__name__
            raise RuntimeError(
                f"{name} wrapped no engine: call context.wrap_model_engine() in __init__()"
            )
        return True

    def _make_saver(self) -> Any:
        return DeepSpeedSaver(self._context, self._trial, self._callbacks)

    @property
    def _records_per_batch(self) -> int:
        return self._context.get_global_batch_size()

    # Before training.

    def _read_state(self, folder: Any) -> Any:
        """Beside what the engines read themselves."""
        rest = folder / "training.safetensors"
        return _snapshot.read_tree(rest) if rest.exists() else {}

    def _restore(self, state: Dict[str, Any], folder: Any, uuid: str) -> None:
        self._context.warm_start = self._warm
        self._trial.load(self._context, folder)
        if self._warm:
            return
        self._callbacks.load_state_dict(state.get("callbacks", {}))
        _rank_state.restore_reports(folder, self._context, self._unreported)
        self._saved_at = self._progress.steps_completed
        self._find_position()

    def _build_data(self) -> None:
        _random.seed_all(_random.derive(self._context.get_trial_seed()))
        if self._context.mpu.should_build_data_loader:
            given = self._trial.build_training_data_loader()
            self._training = self._shard(given, "build_training_data_loader", True)
            given = self._trial.build_validation_data_loader()
            self._validation = self._shard(given, "build_validation_data_loader", False)
            if not self._validation.even:
                self._validation.read_all()  # Every rank computes equally often.
        per_step = self._context.get_num_micro_batches_per_slot()
        self._context._batches_per_epoch = self._agreed(self._training, "training") // per_step
        per_call = per_step if self._context.use_pipeline_parallel else 1
        self._evaluations = self._agreed(self._validation, "validation") // per_call
        if not self._context._batches_per_epoch:
            raise ValueError(
                f"the training data is too short for one step of {per_step} micro-batches on each slot"
            )

    def _agreed(self, data: Optional[ShardedData], what: str) -> int:
        """Micro-batches of an epoch, as those say that read data."""
        told = self._ranks.allgather(None if data is None else data.batches_per_epoch() or 0)
        known = sorted({length for length in told if length is not None})
        if len(known) != 1 or not known[0]:
            raise ValueError(
                f"the {what} data has {' or '.join(map(str, known)) or 'no'} micro-batches an epoch: "
                "under DeepSpeed its length must be known, and the same on all slots"
            )
        return int(known[0])

    # Training.

    def _batches(self) -> Iterator[Tuple[Any, bool]]:
        progress, known = self._progress, self._context._batches_per_epoch or 0
        per_step = self._context.get_num_micro_batches_per_slot()
        first = progress.batch
        source = self._training and self._training.read(progress.epoch, first * per_step)
        for number in range(first, known):
            step = None if source is None else MicroBatches(source, per_step)
            yield step, number == known - 1

    def _compute(self, batch: Any) -> Any:
        context, progress = self._context, self._progress
        told: List[Dict[str, Any]] = []
        for _ in range(context.calls_per_step):
            metrics = self._trial.train_batch(batch, progress.epoch, progress.steps_completed)
            if context.mpu.should_report_metrics:
                told.append(_metrics.detach(metrics, "train_batch"))
        if batch is not None:
            batch.skip()
        return _means(told)

    # What is due.

    def _evaluate(self) -> Dict[str, Any]:
        context = self._context
        evaluation = _metrics.Evaluation(self._trial.evaluation_reducer())
        self._callbacks.call("on_validation_start")
        context.reducers.reset(training=False)
        with _parallel.evaluating(context.engines):
            self._callbacks.call("on_validation_epoch_start")
            self._evaluate_batches(evaluation)
            self._callbacks.call("on_validation_epoch_end", evaluation.outputs)
        metrics = evaluation.reduce(self._ranks)
        metrics.update(context.reducers.reduce(training=False, ranks=self._ranks))
        metrics = dict(self._ranks.broadcast(metrics))
        self._callbacks.call("on_validation_end", metrics)
        context.reducers.reset(training=False)  # One may be training's, too, which has been reported.
        return metrics

    def _evaluate_batches(self, evaluation: _metrics.Evaluation) -> None:
        context, data = self._context, self._validation
        per_call = context.get_num_micro_batches_per_slot() if context.use_pipeline_parallel else 1
        # Where all read the same records, those of one count.
        first = context.mpu.data_parallel_rank == 0
        counts = context.mpu.should_report_metrics and (data is None or first or not data.reads_all)
        source = data and data.read(0)
        for index in range(self._evaluations):
            step = None if source is None else MicroBatches(source, per_call)
            output = self._trial.evaluate_batch(step, index)
            if counts:
                records = step.records if step else 1
                evaluation.add(_metrics.detach(output, "evaluate_batch"), records or 1)
            if step is not None:
                step.skip()


def _means(told: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Of the metrics of a step's micro-batches; what is no number is the last one's."""
    means: Dict[str, Any] = dict(told[-1]) if told else {}
    for name in means:
        values = [metrics[name] for metrics in told if name in metrics]
        if len(values) == 1:
            continue
        if all(isinstance(value, torch.Tensor) and value.numel() == 1 for value in values):
            means[name] = torch.stack([value.reshape(()) for value in values]).mean()
        elif all(isinstance(value, (int, float)) for value in values):
            means[name] = sum(values) / len(values)
    return means
