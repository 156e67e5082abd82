"""`optimizations.gradient_compression`: gradients are sent in fewer bits."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from det.pytorch.strategies.comm_hooks import (
    bfloat16_allgather_hook,
    bfloat16_allreduce_hook,
    int8_hook,
)
from det.pytorch.strategies.error_feedback import ErrorFeedback
from det.pytorch.utilities.types import Scaler

# Attributes of a wrapped model: whether a communication hook is registered, and the rounding errors.
_COMPRESSED, _FEEDBACK = "_det_compressed", "_det_feedback"


def compress_gradients(model: DistributedDataParallel, format_: str, device: torch.device) -> None:
    """Registers the communication hook of a format, before the first batch. Collective.

    torch accepts one hook, so only the first call with another format than "none" has an effect.

    Args:
        model: The wrapped model.
        format_: One of COMPRESSION_FORMATS.
        device: The slot's device.

    Raises:
        ValueError: If gradients are weighted, or the backend cannot add the format in a hierarchy.
    """
    if format_ == "none" or getattr(model, _COMPRESSED, False):
        return
    if getattr(model, "_det_weighted", False):
        raise ValueError(
            "gradients of nodes with different numbers of slots are weighted and cannot be compressed: "
            "remove fp16_compression from wrap_optimizer()"
        )
    hierarchy = getattr(model, "_det_hierarchy", None)
    can_add = format_ != "bfloat16" or _can_add_bfloat16(device)
    if hierarchy is not None and not can_add:
        raise ValueError(
            "optimizations.hierarchical_allreduce adds gradients in transit, and the backend "
            f"{dist.get_backend()} of this torch cannot add bfloat16: choose float16"
        )
    if hierarchy is not None:
        hierarchy.dtype = torch.float16 if format_ == "float16" else torch.bfloat16
    elif format_ == "float16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif format_ == "bfloat16" and not can_add:
        model.register_comm_hook(None, bfloat16_allgather_hook)
    elif format_ == "bfloat16":
        model.register_comm_hook(None, bfloat16_allreduce_hook)
    elif format_ == "int8":
        feedback = ErrorFeedback()
        setattr(model, _FEEDBACK, feedback)
        model.register_comm_hook(feedback, int8_hook)
    setattr(model, _COMPRESSED, True)


def _can_add_bfloat16(device: torch.device) -> bool:
    """Returns whether the backend can; Gloo of torch 1.13 cannot."""
    try:
        dist.all_reduce(torch.zeros(1, dtype=torch.bfloat16, device=device))
    except RuntimeError:
        return False
    return True


def get_error_feedback(model: torch.nn.Module) -> ErrorFeedback | None:
    """Returns the rounding errors of a model; None if its gradients are not sent as int8."""
    # Faster than getattr() of a Module, which matters in each batch.
    feedback: ErrorFeedback | None = model.__dict__.get(_FEEDBACK)
    return feedback


def rescale_error_feedback(models: Sequence[torch.nn.Module], scaler: Scaler | None) -> None:
    """Adapts the errors of all models to the loss scale, before a batch and before a checkpoint.

    Args:
        models: The wrapped models.
        scaler: The GradScaler of the loss, or None.
    """
    feedbacks = [feedback for feedback in map(get_error_feedback, models) if feedback is not None]
    if scaler is None or not feedbacks:
        return  # get_scale() would wait for the GPU.
    scale = float(scaler.get_scale())
    for feedback in feedbacks:
        feedback.rescale(scale)
