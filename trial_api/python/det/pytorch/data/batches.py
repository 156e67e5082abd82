"""Batches: moving them to a device, and counting their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch

from det.pytorch.utilities.types import DataBatch


def to_device(data: DataBatch, device: torch.device) -> DataBatch:
    """Moves the tensors of a batch to a device.

    Args:
        data: A tensor, an object with a method to(device), or dictionaries, lists and tuples of
            those, nested at will. Anything else is returned unchanged.
        device: The destination. A copy from pinned memory is asynchronous.

    Returns:
        The same structure with its tensors on `device`. A mapping becomes a dict; lists, tuples and
        named tuples keep their type.
    """
    if isinstance(data, torch.Tensor):
        return data if data.device == device else data.to(device, non_blocking=True)
    if isinstance(data, list):
        return [to_device(value, device) for value in data]
    if isinstance(data, tuple):
        moved = [to_device(value, device) for value in data]
        return type(data)(*moved) if hasattr(data, "_fields") else tuple(moved)
    if isinstance(data, Mapping):
        return {key: to_device(value, device) for key, value in data.items()}
    if hasattr(data, "to") and callable(data.to):  # Batches of PyG, Transformers and such.
        return data.to(device)
    return data


def data_length(batch: object) -> int:
    """Counts the records of a batch: the first dimension of its first tensor.

    Args:
        batch: A tensor, or dictionaries, lists and tuples of tensors, nested at will. A tensor
            without dimensions is one record.

    Returns:
        The number of records.

    Raises:
        TypeError: If the batch has no tensor. Override PyTorchTrial.get_batch_length() then.
    """
    if isinstance(batch, torch.Tensor):
        return int(batch.shape[0]) if batch.dim() else 1
    values: Iterable[object] = ()
    if isinstance(batch, Mapping):
        values = batch.values()
    elif isinstance(batch, (list, tuple)):
        values = batch
    for value in values:
        try:
            return data_length(value)
        except TypeError:
            continue
    raise TypeError(
        f"a batch of type {type(batch).__name__} has no tensor: override get_batch_length()"
    )
