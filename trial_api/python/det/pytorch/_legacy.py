"""Checkpoints that Determined wrote: state_dict.pth, by torch.save."""

from __future__ import annotations

import inspect
import os
import pathlib
from typing import Any, Dict, List

import torch

from det._errors import CheckpointError

_PLACES = ("state_dict.pth", "determined/state_dict.pth", "pedl/state_dict.pth", "checkpoint.pt")
_TRUST = "DET_TRUST_PICKLE"


def read(folder: pathlib.Path) -> Dict[str, Any]:
    """Its state: models, optimizers, schedules, callbacks.

    Raises:
        CheckpointError: there is none, or reading it would run code and nobody said that it may.
    """
    for place in _PLACES:
        if (folder / place).exists():
            state = dict(_load(folder / place))
            break
    else:
        raise CheckpointError(f"{folder} holds no checkpoint of a PyTorchTrial")
    if "model_state_dict" in state:  # Of the oldest, with one model.
        state["models_state_dict"] = [state.pop("model_state_dict")]
        state["optimizers_state_dict"] = [state.pop("optimizer_state_dict")]
    state["models_state_dict"] = [without_prefix(model) for model in state["models_state_dict"]]
    state.setdefault("optimizers_state_dict", [])
    return state


def _load(path: pathlib.Path) -> Any:
    if os.environ.get(_TRUST) == "1":
        trusting = {"weights_only": False} if _knows_weights_only() else {}
        return torch.load(path, map_location="cpu", **trusting)
    why = "weights_only is safe from torch 2.6 on: CVE-2025-32434"
    for allowed in _of_numpy() if _weights_only_is_safe() else []:
        try:
            with torch.serialization.safe_globals(allowed):  # type: ignore[attr-defined]
                return torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # Torch says it in many ways.
            why = str(error)
    raise CheckpointError(
        f"{path} needs Python's pickle, which can run code: set {_TRUST}=1 if you trust it ({why})"
    )


def _of_numpy() -> List[List[Any]]:
    """What makes arrays and numbers of numpy, which these files have of its random generator: first
    under the names of every numpy, then, for a torch that takes no names, under today's."""
    try:
        import numpy
    except ImportError:
        return [[]]
    core: Any = getattr(numpy, "_core", None) or numpy.core
    makers = [core.multiarray._reconstruct, core.multiarray.scalar]
    kinds = {type(numpy.dtype(code)) for code in numpy.typecodes["All"] if code not in "OV"}
    others = [numpy.ndarray, numpy.dtype, *kinds]
    packages = ("numpy.core.multiarray", "numpy._core.multiarray")
    named = [(maker, f"{package}.{maker.__name__}") for maker in makers for package in packages]
    return [[*named, *others], [*makers, *others]]


def _knows_weights_only() -> bool:
    return "weights_only" in inspect.signature(torch.load).parameters


def _weights_only_is_safe() -> bool:
    """Before, a file could run code in spite of it."""
    major, minor = torch.__version__.split(".")[:2]
    return (int(major), int(minor)) >= (2, 6)


def without_prefix(state: Dict[str, Any]) -> Dict[str, Any]:
    """Without the "module." that DistributedDataParallel puts in front of all names."""
    if state and all(name.startswith("module.") for name in state):
        return {name[len("module.") :]: value for name, value in state.items()}
    return state
