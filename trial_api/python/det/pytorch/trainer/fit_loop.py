"""The training loop of one rank: train, report, validate, save, stop.

The number of trained batches alone determines when to report, validate and save. This is done before
the next batch. A checkpoint records what was done already, so a resumed trial does the same as an
uninterrupted one. All ranks take the same decisions.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator
from typing import NamedTuple, cast

import torch

from det._version import __version__
from det.core._report import describe_missing_metric
from det.pytorch.data.data_loader import adapt_loader
from det.pytorch.data.sharded_loader import ShardedDataLoader
from det.pytorch.distributed.stop_agreement import StopAgreement, StopReason
from det.pytorch.distributed.xla import mark_step
from det.pytorch.metrics.accumulators import (
    TrainingMetrics,
    detach_metrics,
    to_numpy,
    to_numpy_all,
)
from det.pytorch.metrics.reducers import add_reduced
from det.pytorch.state.checkpoint import (
    read_checkpoint,
    read_progress,
    restore_checkpoint,
    restore_weights,
)
from det.pytorch.state.rank_state import restore_rank_state
from det.pytorch.strategies.bucket_size_tuner import BucketSizeTuner
from det.pytorch.strategies.data_parallel import broadcast_buffers, train_batch_scope
from det.pytorch.strategies.gradient_compression import rescale_error_feedback
from det.pytorch.trainer.checkpoint_saver import CheckpointSaver, Saver
from det.pytorch.trainer.evaluation_loop import evaluate
from det.pytorch.trainer.schedule import Schedule
from det.pytorch.trainer.tensorboard_logger import TensorBoardLogger
from det.pytorch.trial.callbacks import CallbackList
from det.pytorch.trial.context import PyTorchTrialContext
from det.pytorch.trial.lr_scheduler import LRScheduler
from det.pytorch.trial.progress import Progress
from det.pytorch.trial.trial import (
    BaseTrial,
    PyTorchTrial,
    check_evaluation_methods,
    check_evaluation_reducer,
)
from det.pytorch.utilities.rng import derive_seed, seed_all
from det.pytorch.utilities.types import DataBatch, MetricDict, StateDict, ValidationData

_StepMode = LRScheduler.StepMode
_NO_BATCH = object()


class _LoadedCheckpoint(NamedTuple):
    state: StateDict
    folder: pathlib.Path
    uuid: str


class FitLoop:
    """The training of a Trial. Trainer.fit() creates it, and calls run() once."""

    def __init__(
        self,
        trial: BaseTrial,
        context: PyTorchTrialContext,
        schedule: Schedule,
        *,
        policy: str = "best",
        latest_checkpoint: str | None = None,
        searcher_metric: str | None = None,
    ) -> None:
        """Creates the loop.

        Args:
            trial: The Trial.
            context: Its context.
            schedule: When training ends, and when it reports, validates and saves.
            policy: Which checkpoints to save after a validation: "best", "all" or "none".
            latest_checkpoint: The UUID of the checkpoint to start from, or None.
            searcher_metric: The metric that each validation must have, or None.

        Raises:
            RuntimeError: If the Trial wrapped no model.
            TypeError: If it overrides neither or both of the evaluation methods.
        """
        self._trial = cast(PyTorchTrial, trial)  # Subclasses of this loop train other Trials.
        self._context = context
        self._evaluates_by_batch = self._check_trial()
        self._core = context._core
        self._process_group = context._process_group
        self._data_group = context._data_group
        self._schedule = schedule
        self._policy = policy
        self._latest = latest_checkpoint
        self._searcher_metric = searcher_metric
        self._callbacks = CallbackList(trial.build_callbacks(), warn=self._process_group.is_chief)
        self._tensorboard = TensorBoardLogger(context)
        self._saver = self._create_saver()
        self._progress = Progress(trial_id=context.get_trial_id())
        self._training_metrics = TrainingMetrics(context._batch_shard)
        self._saved_at = -1
        self._stop = StopAgreement(self._process_group)
        self._is_warm_start = False
        self._tuner: BucketSizeTuner  # _start() creates it, after the models are restored.
        self._training_data: ShardedDataLoader | None = None
        # A ShardedDataLoader, or the argument of evaluate_full_dataset().
        self._validation_data: ShardedDataLoader | ValidationData = None

    def _check_trial(self) -> bool:
        """Returns whether the Trial evaluates by batches; raises if it cannot be trained."""
        if not self._context.models:
            raise RuntimeError(
                f"{type(self._trial).__name__} wrapped no model: call context.wrap_model() in "
                "__init__()"
            )
        return check_evaluation_methods(self._trial)

    def _create_saver(self) -> Saver:
        return CheckpointSaver(self._context, self._trial, self._callbacks, self._tensorboard)

    def _read_state(self, folder: pathlib.Path) -> StateDict:
        return read_checkpoint(folder)

    @property
    def _records_per_batch(self) -> int:
        """The number of records of a global batch; 0 if it is unknown."""
        return self._get_training_data().records_per_batch

    def _get_training_data(self) -> ShardedDataLoader:
        assert self._training_data is not None
        return self._training_data

    def run(self) -> None:
        """Trains until training is finished, or until it was stopped and saved. Collective."""
        try:
            self._start()
            self._callbacks.call("on_training_start")
            self._train()
            self._saver.finish()
        finally:
            self._tensorboard.close()
            self._callbacks.call("on_trial_shutdown")

    # Before training.

    def _start(self) -> None:
        loaded = self._read_latest()
        uuid = loaded.uuid if loaded else None
        first = 0 if loaded is None or self._is_warm_start else self._progress.steps_completed
        self._context._first_batch = first
        self._callbacks.call("on_trial_startup", first, uuid)
        self._build_data()
        self._warn_about_records_per_epoch()
        if loaded is not None:
            self._callbacks.call("on_checkpoint_load_start", loaded.state)
        seed_all(derive_seed(self._context.get_trial_seed(), self._data_group.rank, first))
        if loaded is not None:
            self._restore(loaded.state, loaded.folder, loaded.uuid)
        self._context._progress = self._progress
        models = self._context.models
        for model in models:
            model.train()
        tuned = models if self._context._optimizations.auto_tune_tensor_fusion else []
        self._tuner = BucketSizeTuner(tuned, self._process_group)

    def _read_latest(self) -> _LoadedCheckpoint | None:
        """Reads the checkpoint to start from."""
        if self._latest is None:
            return None
        with self._core.checkpoint.restore_path(self._latest) as folder:
            progress = read_progress(folder)
            if progress is not None and progress.trial_id == self._progress.trial_id:
                self._progress = progress
            else:
                self._is_warm_start = True
            return _LoadedCheckpoint(self._read_state(folder), folder, self._latest)

    def _restore(self, state: StateDict, folder: pathlib.Path, uuid: str) -> None:
        where = f"checkpoint {uuid}"
        if self._is_warm_start:
            restore_weights(state, self._context, where)
            return
        restore_checkpoint(state, self._context, self._callbacks, where)
        restore_rank_state(folder, self._context, self._training_metrics)
        self._saved_at = self._progress.steps_completed
        self._convert_position()

    def _convert_position(self) -> None:
        """Converts the position in the epoch to batches of the current size."""
        size, progress = self._records_per_batch, self._progress
        if size and progress.records:
            progress.batch = -(-progress.records // size)
        per_epoch = self._context._batches_per_epoch
        if per_epoch is not None and progress.batch >= per_epoch:
            progress.epoch += 1
            progress.batch = progress.records = 0

    def _build_data(self) -> None:
        # If a Trial draws random numbers here, for example to split its data, they must be the same
        # on all ranks and in all attempts.
        seed_all(derive_seed(self._context.get_trial_seed()))
        training_data = self._shard(
            self._trial.build_training_data_loader(), "build_training_data_loader", True
        )
        self._training_data = training_data
        if self._evaluates_by_batch:
            self._validation_data = self._shard_validation_data()
            check_evaluation_reducer(self._trial)
        elif self._data_group.is_chief or self._context._strategy.is_sharded:
            self._validation_data = self._trial.build_validation_data_loader()
        self._context._batches_per_epoch = self._check_same_length(training_data)

    def _check_same_length(self, training_data: ShardedDataLoader) -> int | None:
        """Returns the number of batches of an epoch.

        Ranks with more batches would wait for the others forever.
        """
        lengths = self._process_group.allgather(training_data.batches_per_epoch())
        for rank, length in enumerate(lengths):
            if length != lengths[0]:
                raise ValueError(
                    f"the training data has {lengths[0]} batches an epoch on rank 0 and {length} on "
                    f"rank {rank}: build_training_data_loader() must return equally many on all ranks"
                )
        return None if lengths[0] is None else int(lengths[0])

    def _warn_about_records_per_epoch(self) -> None:
        """Warns if records_per_epoch of the config is not the length of an epoch.

        An epoch is one pass over the training data, whatever the config says.
        """
        configured = int(self._context.get_experiment_config().get("records_per_epoch") or 0)
        batches, size = self._context._batches_per_epoch, self._records_per_batch
        if not configured or not batches or not size or not self._process_group.is_chief:
            return
        if not (batches - 1) * size < configured < (batches + 1) * size:
            print(
                f"WARNING: records_per_epoch is {configured} and is ignored: an epoch is one pass over "
                f"the training data, {batches} batches of {size} records; write a length in batches "
                "to validate, save or end elsewhere",
                file=sys.stderr,
                flush=True,
            )

    def _shard_validation_data(self) -> ShardedDataLoader:
        given = self._trial.build_validation_data_loader()
        data = self._shard(given, "build_validation_data_loader", False)
        if self._context._strategy.is_sharded and not data.is_even:
            data.read_all_records()  # Without this, ranks would wait for a rank that has no batch.
        return data

    def _shard(self, given: object, what: str, training: bool) -> ShardedDataLoader:
        context = self._context
        loader = adapt_loader(
            given,
            batch_size=context.get_per_slot_batch_size,
            shuffle=training,
            what=what,
            unchecked=not context.experimental.reproducibility_checks,
        )
        return ShardedDataLoader(
            loader,
            shard=context._batch_shard,
            seed=context.get_trial_seed(),
            training=training,
        )

    # Training.

    def _train(self) -> None:
        if self._process_group.is_chief and self._schedule.is_finished(self._progress):
            print(
                f"training is already finished: {self._schedule.max_length} is reached", flush=True
            )
        if self._do_due_work() or self._stop_at_boundary():
            return
        while True:
            trained = False
            for batch, is_last in self._iterate_batches():
                trained = True
                if self._progress.batch == 0:
                    self._callbacks.call("on_training_epoch_start", self._progress.epoch)
                    if self._stop_at_boundary():
                        return
                stop = self._train_batch(batch, is_last)
                if stop and not self._schedule.is_finished(self._progress):
                    self._end_early(stop)
                    return
                is_epoch_end = self._progress.batch == 0
                boundary = is_epoch_end or self._schedule.is_anything_due(self._progress)
                if self._do_due_work() or (boundary and self._stop_at_boundary()):
                    return
            if not trained or self._progress.batch != 0:
                raise RuntimeError(
                    f"the training data of epoch {self._progress.epoch} ended after "
                    f"{self._progress.batch} batches; expected "
                    f"{self._context._batches_per_epoch or 'at least 1'}"
                )

    def _iterate_batches(self) -> Iterator[tuple[DataBatch, bool]]:
        """Yields the batches to the end of the epoch, and whether each is the last."""
        known = self._context._batches_per_epoch
        data = iter(self._get_training_data().read(self._progress.epoch, self._progress.batch))
        if known is not None:
            for batch in data:
                is_last = self._progress.batch == known - 1
                yield batch, is_last
                if is_last:
                    return
            return
        # If the number of batches is unknown, a batch is the last if no other follows.
        next_batch = next(data, _NO_BATCH)
        while next_batch is not _NO_BATCH:
            batch, next_batch = next_batch, next(data, _NO_BATCH)
            yield batch, next_batch is _NO_BATCH
            if self._progress.batch == 0:  # The data of another rank has ended.
                return

    def _train_batch(self, batch: DataBatch, is_last: bool) -> StopReason:
        context, progress = self._context, self._progress
        self._stop.begin(self._get_stop_reason(), is_last)
        if context.experimental.auto_to_device:
            batch = context.to_device(batch)
        metrics = self._call_train_batch(batch)
        mark_step(context.device)
        self._training_metrics.add(detach_metrics(metrics, "train_batch"))
        is_last = self._stop.is_last()
        if context.steps_now:
            steps = progress.steps_completed + 1
            context._strategy.after_batch(steps // context._aggregation_frequency)
        self._step_lr_schedulers(is_last)
        if context._profiler is not None:
            context._profiler.step()
        self._advance(is_last)
        if progress.steps_completed == self._context.get_initial_batch() + 1:
            self._saver.prepare()
        self._saver.poll()
        stop = self._stop.end(self._get_stop_reason())
        if is_last:
            self._callbacks.call("on_training_epoch_end", progress.epoch - 1)
        return stop

    def _call_train_batch(self, batch: DataBatch) -> torch.Tensor | MetricDict:
        """Calls the Trial's train_batch(), and returns its metrics."""
        context, progress = self._context, self._progress
        average_gradients = context.steps_now
        if average_gradients:
            rescale_error_feedback(context.models, context.scaler)
            self._tuner.before_batch()
        with context.experimental.autocast():
            with train_batch_scope(context.models, average_gradients):
                metrics = self._trial.train_batch(batch, progress.epoch, progress.steps_completed)
        if average_gradients:
            self._tuner.after_batch()
        return metrics

    def _step_lr_schedulers(self, is_last: bool) -> None:
        count = self._progress.steps_completed + 1
        # Between two optimizer steps the learning rate stays the same.
        batches = self._context._aggregation_frequency if self._context.steps_now else 0
        for scheduler in self._context.lr_schedulers:
            for batch in range(count - batches + 1, count + 1):
                scheduler.step_after(_StepMode.STEP_EVERY_BATCH, batch)
            if is_last:
                scheduler.step_after(_StepMode.STEP_EVERY_EPOCH, self._progress.epoch + 1)

    def _advance(self, is_last: bool) -> None:
        progress = self._progress
        progress.steps_completed += 1
        progress.batch += 1
        progress.records += self._records_per_batch
        if is_last:
            progress.epoch += 1
            progress.batch = progress.records = 0

    def _get_stop_reason(self) -> StopReason:
        if self._process_group.is_chief and self._core.preempt.should_preempt(auto_ack=False):
            return StopReason.PREEMPTED
        return StopReason.REQUESTED if self._context.get_stop_requested() else StopReason.NONE

    def _stop_at_boundary(self) -> bool:
        """Ends training if a callback of any rank has requested it between two batches. Collective.

        Returns:
            Whether training ends.
        """
        if not any(self._process_group.allgather(self._context.get_stop_requested())):
            return False
        steps = self._progress.steps_completed
        if steps:
            if self._progress.reported_at != steps:
                self._report()  # No later attempt reports these batches.
            self._save()
            self._saver.finish()
        return True

    def _end_early(self, stop: StopReason) -> None:
        if stop is StopReason.REQUESTED:  # No later attempt reports these batches.
            self._report()
            self._validate()
        self._save()
        self._saver.finish()
        if stop is StopReason.PREEMPTED and self._process_group.is_chief:
            self._core.preempt.acknowledge_preemption_signal()

    # Reports, validations and checkpoints.

    def _do_due_work(self) -> bool:
        """Reports, validates and saves as due. Returns whether training is finished."""
        schedule, progress = self._schedule, self._progress
        if not schedule.is_anything_due(progress):
            return False
        steps = progress.steps_completed
        if schedule.is_report_due(progress) and progress.reported_at != steps:
            self._report()
        # Complete the checkpoint before the search gets the validation: the search may then copy or
        # pause the trial.
        if schedule.is_rung(progress) and not schedule.is_finished(progress):
            self._save()
            self._saver.finish()
        save = schedule.is_checkpoint_due(progress)
        if schedule.is_validation_due(progress) and progress.validated_at != steps:
            save = self._saves_after_validation(self._validate()) or save
        if save:
            self._save()
        return schedule.is_finished(progress)

    def _report(self) -> None:
        steps = self._progress.steps_completed
        metrics: MetricDict = dict(self._training_metrics.means(self._data_group))
        reducers = self._context.reducers
        if reducers.has_any(training=True):
            reduced = reducers.reduce(training=True, process_group=self._data_group)
            add_reduced(metrics, self._process_group.broadcast(reduced))
            reducers.reset(training=True)
        reported = self._add_lengths(metrics)
        self._core.train.report_training_metrics(steps, reported)
        self._tensorboard.add("training", steps, metrics)
        if self._callbacks.named:
            means = {name: to_numpy(value) for name, value in reported.items()}
            batches = to_numpy_all(self._training_metrics.batches)
            self._callbacks.call("on_training_workload_end", means, batches)
        per_epoch = self._context._batches_per_epoch
        if per_epoch is not None:
            fraction = steps / self._schedule.max_batches(per_epoch)
            self._core.train.report_progress(min(1.0, fraction))
        self._training_metrics = TrainingMetrics(self._context._batch_shard)
        self._progress.reported_at = steps

    def _validate(self) -> bool:
        """Validates and reports. Returns on the chief whether it is the best of the experiment."""
        steps = self._progress.steps_completed
        self._context._strategy.synchronize()
        metrics = self._evaluate()
        self._progress.validated_at = steps
        reported = self._add_lengths(metrics)
        best: bool = self._core.train.report_validation_metrics(
            steps, reported, ask_best=self._policy == "best"
        )
        if self._searcher_metric is not None:
            problem = describe_missing_metric(self._searcher_metric, reported)
            if problem is not None:
                raise RuntimeError(problem)
        self._tensorboard.add("validation", steps, metrics)
        if self._context._writer is not None:
            self._context._writer.flush()
            self._tensorboard.upload()
        return best

    def _evaluate(self) -> MetricDict:
        """Returns the validation metrics on every rank. Collective."""
        return evaluate(self._trial, self._context, self._validation_data, self._callbacks)

    def _add_lengths(self, metrics: MetricDict) -> MetricDict:
        """Adds the trained length in each unit of a search, unless the Trial has such metrics."""
        steps, size = self._progress.steps_completed, self._records_per_batch
        per_epoch = self._context._batches_per_epoch
        lengths = {
            "batches": steps,
            "epochs": steps / per_epoch if per_epoch else float(self._progress.epoch),
        }
        if size:
            lengths["records"] = steps * size
        return {**lengths, **metrics}

    def _saves_after_validation(self, best: bool) -> bool:
        if self._policy != "best":
            return self._policy == "all"
        return bool(self._process_group.broadcast(best))

    def _save(self) -> None:
        if self._saved_at == self._progress.steps_completed:
            return
        strategy = self._context._strategy
        local_state = strategy.save_local_state()
        strategy.synchronize()
        broadcast_buffers(self._context.models, self._process_group)
        self._saver.save(self._progress, self._training_metrics, local_state, __version__)
        if local_state:
            strategy.restore_local_state(local_state)
        self._saved_at = self._progress.steps_completed
