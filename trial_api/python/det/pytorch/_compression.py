"""Gradients that travel between the ranks in fewer bits: DistributedDataParallel's hooks."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Tuple

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

_LEVELS = 127  # Of a signed byte, on each side of 0.
_SCALE_BYTES = 4


def compress(model: DistributedDataParallel, form: str, device: torch.device) -> None:
    """Before the first batch; `form` is one of _optimizations.FORMATS. A model keeps the first that
    is no "none", as torch takes one hook. Collective. Raises ValueError where the ranks cannot
    exchange it."""
    if form == "none" or getattr(model, "_det_compressed", False):
        return
    if getattr(model, "_det_weighted", False):
        raise ValueError(
            "gradients of nodes with unequal numbers of slots are weighted and cannot be compressed: "
            "leave out fp16_compression of wrap_optimizer()"
        )
    hierarchy = getattr(model, "_det_hierarchy", None)
    adds = form != "bfloat16" or _adds_bfloat16(device)
    if hierarchy is not None and not adds:
        raise ValueError(
            "optimizations.hierarchical_allreduce adds gradients on their way, and the backend "
            f"{dist.get_backend()} of this torch cannot add bfloat16: choose float16"
        )
    if hierarchy is not None:
        hierarchy.form = torch.float16 if form == "float16" else torch.bfloat16
    elif form == "float16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif form == "bfloat16" and not adds:
        model.register_comm_hook(None, gathered_bfloat16_hook)
    elif form == "bfloat16":
        model.register_comm_hook(None, summed_bfloat16_hook)
    elif form == "int8":
        model._det_feedback = ErrorFeedback()
        model.register_comm_hook(model._det_feedback, byte_hook)
    model._det_compressed = True


def _adds_bfloat16(device: torch.device) -> bool:
    """Whether the backend can; Gloo of torch 1.13, which CPU slots have, cannot."""
    try:
        dist.all_reduce(torch.zeros(1, dtype=torch.bfloat16, device=device))
    except RuntimeError:
        return False
    return True


class ErrorFeedback:
    """What this rank's rounding has left out, by parameter; it is added to the next gradient. Never
    more than half a level, of the bucket's greatest number / 127. Checkpoints have it, by rank."""

    def __init__(self) -> None:
        self._left: Dict[torch.Tensor, torch.Tensor] = {}
        self._scale: Optional[float] = None

    def rescale(self, scale: float) -> None:
        """Before a batch whose loss is multiplied by so much: what was left out grows with it."""
        if self._scale is not None and self._scale != scale:
            self._left = {p: left * (scale / self._scale) for p, left in self._left.items()}
        self._scale = scale

    def round(self, bucket: Any) -> Tuple[torch.Tensor, torch.Tensor]:
        """The bucket's gradients in signed bytes, and the float32 that one of them counts."""
        gradients, parameters = bucket.buffer(), bucket.parameters()
        sizes = [parameter.numel() for parameter in parameters]
        parts = gradients.split(sizes)
        for parameter, part in zip(parameters, parts):
            if parameter in self._left:  # By identity, as tensors are keys.
                part.add_(self._left[parameter])
        levels, scale = quantize(gradients)
        left = gradients - dequantize(levels, scale).to(gradients.dtype)
        # A step with infinite gradients is skipped by whoever scales the loss; it leaves nothing.
        left = torch.nan_to_num(left, nan=0.0, posinf=0.0, neginf=0.0)
        for parameter, part in zip(parameters, left.split(sizes)):
            self._left[parameter] = part
        return levels, scale

    def save(self, model: torch.nn.Module) -> List[Optional[torch.Tensor]]:
        """In the order of the model's parameters; None: nothing was left out."""
        return [self._left.get(parameter) for parameter in model.parameters()]

    def add(self, model: torch.nn.Module, left: List[Optional[torch.Tensor]], weight: float) -> None:
        """What save() gave in another process, so much of it."""
        for parameter, part in zip(model.parameters(), left):
            if part is None:
                continue
            part = (part if weight == 1 else part * weight).to(parameter.device)
            known = self._left.get(parameter)
            self._left[parameter] = part if known is None else known + part


def feedback_of(model: torch.nn.Module) -> Optional[ErrorFeedback]:
    """None: its gradients are not sent in bytes."""
    feedback: Optional[ErrorFeedback] = model.__dict__.get("_det_feedback")  # Asked each batch.
    return feedback


def rescale(models: Iterable[torch.nn.Module], scaler: Any) -> None:
    """Before a batch and before a checkpoint. scaler: of the loss, or None."""
    feedbacks = [feedback for feedback in map(feedback_of, models) if feedback is not None]
    if scaler is None or not feedbacks:
        return  # Asking for the scale waits for the GPU.
    scale = float(scaler.get_scale())
    for feedback in feedbacks:
        feedback.rescale(scale)


def quantize(numbers: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """Signed bytes, and the float32 [1] that each of them is to be multiplied with; NaN or infinity
    among the numbers makes that one of them too."""
    tiny = torch.finfo(torch.float32).tiny
    scale = (numbers.abs().max().float() / _LEVELS).clamp(min=tiny).reshape(1)
    levels = torch.nan_to_num(numbers.float() / scale, nan=0.0).round().clamp(-_LEVELS, _LEVELS)
    return levels.to(torch.int8), scale


def dequantize(levels: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return levels.float() * scale


def byte_hook(state, bucket):  # type: ignore[no-untyped-def]
    """(ErrorFeedback, GradBucket) -> Future of the mean; torch refuses annotations that are strings.
    Bytes of different scales cannot be added on the way: each rank gets all and averages."""
    levels, scale = state.round(bucket)
    packet = torch.cat([levels, scale.view(torch.int8)])
    packets = [torch.empty_like(packet) for _ in range(dist.get_world_size())]
    future = dist.all_gather(packets, packet, async_op=True).get_future()

    def average(_: Any) -> torch.Tensor:
        total = torch.zeros(len(levels), device=levels.device)
        for one in packets:  # In the order of the ranks: the same sum on all of them.
            total += dequantize(one[:-_SCALE_BYTES], one[-_SCALE_BYTES:].clone().view(torch.float32))
        return bucket.buffer().copy_(total / len(packets))

    return future.then(average)


def summed_bfloat16_hook(state, bucket):  # type: ignore[no-untyped-def]
    """Torch's, by another name: by its own, a model refuses it unless it is NCCL that adds."""
    return default_hooks.bf16_compress_hook(state, bucket)


def gathered_bfloat16_hook(state, bucket):  # type: ignore[no-untyped-def]
    """(None, GradBucket) -> Future of the mean. As bytes to all ranks, each of which adds them in
    float32, where the backend cannot."""
    packet = bucket.buffer().to(torch.bfloat16).view(torch.int8)
    packets = [torch.empty_like(packet) for _ in range(dist.get_world_size())]
    future = dist.all_gather(packets, packet, async_op=True).get_future()

    def average(_: Any) -> torch.Tensor:
        total = torch.zeros_like(bucket.buffer(), dtype=torch.float32)
        for one in packets:
            total += one.view(torch.bfloat16)
        return bucket.buffer().copy_(total / len(packets))

    return future.then(average)
