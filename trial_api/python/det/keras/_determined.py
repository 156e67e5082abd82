"""The names that scripts for Keras know: DeterminedCallback and TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from det.keras._callback import DetCallback, _numbers

try:
    import keras
except ImportError:
    from tensorflow import keras


class DeterminedCallback(DetCallback):
    """A DetCallback that is told where to start, and counts epochs itself: a run that goes on needs
    no initial_epoch, and fit() ends when all runs together have trained its epochs.

    Args:
        core_context: of det.core.init().
        checkpoint: uuid of the one whose weights the model gets; None: its own.
        continue_id: of what is trained, get_cluster_info().trial.trial_id say. Where the
            checkpoint was saved under the same, training goes on; else it counts from 0.
        train_metrics_report_period: "epoch", or a number of batches.
        checkpoint_epochs: saved after so many epochs, and at the end; 0: at the end only.
    """

    def __init__(
        self,
        core_context: Any,
        checkpoint: str | None,
        continue_id: int | str,
        train_metrics_report_period: int | str = "epoch",
        checkpoint_epochs: int = 1,
    ) -> None:
        period = train_metrics_report_period
        if period != "epoch" and (not isinstance(period, int) or period < 1):
            raise ValueError(f'train_metrics_report_period is {period!r}: "epoch", or batches')
        self._checkpoint, self._continue_id = checkpoint, continue_id
        self._every = None if isinstance(period, str) else period
        self._skipped: int | None = None  # Epochs of earlier runs, that fit() does not count.
        super().__init__(core_context, checkpoint_epochs)

    def _latest(self) -> str | None:
        return self._checkpoint

    def _continues(self, told: dict[str, Any]) -> bool:
        return bool(told.get("continue_id") == self._continue_id)

    def _position(self) -> dict[str, Any]:
        return {**super()._position(), "continue_id": self._continue_id}

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        super().on_train_begin(logs)
        self._skipped = None
        self._cut = self._is_finished()  # Keras trains one batch before it looks.
        self.model.stop_training = self._cut

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        if self._skipped is None:
            self._skipped = self.initial_epoch - epoch

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        if self._is_finished():
            self.model.stop_training = True
            return
        super().on_train_batch_end(batch, logs)
        if self._every is not None and self._steps % self._every == 0:
            self._core.train.report_metrics("training", self._steps, _numbers(logs))

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        super().on_epoch_end(epoch + (self._skipped or 0), logs)
        if self._is_finished():
            self.model.stop_training = True

    def _report(self, group: str, metrics: dict[str, float]) -> None:
        if self._every is None or group != "training":
            super()._report(group, metrics)

    def _is_finished(self) -> bool:
        return bool(self._epochs >= (self.params or {}).get("epochs", self._epochs + 1))


class TensorBoard(keras.callbacks.TensorBoard):  # type: ignore[misc]
    """Keras' own, whose files lie where the trial's are: they are stored after each epoch. Other
    arguments are Keras'.
    """

    def __init__(self, core_context: Any, *args: Any, **kwargs: Any) -> None:
        self._core = core_context
        kwargs["log_dir"] = str(core_context.train.get_tensorboard_path())
        super().__init__(*args, **kwargs)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        super().on_epoch_end(epoch, logs)
        self._core.train.upload_tensorboard_files()
