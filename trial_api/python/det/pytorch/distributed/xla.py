"""Slots that are TPUs (DET_SLOT_TYPE is tpu), through torch_xla of the task's environment."""

from __future__ import annotations

import importlib
from typing import Callable, cast

import torch

TPU_SLOT_TYPE = "tpu"
_BACKEND = "xla"


def choose_tpu() -> torch.device:
    """Returns the TPU core of this process.

    Raises:
        RuntimeError: If torch_xla is not installed, or finds no TPU.
    """
    try:
        device = _get_function("device", "xla_device")()
    except ImportError as error:
        raise RuntimeError(
            f"the slots of this task are TPUs (DET_SLOT_TYPE is {TPU_SLOT_TYPE}), which torch uses "
            f"through torch_xla, and that cannot be imported ({error}): install the torch_xla for "
            f"torch {torch.__version__} in the task's environment"
        ) from error
    except RuntimeError as error:
        raise RuntimeError(
            f"the slots of this task are TPUs (DET_SLOT_TYPE is {TPU_SLOT_TYPE}) and torch_xla finds "
            f"none ({error}): check PJRT_DEVICE, and that the container has access to the node's TPU"
        ) from error
    return cast(torch.device, device)


def import_xla_backend() -> str:
    """Registers the backend of torch.distributed for TPUs, and returns its name."""
    importlib.import_module("torch_xla.distributed.xla_backend")
    return _BACKEND


def mark_step(device: torch.device) -> None:
    """Executes the operations that the batch has recorded on a TPU.

    Otherwise the recorded graph would grow from batch to batch. Does nothing on other devices.
    """
    if device.type == _BACKEND:
        _get_function("sync", "mark_step")()


def _get_function(name: str, older_name: str) -> Callable[[], object]:
    """Returns a function of torch_xla, which before 2.4 had another name in one of its modules."""
    found: Callable[[], object] | None
    found = getattr(importlib.import_module("torch_xla"), name, None)
    if found is None:
        found = getattr(importlib.import_module("torch_xla.core.xla_model"), older_name)
    return found
