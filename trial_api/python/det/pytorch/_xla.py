"""Slots that are TPUs (DET_SLOT_TYPE is tpu), through torch_xla, which the task's environment has."""

from __future__ import annotations

import importlib
from typing import Any

import torch

SLOTS = "tpu"
_BACKEND = "xla"


def choose_device() -> torch.device:
    """This process' TPU core.

    Raises:
        RuntimeError: torch_xla is not there, or finds none.
    """
    try:
        device: torch.device = _newest("device", "xla_device")()
    except ImportError as error:
        raise RuntimeError(
            f"the slots of this task are TPUs (DET_SLOT_TYPE is {SLOTS}), which torch uses through "
            f"torch_xla, and that cannot be imported ({error}): install the one of torch "
            f"{torch.__version__} where the task runs"
        ) from error
    except RuntimeError as error:
        raise RuntimeError(
            f"the slots of this task are TPUs (DET_SLOT_TYPE is {SLOTS}) and torch_xla finds none "
            f"({error}): see PJRT_DEVICE, and that the container has the node's TPU"
        ) from error
    return device


def backend() -> str:
    """Of torch.distributed between TPUs."""
    importlib.import_module("torch_xla.distributed.xla_backend")  # Makes it known.
    return _BACKEND


def end_batch(device: torch.device) -> None:
    """What a batch has asked of a TPU is computed now; else it would grow from batch to batch."""
    if device.type == _BACKEND:
        _newest("sync", "mark_step")()


def _newest(name: str, older: str) -> Any:
    """A function of torch_xla, which before 2.4 had it under another name in one of its modules."""
    found = getattr(importlib.import_module("torch_xla"), name, None)
    return found or getattr(importlib.import_module("torch_xla.core.xla_model"), older)
