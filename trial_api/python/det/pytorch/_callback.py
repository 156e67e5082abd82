"""Where a user's code is called beside training."""

from __future__ import annotations

import difflib
import inspect
import sys
from typing import Any, Dict, List, Mapping, Optional


class PyTorchCallback:
    """Override what is wanted. Called on the training thread of every rank, in the order of the
    names that build_callbacks() gives, unless it is said to be on the chief only.

    What state_dict() gives is in the checkpoints: numbers, strings, containers and tensors.
    """

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: Optional[str]) -> None:
        """Before the data loaders are built. From which batch it trains, by which checkpoint."""

    def on_trial_shutdown(self) -> None:
        """At the very end, also after an error."""

    def on_training_start(self) -> None:
        """After the checkpoint is loaded, before the first batch."""

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        """Before an epoch's first batch; not where training resumes in mid-epoch."""

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        """After an epoch's last batch."""

    def on_training_workload_end(
        self, avg_metrics: Dict[str, Any], batch_metrics: List[Dict[str, Any]]
    ) -> None:
        """When training's metrics are reported: their means over all ranks, and those of each batch
        of this rank since the last report; in a run that resumed on fewer ranks, also of the ranks that
        it took over."""

    def on_validation_start(self) -> None:
        """Before a validation."""

    def on_validation_end(self, metrics: Dict[str, Any]) -> None:
        """After a validation, with its metrics."""

    def on_validation_epoch_start(self) -> None:
        """Before the validation data is read."""

    def on_validation_epoch_end(self, outputs: List[Any]) -> None:
        """After the validation data is read, with what evaluate_batch() gave on this rank."""

    def on_checkpoint_load_start(self, checkpoint: Optional[Dict[str, Any]]) -> None:
        """Before the state is loaded, which may be changed."""

    def on_checkpoint_save_start(self, checkpoint: Dict[str, Any]) -> None:
        """Before the state is copied, to which may be added. Chief only."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """The older name of on_checkpoint_write_end(). Chief only."""

    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        """After a checkpoint's files are written and before they are stored: what is put there is
        stored, too. Chief only, on the thread that saves, beside training."""

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        """After a checkpoint is stored. Chief only."""

    def state_dict(self) -> Dict[str, Any]:
        return {}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        pass


_MOMENTS = [name for name in dir(PyTorchCallback) if name.startswith("on_")]


def _unheard(callback: PyTorchCallback) -> List[str]:
    """Methods that are named as if they were called, and are not."""
    return [m for m in dir(type(callback)) if m.startswith("on_") and m not in _MOMENTS]


class Callbacks:
    """Those of a Trial, called by the name of the moment."""

    def __init__(self, named: Dict[str, PyTorchCallback], warns: bool = False) -> None:
        """warns: of what looks as if it were called, and is not."""
        if not isinstance(named, Mapping):
            raise TypeError(
                f"build_callbacks() returned a {type(named).__name__}: return callbacks by name, for "
                "example {'mine': MyCallback()}"
            )
        for name, callback in named.items():
            if not isinstance(callback, PyTorchCallback):
                raise TypeError(f"build_callbacks(): {name!r} is no det.pytorch.PyTorchCallback")
            for method in _unheard(callback) if warns else ():
                [near] = difflib.get_close_matches(method, _MOMENTS, 1, cutoff=0)
                print(
                    f"WARNING: nothing calls {method}() of the callback {name!r}; there is {near}()",
                    file=sys.stderr,
                    flush=True,
                )
        self.named = named

    def call(self, moment: str, *arguments: Any) -> None:
        for callback in self.named.values():
            method = getattr(callback, moment)
            if moment == "on_training_epoch_start" and not inspect.signature(method).parameters:
                method()  # As older code has it.
            else:
                method(*arguments)

    def hear(self, moment: str) -> bool:
        """Whether any of them has a method of its own for it."""
        default = getattr(PyTorchCallback, moment)
        return any(getattr(type(one), moment) is not default for one in self.named.values())

    def state_dict(self) -> Dict[str, Any]:
        return {name: callback.state_dict() for name, callback in self.named.items()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        for name, callback in self.named.items():
            if name in state:
                callback.load_state_dict(state[name])
