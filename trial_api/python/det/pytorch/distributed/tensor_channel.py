"""Sends tensors of any shape and dtype from one rank to another."""

from __future__ import annotations

import torch
import torch.distributed as dist

from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.utilities.types import Work

_DTYPES = (
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
_MAX_DIMENSIONS = 14
_HEADER_LENGTH = _MAX_DIMENSIONS + 2
_HEADER_TAG, _DATA_TAG = 1, 2


class TensorChannel:
    """Point-to-point transfers of this rank.

    A tensor is sent as a header (dtype and shape, int64 on the host) and as its bytes, because not
    every backend supports every dtype.
    """

    def __init__(self, process_group: ProcessGroup) -> None:
        self._host_group = process_group.host_group
        self._pending: list[tuple[Work, torch.Tensor]] = []

    def send(self, tensor: torch.Tensor, to: int) -> None:
        """Starts to send. The tensor must not change until finish().

        Raises:
            TypeError: If the dtype is not supported, or the tensor has over 14 dimensions.
        """
        parts = (
            (_make_header(tensor), _HEADER_TAG, self._host_group),
            (_as_bytes(tensor), _DATA_TAG, None),
        )
        for part, tag, group in parts:
            if part.numel():
                work = dist.isend(part, to, group=group, tag=tag)
                assert work is not None  # This rank is a member of the group.
                self._pending.append((work, part))

    def finish(self) -> None:
        """Waits until everything is sent."""
        for work, _ in self._pending:
            work.wait()
        self._pending = []

    def receive(self, sender: int, device: torch.device) -> torch.Tensor:
        """Waits for the next tensor of the sender, and returns it on `device`."""
        header = torch.zeros(_HEADER_LENGTH, dtype=torch.int64)
        dist.recv(header, sender, group=self._host_group, tag=_HEADER_TAG)
        tensor = _empty_from_header(header, device)
        if tensor.numel():
            dist.recv(_as_bytes(tensor), sender, tag=_DATA_TAG)
        return tensor

    def broadcast(
        self, tensor: torch.Tensor | None, source: int, device: torch.device
    ) -> torch.Tensor:
        """Returns the tensor of rank `source` on every rank, on `device`. Collective.

        Args:
            tensor: The tensor on rank `source`; None on the others.
            source: The rank that has the tensor.
            device: The device of the returned tensor.
        """
        if tensor is None:
            header = torch.zeros(_HEADER_LENGTH, dtype=torch.int64)
        else:
            header = _make_header(tensor)
        dist.broadcast(header, source, group=self._host_group)
        tensor = _empty_from_header(header, device) if tensor is None else tensor.contiguous()
        if tensor.numel():
            dist.broadcast(_as_bytes(tensor), source)
        return tensor


def _make_header(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype not in _DTYPES or tensor.dim() > _MAX_DIMENSIONS:
        raise TypeError(
            f"a tensor of dtype {tensor.dtype} with {tensor.dim()} dimensions cannot be sent between "
            "the stages of optimizations.strategy pipeline"
        )
    numbers = [_DTYPES.index(tensor.dtype), tensor.dim(), *tensor.shape]
    return torch.tensor(numbers + [0] * (_HEADER_LENGTH - len(numbers)), dtype=torch.int64)


def _empty_from_header(header: torch.Tensor, device: torch.device) -> torch.Tensor:
    dtype, dimensions, *shape = header.tolist()
    return torch.empty(shape[:dimensions], dtype=_DTYPES[dtype], device=device)


def _as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a view as uint8, of the same memory if the tensor is contiguous."""
    view: torch.Tensor = tensor.contiguous().reshape(-1).view(torch.uint8)
    return view
