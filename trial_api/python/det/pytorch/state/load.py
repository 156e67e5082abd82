"""Loads a trained Trial from the files of a checkpoint."""

from __future__ import annotations

import contextlib
import importlib
import json
import pathlib
import sys
from collections.abc import Iterator
from typing import cast

from det import core
from det._errors import CheckpointError
from det.core._context import off_cluster
from det.pytorch.distributed.device import choose_device
from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.state.checkpoint import read_checkpoint, restore_weights
from det.pytorch.trial.context import PyTorchTrialContext
from det.pytorch.trial.trial import PyTorchTrial
from det.pytorch.utilities.types import Arguments


def load_trial_from_checkpoint_path(
    path: str | pathlib.Path,
    trial_class: type[PyTorchTrial] | None = None,
    trial_kwargs: Arguments | None = None,
    torch_load_kwargs: Arguments | None = None,
    **kwargs: object,
) -> PyTorchTrial:
    """Creates the Trial of a checkpoint with its weights, on one slot.

    Example:
        >>> trial = load_trial_from_checkpoint_path("checkpoints/1f6c...")
        >>> prediction = trial.model(batch)

    Args:
        path: A folder with the files of the checkpoint.
        trial_class: The class of the Trial. None imports it from the code in the checkpoint, which
            is executed.
        trial_kwargs: Keyword arguments for its constructor, in addition to the context.
        torch_load_kwargs: Unused; scripts for Determined pass arguments of torch.load().
        **kwargs: Unused, for the same reason.

    Returns:
        The Trial. The models that it wrapped have the weights of the checkpoint.

    Raises:
        CheckpointError: If the files are not a checkpoint of a PyTorchTrial, do not fit the class,
            or contain a pickle and $DET_TRUST_PICKLE is not 1.
        DamagedFileError: If a file is damaged. It is a ValueError.
    """
    folder = pathlib.Path(path)
    if not (folder / "load_data.json").exists():
        raise CheckpointError(
            f"{folder} is not a checkpoint of a PyTorchTrial: it has no load_data.json"
        )
    load_data = json.loads((folder / "load_data.json").read_text(encoding="utf-8"))
    if load_data.get("trial_type") == "DeepSpeedTrial":
        raise CheckpointError(
            f"{folder} is a checkpoint of a DeepSpeedTrial, whose engines load it: create them, and "
            f"call load_checkpoint({str(folder)!r}, tag='model0')"
        )
    if trial_class is None:
        trial_class = _import_class(folder, str(load_data["trial_cls_spec"]))
    context = PyTorchTrialContext(
        # Also inside a task, whose own context is open at the same time and saves checkpoints.
        off_cluster(
            None,
            core.DistributedContext.single(),
            None,
            core.PreemptMode.ChiefOnly,
            core.TensorboardMode.MANUAL,
        ),
        hparams=load_data["hparams"],
        exp_conf=load_data["experiment_config"] or {},
        trial_seed=0,
        process_group=ProcessGroup(single=True),
        device=choose_device(),
    )
    trial = trial_class(context, **(trial_kwargs or {}))
    state = read_checkpoint(folder)
    state["optimizers_state_dict"] = [o.state_dict() for o in context.optimizers]
    restore_weights(state, context, f"checkpoint {folder}")
    return trial


def _import_class(folder: pathlib.Path, spec: str) -> type[PyTorchTrial]:
    module, _, name = spec.partition(":")
    if module == "__main__":
        raise CheckpointError(
            f"{folder}: the Trial was defined in a script; pass its class as trial_class"
        )
    with _import_path(folder / "code"):
        try:
            found: object = importlib.import_module(module)
        except ImportError as error:
            raise CheckpointError(
                f"{folder}: cannot import module {module} of the Trial ({error}); pass its class as "
                "trial_class"
            ) from error
    for part in name.split("."):
        found = getattr(found, part)
    return cast("type[PyTorchTrial]", found)


@contextlib.contextmanager
def _import_path(folder: pathlib.Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
