"""PyTorchCallback: methods that the training loop calls."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Mapping

from det.pytorch.utilities.types import MetricDict, StateDict


class PyTorchCallback:
    """The base class of callbacks. Override the methods that you need.

    A Trial returns callbacks by name from build_callbacks(). Unless the method says otherwise, it
    is called on the training thread of every rank, in the order of the names.

    Example:
        >>> class LearningRateLogger(PyTorchCallback):
        ...     def __init__(self, optimizer):
        ...         self.optimizer = optimizer
        ...     def on_training_epoch_start(self, epoch_idx):
        ...         print(epoch_idx, self.optimizer.param_groups[0]["lr"])
    """

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: str | None) -> None:
        """Called before the data loaders are built.

        Args:
            first_batch_idx: The first batch of this attempt, counted from 0 over all epochs.
            checkpoint_uuid: The checkpoint from which it starts, or None.
        """

    def on_trial_shutdown(self) -> None:
        """Called at the very end, also after an error."""

    def on_training_start(self) -> None:
        """Called after the checkpoint is loaded, and before the first batch."""

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        """Called before the first batch of an epoch, but not if training resumes inside it.

        Args:
            epoch_idx: The index of the epoch, from 0.
        """

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        """Called after the last batch of an epoch.

        Args:
            epoch_idx: The index of the epoch, from 0.
        """

    def on_training_workload_end(
        self, avg_metrics: MetricDict, batch_metrics: list[MetricDict]
    ) -> None:
        """Called after training metrics are reported.

        Args:
            avg_metrics: The means over the batches of all ranks since the last report, as floats,
                the trained length as `batches`, `epochs` and `records`, and the metrics of
                reducers; tensors among those are arrays of NumPy.
            batch_metrics: The metrics of each batch of this rank since the last report, with
                tensors as arrays of NumPy of the same shape and type (bfloat16 as float32). In a
                run that resumed on fewer ranks, also those of the ranks that it replaces.
        """

    def on_validation_start(self) -> None:
        """Called before a validation."""

    def on_validation_end(self, metrics: MetricDict) -> None:
        """Called after a validation.

        Args:
            metrics: The validation metrics by name; the same on every rank. Numbers are scalars of
                NumPy, and tensors arrays. What the callback changes is reported.
        """

    def on_validation_epoch_start(self) -> None:
        """Called before the validation data is read. Not with evaluate_full_dataset()."""

    def on_validation_epoch_end(self, outputs: list[MetricDict]) -> None:
        """Called after the validation data is read. Not with evaluate_full_dataset().

        Args:
            outputs: What evaluate_batch() returned for each batch of this rank, with tensors as
                arrays of NumPy of the same shape and type (bfloat16 as float32).
        """

    def on_checkpoint_load_start(self, checkpoint: StateDict | None) -> None:
        """Called before the state of a checkpoint is loaded.

        Args:
            checkpoint: The state: models_state_dict, optimizers_state_dict, callbacks and more. It
                may be changed.
        """

    def on_checkpoint_save_start(self, checkpoint: StateDict) -> None:
        """Called before the state is copied for a checkpoint. Chief only.

        A Trial with this method makes the chief gather and write the complete optimizer state.

        Args:
            checkpoint: The state: models_state_dict, optimizers_state_dict, callbacks and more.
                Numbers, strings, containers and tensors may be added.
        """

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """The older name of on_checkpoint_write_end(). Chief only."""

    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        """Called after the files of a checkpoint are written, and before they are stored.

        Chief only, on the thread that saves, while training continues.

        Args:
            checkpoint_dir: The folder with the files. Files that are added are stored, too.
        """

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        """Called after a checkpoint is stored. Chief only.

        Args:
            uuid: The UUID of the checkpoint.
        """

    def state_dict(self) -> StateDict:
        """Returns the state for checkpoints: numbers, strings, containers and tensors."""
        return {}

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Restores the state.

        Args:
            state_dict: What state_dict() returned when the checkpoint was saved.
        """


_METHODS = [name for name in dir(PyTorchCallback) if name.startswith("on_")]


def _list_unknown_methods(callback: PyTorchCallback) -> list[str]:
    """Returns the names of methods on_*() that are never called."""
    return [name for name in dir(type(callback)) if name.startswith("on_") and name not in _METHODS]


class CallbackList:
    """The callbacks of a Trial.

    Attributes:
        named: The callbacks by name.
    """

    def __init__(self, named: dict[str, PyTorchCallback], warn: bool = False) -> None:
        """Wraps the callbacks.

        Args:
            named: What build_callbacks() returned.
            warn: Whether to warn about methods on_*() that are never called.

        Raises:
            TypeError: If build_callbacks() did not return a dict of PyTorchCallback.
        """
        if not isinstance(named, Mapping):
            raise TypeError(
                f"build_callbacks() returned a {type(named).__name__}: return a dict of callbacks by "
                "name, for example {'mine': MyCallback()}"
            )
        for name, callback in named.items():
            if not isinstance(callback, PyTorchCallback):
                raise TypeError(
                    f"build_callbacks() returned a {type(callback).__name__} for {name!r}: return "
                    "objects of det.pytorch.PyTorchCallback"
                )
            for method in _list_unknown_methods(callback) if warn else ():
                [closest] = difflib.get_close_matches(method, _METHODS, 1, cutoff=0)
                print(
                    f"WARNING: {method}() of the callback {name!r} is never called; did you mean "
                    f"{closest}()?",
                    file=sys.stderr,
                    flush=True,
                )
        self.named = named

    def call(self, name: str, *arguments: object) -> None:
        """Calls the method of that name of all callbacks."""
        for callback in self.named.values():
            method = getattr(callback, name)
            if name == "on_training_epoch_start" and not inspect.signature(method).parameters:
                method()  # Older versions had no argument.
            else:
                method(*arguments)

    def implements(self, name: str) -> bool:
        """Returns whether any callback overrides the method of that name."""
        default = getattr(PyTorchCallback, name)
        return any(getattr(type(one), name) is not default for one in self.named.values())

    def state_dict(self) -> StateDict:
        """Returns the states of all callbacks by name."""
        return {name: callback.state_dict() for name, callback in self.named.items()}

    def load_state_dict(self, state: StateDict) -> None:
        """Restores the states of the callbacks that are in `state`."""
        for name, callback in self.named.items():
            if name in state:
                callback.load_state_dict(state[name])
