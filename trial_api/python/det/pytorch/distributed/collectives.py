"""Collective operations on lists of tensors, which are flattened to few large messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
import torch.distributed as dist

from det.pytorch.distributed.process_group import ProcessGroup

_CHUNK_BYTES = 64 << 20


@torch.no_grad()
def average_tensors(tensors: list[torch.Tensor], process_group: ProcessGroup) -> None:
    """Replaces each tensor by its mean over the ranks. Collective."""
    for chunk in chunk_tensors(tensors):
        flat = flatten_tensors(chunk)
        dist.all_reduce(flat)
        copy_unflattened(flat.div_(process_group.size), chunk)


@torch.no_grad()
def broadcast_tensors(tensors: list[torch.Tensor]) -> None:
    """Replaces each tensor by the chief's. Collective."""
    for chunk in chunk_tensors(tensors):
        flat = flatten_tensors(chunk)
        dist.broadcast(flat, src=0)
        copy_unflattened(flat, chunk)


def unique_tensors(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Returns the tensors in order, with one of those that share memory."""
    return list({tensor.data_ptr(): tensor for tensor in tensors}.values())


def chunk_tensors(tensors: Iterable[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """Yields the tensors in order, in chunks of one dtype and device and about 64 MiB."""
    chunk: list[torch.Tensor] = []
    size = 0
    for tensor in tensors:
        bytes_ = tensor.numel() * tensor.element_size()
        alike = chunk and (tensor.dtype, tensor.device) == (chunk[0].dtype, chunk[0].device)
        if chunk and (not alike or size + bytes_ > _CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(tensor)
        size += bytes_
    if chunk:
        yield chunk


def flatten_tensors(tensors: list[torch.Tensor]) -> torch.Tensor:
    """Returns a one-dimensional copy of all tensors, one after the other."""
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def unflatten_tensors(flat: torch.Tensor, tensors: list[torch.Tensor]) -> Iterator[torch.Tensor]:
    """Yields views of `flat` in the shapes of the tensors that flatten_tensors() was given."""
    start = 0
    for tensor in tensors:
        yield flat[start : start + tensor.numel()].view_as(tensor)
        start += tensor.numel()


def copy_unflattened(flat: torch.Tensor, tensors: list[torch.Tensor]) -> None:
    """Copies `flat` back into the tensors that flatten_tensors() was given."""
    for tensor, part in zip(tensors, unflatten_tensors(flat, tensors)):
        tensor.copy_(part)
