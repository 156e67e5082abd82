"""Quantizes gradients to 8 bits, and adds the rounding errors to the next gradients."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from det.pytorch.utilities.types import GradBucket

_MAX_LEVEL = 127  # Levels are from -127 to 127, so that they fit into a signed byte.


class ErrorFeedback:
    """The rounding errors of this rank's gradients, which are added to the next gradients.

    An error is at most half a level: the largest absolute value of its bucket, divided by 254.
    Checkpoints contain the errors of each rank.
    """

    def __init__(self) -> None:
        self._errors: dict[torch.Tensor, torch.Tensor] = {}  # The key is the parameter.
        self._scale: float | None = None

    def rescale(self, scale: float) -> None:
        """Adapts the errors to the loss scale of the next batch."""
        if self._scale is not None and self._scale != scale:
            self._errors = {p: error.mul(scale / self._scale) for p, error in self._errors.items()}
        self._scale = scale

    def quantize_bucket(self, bucket: GradBucket) -> tuple[torch.Tensor, torch.Tensor]:
        """Adds the errors to a bucket's gradients, quantizes the sums, and keeps the new errors.

        Args:
            bucket: A torch.distributed.GradBucket.

        Returns:
            What quantize() returns for the bucket.
        """
        gradients, parameters = bucket.buffer(), bucket.parameters()
        sizes = [parameter.numel() for parameter in parameters]
        parts = gradients.split(sizes)
        for parameter, part in zip(parameters, parts):
            if parameter in self._errors:  # Tensors are hashed by identity.
                part.add_(self._errors[parameter])
        levels, scale = quantize(gradients)
        errors = gradients - dequantize(levels, scale).to(gradients.dtype)
        # A loss scaler skips a step with infinite gradients, which therefore leaves no error.
        errors = torch.nan_to_num(errors, nan=0.0, posinf=0.0, neginf=0.0)
        for parameter, part in zip(parameters, errors.split(sizes)):
            self._errors[parameter] = part
        return levels, scale

    def save(self, model: torch.nn.Module) -> list[torch.Tensor | None]:
        """Returns the flattened error of each parameter of the model; None if it has no error."""
        return [self._errors.get(parameter) for parameter in model.parameters()]

    def add(
        self, model: torch.nn.Module, errors: Iterable[torch.Tensor | None], weight: float
    ) -> None:
        """Adds the errors that save() returned in an earlier attempt, multiplied by a weight."""
        for parameter, part in zip(model.parameters(), errors):
            if part is None:
                continue
            part = (part if weight == 1 else part.mul(weight)).to(parameter.device)
            known = self._errors.get(parameter)
            self._errors[parameter] = part if known is None else known + part


def quantize(numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantizes numbers to 8 bits.

    Returns:
        The levels (int8, the shape of `numbers`) and the scale (float32, shape [1]). Each number is
        approximately its level times the scale. If a number is NaN or infinite, so is the scale.
    """
    tiny = torch.finfo(torch.float32).tiny
    scale = (numbers.abs().max().float() / _MAX_LEVEL).clamp(min=tiny).reshape(1)
    levels = torch.nan_to_num(numbers.float() / scale, nan=0.0).round()
    return levels.clamp(-_MAX_LEVEL, _MAX_LEVEL).to(torch.int8), scale


def dequantize(levels: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Returns approximately the numbers that were quantized, as float32."""
    numbers: torch.Tensor = levels.float().mul(scale)
    return numbers
