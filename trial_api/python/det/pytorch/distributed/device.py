"""Selects the device of this process."""

from __future__ import annotations

import os

import torch

from det.pytorch.distributed import xla


def choose_device() -> torch.device:
    """Returns the slot's device: a GPU if torch sees one, unless the slots are CPU cores or TPUs.

    Raises:
        RuntimeError: If the slots are GPUs or TPUs ($DET_SLOT_TYPE) and torch sees none.
    """
    slot_type = os.environ.get("DET_SLOT_TYPE")
    if slot_type == xla.TPU_SLOT_TYPE:
        return xla.choose_tpu()
    if slot_type == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        if (
            slot_type
        ):  # Training on the CPU instead would be silently slower by orders of magnitude.
            raise RuntimeError(_explain_missing_gpu(slot_type))
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK") or 0))
    torch.cuda.set_device(device)
    return device


def _explain_missing_gpu(slot_type: str) -> str:
    name, variable, library = "CUDA", "CUDA_VISIBLE_DEVICES", torch.version.cuda
    if slot_type == "rocm":
        name, variable, library = "ROCm", "ROCR_VISIBLE_DEVICES", torch.version.hip
    if library is None:
        reason = f"is built without {name}: install a build with {name} in the task's environment"
    else:
        reason = (
            f"is built for {name} {library} ({variable} is {os.environ.get(variable)!r}): check that "
            "the driver of the node, and the container if there is one, support this version"
        )
    return (
        f"the slots of this task are GPUs (DET_SLOT_TYPE is {slot_type}) and torch sees none. torch "
        f"{torch.__version__} {reason}. To train on the CPU, choose a resource pool whose slots are "
        'CPU cores, or set os.environ["DET_SLOT_TYPE"] = "cpu" at the beginning of the script'
    )
