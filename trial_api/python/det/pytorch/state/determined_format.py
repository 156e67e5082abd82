"""Reads checkpoints that Determined wrote: state_dict.pth, by torch.save()."""

from __future__ import annotations

import inspect
import os
import pathlib
from types import ModuleType
from typing import Callable

import torch

from det._errors import CheckpointError
from det.pytorch.utilities.types import StateDict, StateTree

_PLACES = ("state_dict.pth", "determined/state_dict.pth", "pedl/state_dict.pth", "checkpoint.pt")
_TRUST_VARIABLE = "DET_TRUST_PICKLE"


def read_determined_checkpoint(folder: pathlib.Path) -> StateDict:
    """Returns the state of models, optimizers, schedules and callbacks.

    Raises:
        CheckpointError: If there is no such file, or reading it could run code and
            $DET_TRUST_PICKLE is not 1.
    """
    for place in _PLACES:
        if (folder / place).exists():
            state = dict(_load(folder / place))
            break
    else:
        raise CheckpointError(f"{folder} is not a checkpoint of a PyTorchTrial")
    if "model_state_dict" in state:  # The oldest versions supported one model.
        state["models_state_dict"] = [state.pop("model_state_dict")]
        state["optimizers_state_dict"] = [state.pop("optimizer_state_dict")]
    state["models_state_dict"] = [
        strip_module_prefix(model) for model in state["models_state_dict"]
    ]
    state.setdefault("optimizers_state_dict", [])
    return state


def _load(path: pathlib.Path) -> StateTree:
    load: Callable[..., StateTree] = torch.load  # Its arguments differ between versions.
    if os.environ.get(_TRUST_VARIABLE) == "1":
        trusting = {"weights_only": False} if _supports_weights_only() else {}
        return load(path, map_location="cpu", **trusting)
    reason = "weights_only is safe from torch 2.6 on: CVE-2025-32434"
    for allowed in _list_numpy_globals() if _is_weights_only_safe() else []:
        try:
            serialization: ModuleType = torch.serialization
            with serialization.safe_globals(allowed):
                return load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # torch raises several types.
            reason = str(error)
    raise CheckpointError(
        f"{path} needs Python's pickle, which can run code: set {_TRUST_VARIABLE}=1 if you trust it "
        f"({reason})"
    )


def _list_numpy_globals() -> list[list[object]]:
    """Returns what creates NumPy arrays and scalars, which these files have for its random state.

    Returns:
        Two alternatives for safe_globals(): with the module names of every version of NumPy, and
        for a torch that does not accept names, with the objects only.
    """
    try:
        import numpy
    except ImportError:
        return [[]]
    core: ModuleType = getattr(numpy, "_core", None) or numpy.core
    functions = [core.multiarray._reconstruct, core.multiarray.scalar]
    typecodes: str = numpy.typecodes["All"]
    dtypes = {type(numpy.dtype(code)) for code in typecodes if code not in "OV"}
    others: list[object] = [numpy.ndarray, numpy.dtype, *dtypes]
    packages = ("numpy.core.multiarray", "numpy._core.multiarray")
    named = [(one, f"{package}.{one.__name__}") for one in functions for package in packages]
    return [[*named, *others], [*functions, *others]]


def _supports_weights_only() -> bool:
    return "weights_only" in inspect.signature(torch.load).parameters


def _is_weights_only_safe() -> bool:
    """Returns whether weights_only prevents a file from running code."""
    major, minor = torch.__version__.split(".")[:2]
    return (int(major), int(minor)) >= (2, 6)


def strip_module_prefix(state: StateDict) -> StateDict:
    """Removes the "module." that DistributedDataParallel puts before all names."""
    if state and all(name.startswith("module.") for name in state):
        return {name[len("module.") :]: value for name, value in state.items()}
    return state
