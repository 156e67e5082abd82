"""Tensors of any shape and type from one rank to another."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import torch
import torch.distributed as dist

from det.pytorch._ranks import Ranks

_TYPES = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
)
_LONGEST = 14  # Dimensions.
_HEAD, _BODY = 1, 2  # Tags.


class Wire:
    """Of this rank. A tensor is its head (type and shape, on the host) and its bytes, as not every
    backend knows every type."""

    def __init__(self, ranks: Ranks) -> None:
        self._group = ranks._group
        self._under_way: List[Tuple[Any, torch.Tensor]] = []

    def send(self, tensor: torch.Tensor, to: int) -> None:
        """Returns at once; the tensor must not change until finish()."""
        for part, tag, group in ((_head(tensor), _HEAD, self._group), (_bytes(tensor), _BODY, None)):
            if part.numel():
                self._under_way.append((dist.isend(part, to, group=group, tag=tag), part))

    def finish(self) -> None:
        """Waits until everything is sent."""
        for work, _ in self._under_way:
            work.wait()
        self._under_way = []

    def receive(self, sender: int, device: torch.device) -> torch.Tensor:
        head = torch.zeros(_LONGEST + 2, dtype=torch.int64)
        dist.recv(head, sender, group=self._group, tag=_HEAD)
        tensor = _empty(head, device)
        if tensor.numel():
            dist.recv(_bytes(tensor), sender, tag=_BODY)
        return tensor

    def broadcast(
        self, tensor: Optional[torch.Tensor], source: int, device: torch.device
    ) -> torch.Tensor:
        """Collective: that of `source`, on all ranks."""
        head = torch.zeros(_LONGEST + 2, dtype=torch.int64) if tensor is None else _head(tensor)
        dist.broadcast(head, source, group=self._group)
        tensor = _empty(head, device) if tensor is None else tensor.contiguous()
        if tensor.numel():
            dist.broadcast(_bytes(tensor), source)
        return tensor


def _head(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype not in _TYPES or tensor.dim() > _LONGEST:
        raise TypeError(
            f"a tensor of type {tensor.dtype} with {tensor.dim()} dimensions cannot travel between "
            "the stages of optimizations.strategy pipeline"
        )
    numbers = [_TYPES.index(tensor.dtype), tensor.dim(), *tensor.shape]
    return torch.tensor(numbers + [0] * (_LONGEST + 2 - len(numbers)), dtype=torch.int64)


def _empty(head: torch.Tensor, device: torch.device) -> torch.Tensor:
    kind, dimensions, *shape = head.tolist()
    return torch.empty(shape[:dimensions], dtype=_TYPES[kind], device=device)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory, if it is contiguous."""
    return tensor.contiguous().reshape(-1).view(torch.uint8)
