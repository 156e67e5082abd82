"""The training loop of one rank: train, report, validate, save, stop.

What is due is a function of how far training is, and is done before the next batch; the state of a
checkpoint says what was done. So a resumed run continues as the run that saved it would have.
All ranks take every decision alike.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, Optional, Tuple

from det._version import __version__
from det.pytorch import (
    _compression,
    _data,
    _evaluate,
    _events,
    _fusion,
    _metrics,
    _parallel,
    _random,
    _rank_state,
    _state,
    _trial,
    _xla,
)
from det.pytorch._callback import Callbacks
from det.pytorch._context import PyTorchTrialContext
from det.pytorch._lr_scheduler import LRScheduler
from det.pytorch._ranks import Stop, StopAgreement
from det.pytorch._saver import Saver
from det.pytorch._schedule import Progress, Schedule
from det.pytorch._sharding import ShardedData

_Mode = LRScheduler.StepMode
_NONE: Any = object()  # No batch.


class Controller:
    """Made by Trainer.fit(); run() once.

    Args:
        policy: of checkpoints, after a validation: "best", "all" or "none".
        latest_checkpoint: to start from.
    """

    _read_state: Any = staticmethod(_state.read)

    def __init__(
        self,
        trial: _trial.PyTorchTrial,
        context: PyTorchTrialContext,
        schedule: Schedule,
        *,
        policy: str = "best",
        latest_checkpoint: Optional[str] = None,
    ) -> None:
        self._trial = trial
        self._context = context
        self._by_batch = self._check()
        self._core = context._core
        self._ranks = context._ranks
        self._readers = context._readers
        self._schedule = schedule
        self._policy = policy
        self._latest = latest_checkpoint
        self._callbacks = Callbacks(trial.build_callbacks(), warns=self._ranks.is_chief)
        self._events = _events.Events(context)
        self._saver = self._make_saver()
        self._progress = Progress(trial_id=context.get_trial_id())
        self._unreported = _metrics.Unreported(context._share)
        self._saved_at = -1
        self._stop = StopAgreement(self._ranks)
        self._warm = False
        self._fusion: Any = None
        self._training: Any = None
        self._validation: Any = None

    def _check(self) -> bool:
        """Whether the Trial evaluates by batches. Raises RuntimeError or TypeError for one that cannot
        be trained."""
        if not self._context.models:
            words = "wrapped no model: call context.wrap_model() in __init__()"
            raise RuntimeError(f"{type(self._trial).__name__} {words}")
        return _trial.check_evaluation(self._trial)

    def _make_saver(self) -> Any:
        return Saver(self._context, self._trial, self._callbacks, self._events)

    @property
    def _records_per_batch(self) -> int:
        """Of a global batch; 0 where nobody knows."""
        return int(self._training.records_per_batch)

    def run(self) -> None:
        """Collective. Returns when training is finished, or saved because it was to stop."""
        try:
            self._start()
            self._callbacks.call("on_training_start")
            self._train()
            self._saver.finish()
        finally:
            self._events.close()
            self._callbacks.call("on_trial_shutdown")

    # Before training.

    def _start(self) -> None:
        state, folder, uuid = self._read_latest()
        first = 0 if uuid is None or self._warm else self._progress.steps_completed
        self._context._first_batch = first
        self._callbacks.call("on_trial_startup", first, uuid)
        self._build_data()
        if folder is not None:
            self._callbacks.call("on_checkpoint_load_start", state)
        _random.seed_all(_random.derive(self._context.get_trial_seed(), self._readers.rank, first))
        if folder is not None:
            self._restore(state, folder, uuid)
        self._context._progress = self._progress
        models = self._context.models
        for model in models:
            model.train()
        tuned = models if self._context._optimizations.auto_tune_tensor_fusion else []
        self._fusion = _fusion.FusionTuning(tuned, self._ranks)

    def _read_latest(self) -> Any:
        """(state, folder, uuid) of the checkpoint to start from; Nones without one."""
        if self._latest is None:
            return None, None, None
        with self._core.checkpoint.restore_path(self._latest) as folder:
            progress = _state.read_progress(folder)
            self._warm = progress is None or progress.trial_id != self._progress.trial_id
            if progress is not None and not self._warm:
                self._progress = progress
            return self._read_state(folder), folder, self._latest

    def _restore(self, state: Dict[str, Any], folder: Any, uuid: str) -> None:
        where = f"checkpoint {uuid}"
        if self._warm:
            _state.restore_weights(state, self._context, where)
            return
        _state.restore(state, self._context, self._callbacks, where)
        _rank_state.restore(folder, self._context, self._unreported)
        self._saved_at = self._progress.steps_completed
        self._find_position()

    def _find_position(self) -> None:
        """In batches of today's size."""
        size, progress = self._records_per_batch, self._progress
        if size and progress.records:
            progress.batch = -(-progress.records // size)
        per_epoch = self._context._batches_per_epoch
        if per_epoch is not None and progress.batch >= per_epoch:
            progress.epoch += 1
            progress.batch = progress.records = 0

    def _build_data(self) -> None:
        # What a Trial draws here, to split its data say, is the same on all ranks and in all runs.
        _random.seed_all(_random.derive(self._context.get_trial_seed()))
        self._training = self._shard(
            self._trial.build_training_data_loader(), "build_training_data_loader", True
        )
        if self._by_batch:
            self._validation = self._shard_validation()
            _trial.check_reduction(self._trial)
        elif self._readers.is_chief or self._context._strategy.in_parts:
            self._validation = self._trial.build_validation_data_loader()
        self._context._batches_per_epoch = self._agreed_length(self._training)

    def _agreed_length(self, training: ShardedData) -> Optional[int]:
        """Batches of an epoch. Ranks that have more would wait for the others for ever."""
        told = self._ranks.broadcast(self._ranks.gather(training.batches_per_epoch()))
        for rank, length in enumerate(told):
            if length != told[0]:
                raise ValueError(
                    f"the training data has {told[0]} batches an epoch on rank 0 and {length} on "
                    f"rank {rank}: let build_training_data_loader() give all ranks equally many"
                )
        return None if told[0] is None else int(told[0])

    def _shard_validation(self) -> ShardedData:
        given = self._trial.build_validation_data_loader()
        data = self._shard(given, "build_validation_data_loader", False)
        if self._context._strategy.in_parts and not data.even:
            data.read_all()  # One that has no batch would keep the others waiting.
        return data

    def _shard(self, given: Any, what: str, training: bool) -> ShardedData:
        context = self._context
        loader = _data.adapt_loader(
            given,
            batch_size=context.get_per_slot_batch_size,
            shuffle=training,
            what=what,
            unchecked=not context.experimental.reproducibility_checks,
        )
        return ShardedData(
            loader,
            share=context._share,
            seed=context.get_trial_seed(),
            training=training,
        )

    # Training.

    def _train(self) -> None:
        if self._ranks.is_chief and self._schedule.ended(self._progress):
            print(f"nothing is left to train: {self._schedule.max_length} is reached", flush=True)
        if self._do_due_work():
            return
        while True:
            trained = False
            for batch, last in self._batches():
                trained = True
                stop = self._train_batch(batch, last)
                if stop and not self._schedule.ended(self._progress):
                    self._end_early(stop)
                    return
                if self._do_due_work():
                    return
            if not trained or self._progress.batch != 0:
                raise RuntimeError(
                    f"the training data of epoch {self._progress.epoch} ended after "
                    f"{self._progress.batch} batches, and should have had "
                    f"{self._context._batches_per_epoch or 'some'}"
                )

    def _batches(self) -> Iterator[Tuple[Any, bool]]:
        """From the position to the end of the epoch; and whether each is the last."""
        known = self._context._batches_per_epoch
        data = iter(self._training.read(self._progress.epoch, self._progress.batch))
        if known is not None:
            for batch in data:
                last = self._progress.batch == known - 1
                yield batch, last
                if last:
                    return
            return
        # Only the one behind it tells.
        ahead = next(data, _NONE)
        while ahead is not _NONE:
            batch, ahead = ahead, next(data, _NONE)
            yield batch, ahead is _NONE
            if self._progress.batch == 0:  # The data of another rank has ended.
                return

    def _train_batch(self, batch: Any, last: bool) -> Stop:
        context, progress = self._context, self._progress
        if progress.batch == 0:
            self._callbacks.call("on_training_epoch_start", progress.epoch)
        self._stop.begin(self._wants_to_stop(), last)
        if context.experimental.auto_to_device:
            batch = context.to_device(batch)
        metrics = self._compute(batch)
        _xla.end_batch(context.device)
        self._unreported.add(_metrics.detach(metrics, "train_batch"))
        last = self._stop.last()
        if context.steps_now:
            steps = progress.steps_completed + 1
            context._strategy.after_batch(steps // context._aggregation_frequency)
        self._step_schedules(last)
        if context._profiler is not None:
            context._profiler.step()
        self._advance(last)
        if progress.steps_completed == self._context.get_initial_batch() + 1:
            self._saver.prepare()
        self._saver.poll()
        return self._stop.end(self._wants_to_stop())

    def _compute(self, batch: Any) -> Any:
        """The Trial's train_batch()."""
        context, progress = self._context, self._progress
        averages = context.steps_now
        if averages:
            _compression.rescale(context.models, context.scaler)
            self._fusion.before()
        with context.experimental.autocast():
            with _parallel.one_batch(context.models, averages):
                metrics = self._trial.train_batch(batch, progress.epoch, progress.steps_completed)
        if averages:
            self._fusion.after()
        return metrics

    def _step_schedules(self, last: bool) -> None:
        for scheduler in self._context.lr_schedulers:
            scheduler.step_after(_Mode.STEP_EVERY_BATCH, self._progress.steps_completed + 1)
            if last:
                scheduler.step_after(_Mode.STEP_EVERY_EPOCH, self._progress.epoch + 1)

    def _advance(self, last: bool) -> None:
        progress = self._progress
        progress.steps_completed += 1
        progress.batch += 1
        progress.records += self._records_per_batch
        if last:
            progress.epoch += 1
            progress.batch = progress.records = 0
            self._callbacks.call("on_training_epoch_end", progress.epoch - 1)

    def _wants_to_stop(self) -> Stop:
        if self._ranks.is_chief and self._core.preempt.should_preempt(auto_ack=False):
            return Stop.PREEMPTED
        return Stop.REQUESTED if self._context.get_stop_requested() else Stop.NO

    def _end_early(self, stop: Stop) -> None:
        if stop is Stop.REQUESTED:  # There will be no other run to report it.
            self._report()
            self._validate()
        self._save()
        self._saver.finish()
        if stop is Stop.PREEMPTED and self._ranks.is_chief:
            self._core.preempt.acknowledge_preemption_signal()

    # What is due.

    def _do_due_work(self) -> bool:
        """What the present progress asks for and was not done yet; whether training is finished."""
        schedule, progress = self._schedule, self._progress
        if not schedule.due(progress):
            return False
        steps = progress.steps_completed
        if schedule.report_due(progress) and progress.reported_at != steps:
            self._report()
        # Complete before the search hears of it: it may copy the trial, or hold it here.
        if schedule.is_rung(progress) and not schedule.ended(progress):
            self._save()
            self._saver.finish()
        save = schedule.checkpoint_due(progress)
        if schedule.validation_due(progress) and progress.validated_at != steps:
            save = self._saves_after(self._validate()) or save
        if save:
            self._save()
        return schedule.ended(progress)

    def _report(self) -> None:
        steps = self._progress.steps_completed
        metrics = self._unreported.means(self._readers)
        reducers = self._context.reducers
        if reducers.wanted(training=True):
            reduced = reducers.reduce(training=True, ranks=self._readers)
            metrics.update(self._ranks.broadcast(reduced))
            reducers.reset(training=True)
        self._callbacks.call("on_training_workload_end", metrics, self._unreported.batches)
        self._core.train.report_training_metrics(steps, self._with_lengths(metrics))
        self._events.add("training", steps, metrics)
        per_epoch = self._context._batches_per_epoch
        if per_epoch is not None:
            share = steps / self._schedule.max_batches(per_epoch)
            self._core.train.report_progress(min(1.0, share))
        self._unreported = _metrics.Unreported(self._context._share)
        self._progress.reported_at = steps

    def _validate(self) -> bool:
        """Whether it is the best of the experiment, as the chief heard."""
        steps = self._progress.steps_completed
        self._context._strategy.synchronize()
        metrics = self._evaluate()
        self._progress.validated_at = steps
        best: bool = self._core.train.report_validation_metrics(
            steps, self._with_lengths(metrics), ask_best=self._policy == "best"
        )
        self._events.add("validation", steps, metrics)
        if self._context._writer is not None:
            self._context._writer.flush()
            self._events.upload()
        return best

    def _evaluate(self) -> Dict[str, Any]:
        """Collective: the metrics of a validation, on every rank."""
        return _evaluate.evaluate(self._trial, self._context, self._validation, self._callbacks)

    def _with_lengths(self, metrics: Dict[str, Any]) -> Dict[str, Any]:
        """And how long training has gone on, as a search measures it. The Trial's own keep their
        names."""
        steps, size = self._progress.steps_completed, self._records_per_batch
        per_epoch = self._schedule.epoch or self._context._batches_per_epoch
        lengths = {
            "batches": steps,
            "epochs": steps / per_epoch if per_epoch else float(self._progress.epoch),
        }
        if size:
            lengths["records"] = steps * size
        return {**lengths, **metrics}

    def _saves_after(self, best: bool) -> bool:
        if self._policy != "best":
            return self._policy == "all"
        return bool(self._ranks.broadcast(best))

    def _save(self) -> None:
        if self._saved_at == self._progress.steps_completed:
            return
        strategy = self._context._strategy
        kept = strategy.keep()
        strategy.synchronize()
        _parallel.broadcast_buffers(self._context.models, self._ranks)
        self._saver.save(self._progress, self._unreported, kept, __version__)
        if kept:
            strategy.go_on(kept)
        self._saved_at = self._progress.steps_completed
