"""Reports the metrics of Keras' fit(), saves the model after epochs, and stops when preempted.

Needs Keras, alone or as a part of TensorFlow, which the training script uses. Trains in one
process.
"""

from __future__ import annotations

import json
import pathlib
import tempfile
from collections.abc import Mapping
from typing import SupportsFloat

from det import core
from det._errors import CheckpointError
from det._types import Json, JsonMapping

try:
    import keras
except ImportError:
    from tensorflow import keras

_VALIDATION = "val_"
_WEIGHTS, _POSITION, _MODEL = "model.weights.h5", "position.json", "model.json"


class DetCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """A callback for `callbacks=` of fit(), together with `initial_epoch=callback.initial_epoch`.

    If the trial has a checkpoint, the model, which must be built, gets its weights before the first
    batch. If the checkpoint belongs to another trial (a warm start), training starts from 0. A
    preempted attempt stops after the current batch, and the next attempt resumes after the last
    saved epoch. The state of the optimizer is saved as far as Keras' save_weights() writes it.

    Args:
        core_context: The context of det.core.init().
        checkpoint_epochs: The number of epochs between checkpoints; 0: save only at the end.
        user_data: Additional metadata of the checkpoints.

    Raises:
        ValueError: The trial has several ranks, or checkpoint_epochs is negative.

    Attributes:
        initial_epoch: The number of epochs that earlier attempts have trained.
    """

    def __init__(
        self,
        core_context: core.Context,
        checkpoint_epochs: int = 1,
        user_data: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__()
        if core_context.distributed.size > 1:
            raise ValueError("det.keras trains in one process: set resources.slots_per_trial to 1")
        if checkpoint_epochs < 0:
            raise ValueError(f"checkpoint_epochs is {checkpoint_epochs}, but must be 0 or more")
        self._core = core_context
        self._period, self._user_data = checkpoint_epochs, dict(user_data or {})
        self._folder = self._download(self._find_checkpoint())
        self._interrupted = False  # Preempted within an epoch.
        self.initial_epoch = self._epochs = self._steps = self._saved_at = 0
        if self._folder is None:
            return
        position = json.loads(self._folder.joinpath(_POSITION).read_text(encoding="utf-8"))
        if self._continues(position):
            self._steps = self._saved_at = int(position["steps"])
            self.initial_epoch = self._epochs = int(position["epochs"])

    def _find_checkpoint(self) -> str | None:
        """Returns the checkpoint to start from; None if there is none."""
        newest: str | None = self._core.checkpoint.newest_whole()
        return newest

    def _continues(self, position: JsonMapping) -> bool:
        """Returns whether training continues at the position of the checkpoint."""
        info = self._core.info
        return info is None or info.trial is None or not info.trial.warm_start

    def _position(self) -> dict[str, Json]:
        return {"epochs": self._epochs, "steps": self._steps}

    def _download(self, latest: str | None) -> pathlib.Path | None:
        if latest is None:
            return None
        folder = pathlib.Path(tempfile.mkdtemp(prefix=".restored-", dir="."))
        self._core.checkpoint.download(latest, str(folder))
        return folder

    def on_train_begin(self, logs: Mapping[str, SupportsFloat] | None = None) -> None:
        """Loads the weights of the checkpoint.

        Args:
            logs: Ignored.
        """
        if self._folder is not None:
            self.model.load_weights(str(self._folder / _WEIGHTS))

    def on_train_batch_end(
        self, batch: int, logs: Mapping[str, SupportsFloat] | None = None
    ) -> None:
        """Stops the training if the trial is preempted.

        Args:
            batch: The index of the batch in its epoch, from 0.
            logs: Ignored.
        """
        self._steps += 1
        if self._core.preempt.should_preempt():
            self.model.stop_training = True
            self._interrupted = batch + 1 != (self.params or {}).get("steps")

    def on_epoch_end(self, epoch: int, logs: Mapping[str, SupportsFloat] | None = None) -> None:
        """Reports the metrics of an epoch and saves a checkpoint if one is due.

        Metrics whose names begin with "val_" are validation metrics, others training metrics. An
        epoch that preemption interrupted is neither reported nor saved: the next attempt trains it
        again.

        Args:
            epoch: The index of the epoch, from 0.
            logs: The metrics of the epoch by name.
        """
        if self._interrupted:
            return
        self._epochs = epoch + 1
        numbers = _numbers(logs)
        validation = {n: v for n, v in numbers.items() if n.startswith(_VALIDATION)}
        training = {n: v for n, v in numbers.items() if n not in validation}
        for group, metrics in (("training", training), ("validation", validation)):
            if metrics:
                self._report(group, metrics)
        if (self.params or {}).get("epochs"):
            self._core.train.report_progress(min(1.0, self._epochs / self.params["epochs"]))
        if self._period and self._epochs % self._period == 0:
            self._save()

    def _report(self, group: str, metrics: dict[str, float]) -> None:
        """Reports the metrics of an epoch."""
        self._core.train.report_metrics(group, self._steps, {**metrics, "epochs": self._epochs})

    def on_train_end(self, logs: Mapping[str, SupportsFloat] | None = None) -> None:
        """Saves the last checkpoint.

        Args:
            logs: Ignored.
        """
        if not self._interrupted:
            self._save()

    def _save(self) -> None:
        if self._saved_at == self._steps:
            return
        self._saved_at = self._steps
        metadata = {**self._user_data, "steps_completed": self._steps, "framework": "keras"}
        with self._core.checkpoint.store_path(metadata) as (path, _):
            self.model.save_weights(str(path / _WEIGHTS))
            path.joinpath(_POSITION).write_text(json.dumps(self._position()), encoding="utf-8")
            model = _describe_model(self.model)
            if model is not None:
                path.joinpath(_MODEL).write_text(model, encoding="utf-8")


def _numbers(logs: Mapping[str, SupportsFloat] | None) -> dict[str, float]:
    return {name: float(value) for name, value in (logs or {}).items()}


def _describe_model(model: keras.Model) -> str | None:
    """Returns the layers of a model as JSON; None if its class is defined by the script."""
    try:
        return str(model.to_json())
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None


def load_model_from_checkpoint_path(
    path: str | pathlib.Path, custom_objects: dict[str, object] | None = None
) -> keras.Model:
    """Loads the model of a checkpoint, with its weights. Call compile() to train it further.

    Args:
        path: A directory with the files of the checkpoint.
        custom_objects: Layers and functions of the script, by their names in the model.

    Returns:
        The model.

    Raises:
        CheckpointError: A callback of det.keras did not save the files, or the class of the model
            is defined by the script.
    """
    folder = pathlib.Path(path)
    if not (folder / _WEIGHTS).exists():
        raise CheckpointError(
            f"{folder} has no {_WEIGHTS}: a callback of det.keras did not save this checkpoint"
        )
    if not (folder / _MODEL).exists():
        raise CheckpointError(
            f"{folder} has no {_MODEL}, because the script defines the class of the model: create the "
            f"model and call its load_weights({str(folder / _WEIGHTS)!r})"
        )
    text = (folder / _MODEL).read_text(encoding="utf-8")
    model = keras.models.model_from_json(text, custom_objects=custom_objects)
    model.load_weights(str(folder / _WEIGHTS))
    return model
