"""DeterminedCallback and TensorBoard, which existing scripts for Keras use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import SupportsFloat

from det import core
from det._types import Json, JsonMapping
from det.keras._callback import DetCallback, _numbers

try:
    import keras
except ImportError:
    from tensorflow import keras


class DeterminedCallback(DetCallback):
    """A DetCallback that gets the checkpoint as an argument and counts epochs itself.

    A resumed run needs no initial_epoch: fit() ends when all runs together have trained its epochs.

    Args:
        core_context: The context of det.core.init().
        checkpoint: The UUID of the checkpoint whose weights the model gets; None: none.
        continue_id: Identifies the training, for example get_cluster_info().trial.trial_id. If the
            checkpoint was saved with the same ID, training continues, else it starts from 0.
        train_metrics_report_period: "epoch", or a number of batches.
        checkpoint_epochs: The number of epochs between checkpoints; 0: save only at the end.

    Raises:
        ValueError: An argument is invalid, or the trial has several ranks.
    """

    def __init__(
        self,
        core_context: core.Context,
        checkpoint: str | None,
        continue_id: int | str,
        train_metrics_report_period: int | str = "epoch",
        checkpoint_epochs: int = 1,
    ) -> None:
        period = train_metrics_report_period
        if period != "epoch" and (not isinstance(period, int) or period < 1):
            raise ValueError(
                f'train_metrics_report_period is {period!r}; expected "epoch" or a number of batches'
            )
        self._checkpoint, self._continue_id = checkpoint, continue_id
        self._every = None if isinstance(period, str) else period
        self._skipped: int | None = None  # Epochs of earlier attempts, which fit() does not count.
        super().__init__(core_context, checkpoint_epochs)

    def _find_checkpoint(self) -> str | None:
        return self._checkpoint

    def _continues(self, position: JsonMapping) -> bool:
        return bool(position.get("continue_id") == self._continue_id)

    def _position(self) -> dict[str, Json]:
        return {**super()._position(), "continue_id": self._continue_id}

    def on_train_begin(self, logs: Mapping[str, SupportsFloat] | None = None) -> None:
        """Loads the weights of the checkpoint, and stops at once if all epochs are trained.

        Args:
            logs: Ignored.
        """
        super().on_train_begin(logs)
        self._skipped = None
        self._interrupted = self._is_finished()  # Keras trains one batch before it checks.
        self.model.stop_training = self._interrupted

    def on_epoch_begin(self, epoch: int, logs: Mapping[str, SupportsFloat] | None = None) -> None:
        """Finds out how many epochs of earlier attempts fit() does not count.

        Args:
            epoch: The index of the epoch, as fit() counts, from 0.
            logs: Ignored.
        """
        if self._skipped is None:
            self._skipped = self.initial_epoch - epoch

    def on_train_batch_end(
        self, batch: int, logs: Mapping[str, SupportsFloat] | None = None
    ) -> None:
        """Reports metrics if they are due, and stops if the trial is preempted or completed.

        Args:
            batch: The index of the batch in its epoch, from 0.
            logs: The metrics of the epoch so far, by name.
        """
        if self._is_finished():
            self.model.stop_training = True
            return
        super().on_train_batch_end(batch, logs)
        if self._every is not None and self._steps % self._every == 0:
            self._core.train.report_metrics("training", self._steps, _numbers(logs))

    def on_epoch_end(self, epoch: int, logs: Mapping[str, SupportsFloat] | None = None) -> None:
        """Reports the metrics of an epoch and saves a checkpoint if one is due.

        Stops if all epochs are trained.

        Args:
            epoch: The index of the epoch, as fit() counts, from 0.
            logs: The metrics of the epoch by name.
        """
        super().on_epoch_end(epoch + (self._skipped or 0), logs)
        if self._is_finished():
            self.model.stop_training = True

    def _report(self, group: str, metrics: dict[str, float]) -> None:
        if self._every is None or group != "training":
            super()._report(group, metrics)

    def _is_finished(self) -> bool:
        return bool(self._epochs >= (self.params or {}).get("epochs", self._epochs + 1))


class TensorBoard(keras.callbacks.TensorBoard):  # type: ignore[misc]
    """Keras' TensorBoard callback, with the event files of the trial.

    They are stored after each epoch.

    Args:
        core_context: The context of det.core.init().
        *args: Arguments of Keras' callback.
        **kwargs: Arguments of Keras' callback; log_dir is replaced.
    """

    def __init__(self, core_context: core.Context, *args: object, **kwargs: object) -> None:
        self._core = core_context
        kwargs["log_dir"] = str(core_context.train.get_tensorboard_path())
        super().__init__(*args, **kwargs)

    def on_epoch_end(self, epoch: int, logs: Mapping[str, SupportsFloat] | None = None) -> None:
        """Stores the event files.

        Args:
            epoch: The index of the epoch, from 0.
            logs: The metrics of the epoch by name.
        """
        super().on_epoch_end(epoch, logs)
        self._core.train.upload_tensorboard_files()
