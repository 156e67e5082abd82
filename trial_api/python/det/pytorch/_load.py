"""A trained Trial from the files of its checkpoint."""

from __future__ import annotations

import contextlib
import importlib
import json
import pathlib
import sys
from typing import Any, Dict, Iterator, Optional, Type, Union

from det import core
from det._errors import CheckpointError
from det.core._context import off_cluster
from det.pytorch import _ranks, _state
from det.pytorch._context import PyTorchTrialContext
from det.pytorch._trial import PyTorchTrial


def load_trial_from_checkpoint_path(
    path: Union[str, pathlib.Path],
    trial_class: Optional[Type[PyTorchTrial]] = None,
    trial_kwargs: Optional[Dict[str, Any]] = None,
    torch_load_kwargs: Optional[Dict[str, Any]] = None,
    **kwargs: Any,
) -> PyTorchTrial:
    """The Trial of a checkpoint, with its weights, on one slot.

    Args:
        path: a folder with the checkpoint's files.
        trial_class: None: that of the code in the checkpoint, which is run.
        trial_kwargs: for its constructor, besides the context.
        torch_load_kwargs, kwargs: of torch.load, which is not used; for code that has them.

    Raises:
        CheckpointError: the files are no such checkpoint, or do not fit the class.
    """
    folder = pathlib.Path(path)
    if not (folder / "load_data.json").exists():
        raise CheckpointError(f"{folder} has no load_data.json: no checkpoint of a PyTorchTrial")
    told = json.loads((folder / "load_data.json").read_text(encoding="utf-8"))
    if told.get("trial_type") == "DeepSpeedTrial":
        raise CheckpointError(
            f"{folder} is of a DeepSpeedTrial, whose engines load it: make them, and call "
            f"load_checkpoint({str(folder)!r}, tag='model0')"
        )
    if trial_class is None:
        trial_class = _find_class(folder, str(told["trial_cls_spec"]))
    context = PyTorchTrialContext(
        # In a task, too: its own context is open beside this one, and saves checkpoints.
        off_cluster(
            None,
            core.DistributedContext.single(),
            None,
            core.PreemptMode.ChiefOnly,
            core.TensorboardMode.MANUAL,
        ),
        hparams=told["hparams"],
        exp_conf=told["experiment_config"] or {},
        trial_seed=0,
        ranks=_ranks.Ranks(alone=True),
        device=_ranks.choose_device(),
    )
    trial = trial_class(context, **(trial_kwargs or {}))
    state = _state.read(folder)
    state["optimizers_state_dict"] = [o.state_dict() for o in context.optimizers]
    _state.restore_weights(state, context, f"checkpoint {folder}")
    return trial


def _find_class(folder: pathlib.Path, spec: str) -> Any:
    module, _, name = spec.partition(":")
    if module == "__main__":
        raise CheckpointError(f"{folder}: the Trial was a script's; give its class as trial_class")
    with _importing_from(folder / "code"):
        try:
            found: Any = importlib.import_module(module)
        except ImportError as error:
            raise CheckpointError(
                f"{folder}: the Trial's module {module} is not found ({error}); give its class as "
                "trial_class"
            ) from error
    for part in name.split("."):
        found = getattr(found, part)
    return found


@contextlib.contextmanager
def _importing_from(folder: pathlib.Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
