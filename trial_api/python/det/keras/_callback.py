"""Reports what Keras' fit() logs, saves the model after epochs, stops when preempted.

Needs Keras, alone or of TensorFlow, which the training script has. One process.
"""

from __future__ import annotations

import json
import pathlib
import tempfile
from collections.abc import Mapping
from typing import Any

from det._errors import CheckpointError

try:
    import keras
except ImportError:
    from tensorflow import keras

_VALIDATION = "val_"
_WEIGHTS, _POSITION, _MODEL = "model.weights.h5", "position.json", "model.json"


class DetCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """For `callbacks=` of fit(), with `initial_epoch=callback.initial_epoch`.

    Where the trial has a checkpoint, the model, which must be built, gets its weights before the
    first batch. Of another trial's (a warm start) training counts from 0. A preempted run stops
    after the batch; the next one goes on after the last epoch that was saved. Of the optimizer is
    saved what Keras' save_weights() writes.

    Args:
        core_context: of det.core.init().
        checkpoint_epochs: saved after so many epochs, and at the end; 0: at the end only.
        user_data: goes into the checkpoints' metadata.
    """

    def __init__(
        self,
        core_context: Any,
        checkpoint_epochs: int = 1,
        user_data: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if core_context.distributed.size > 1:
            raise ValueError("det.keras trains in one process: set resources.slots_per_trial to 1")
        if checkpoint_epochs < 0:
            raise ValueError(f"checkpoint_epochs is {checkpoint_epochs}: must be 0 or more")
        self._core = core_context
        self._period, self._user_data = checkpoint_epochs, dict(user_data or {})
        self._folder = self._restored(self._latest())
        self._cut = False  # Preempted within an epoch.
        self.initial_epoch = self._epochs = self._steps = self._saved_at = 0
        if self._folder is None:
            return
        told = json.loads(self._folder.joinpath(_POSITION).read_text(encoding="utf-8"))
        if self._continues(told):
            self._steps = self._saved_at = int(told["steps"])
            self.initial_epoch = self._epochs = int(told["epochs"])

    def _latest(self) -> str | None:
        """The checkpoint to start from."""
        newest: str | None = self._core.checkpoint.newest_whole()
        return newest

    def _continues(self, told: dict[str, Any]) -> bool:
        """Whether training goes on where that checkpoint was, whose position this is."""
        info = self._core.info
        return info is None or info.trial is None or not info.trial.warm_start

    def _position(self) -> dict[str, Any]:
        return {"epochs": self._epochs, "steps": self._steps}

    def _restored(self, latest: str | None) -> pathlib.Path | None:
        if latest is None:
            return None
        folder = pathlib.Path(tempfile.mkdtemp(prefix=".restored-", dir="."))
        self._core.checkpoint.download(latest, str(folder))
        return folder

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        if self._folder is not None:
            self.model.load_weights(str(self._folder / _WEIGHTS))

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        self._steps += 1
        if self._core.preempt.should_preempt():
            self.model.stop_training = True
            self._cut = batch + 1 != (self.params or {}).get("steps")

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Names that begin with "val_" are validation's metrics, the others training's. An epoch
        that preemption cut short is neither reported nor saved: it is trained again.
        """
        if self._cut:
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
        """What an epoch has logged."""
        self._core.train.report_metrics(group, self._steps, {**metrics, "epochs": self._epochs})

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        if not self._cut:
            self._save()

    def _save(self) -> None:
        if self._saved_at == self._steps:
            return
        self._saved_at = self._steps
        metadata = {**self._user_data, "steps_completed": self._steps, "framework": "keras"}
        with self._core.checkpoint.store_path(metadata) as (path, _):
            self.model.save_weights(str(path / _WEIGHTS))
            path.joinpath(_POSITION).write_text(json.dumps(self._position()), encoding="utf-8")
            model = _described(self.model)
            if model is not None:
                path.joinpath(_MODEL).write_text(model, encoding="utf-8")


def _numbers(logs: Mapping[str, Any] | None) -> dict[str, float]:
    return {name: float(value) for name, value in (logs or {}).items()}


def _described(model: Any) -> str | None:
    """Its layers as JSON; None of a model that is a class of the script's own."""
    try:
        return str(model.to_json())
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None


def load_model_from_checkpoint_path(
    path: str | pathlib.Path, custom_objects: dict[str, Any] | None = None
) -> Any:
    """The model of a checkpoint, with its weights; compile() it to train it further.

    Args:
        path: a folder with the checkpoint's files.
        custom_objects: layers and functions of the script's own, by the names in the model.

    Raises:
        CheckpointError: the files are no such checkpoint, or the model is a class of the script's own.
    """
    folder = pathlib.Path(path)
    if not (folder / _WEIGHTS).exists():
        raise CheckpointError(
            f"{folder} has no {_WEIGHTS}: no checkpoint of a callback of det.keras"
        )
    if not (folder / _MODEL).exists():
        raise CheckpointError(
            f"{folder} has no {_MODEL}, as its model is a class of the script's own: make one and call "
            f"its load_weights({str(folder / _WEIGHTS)!r})"
        )
    text = (folder / _MODEL).read_text(encoding="utf-8")
    model = keras.models.model_from_json(text, custom_objects=custom_objects)
    model.load_weights(str(folder / _WEIGHTS))
    return model
