"""Files of tensors in the safetensors format: the header's length (8 bytes), a JSON header, data.

The safetensors library reads the files, too. Numbers have the byte order of this machine; the
format requires little-endian.
"""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
from collections.abc import Mapping
from typing import BinaryIO, Union

import torch

from det._types import Json, JsonObject

_NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
    torch.complex64: "C64",
}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
for _name, _attribute in (("F8_E4M3", "float8_e4m3fn"), ("F8_E5M2", "float8_e5m2")):
    if hasattr(torch, _attribute):  # torch 2.1.
        _DTYPES[_name] = getattr(torch, _attribute)
        _NAMES[getattr(torch, _attribute)] = _name

_MAX_HEADER_BYTES = 100 << 20

_Path = Union[str, pathlib.Path]


class DamagedFileError(ValueError):
    """A file that is not a safetensors file, or not complete; the message names it."""


def write_safetensors(
    path: _Path, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]
) -> None:
    """Writes tensors in host memory.

    Raises:
        ValueError: If the format does not support the dtype of a tensor.
        OSError: If the file cannot be written.
    """
    entries: dict[str, Json] = {"__metadata__": dict(metadata)} if metadata else {}
    # Larger elements first, so that each tensor is aligned to the size of its elements.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0]))
    end = 0
    for name, tensor in ordered:
        if tensor.dtype not in _NAMES:
            raise ValueError(
                f"{path}: tensor {name} has dtype {tensor.dtype}, which cannot be saved"
            )
        begin, end = end, end + tensor.numel() * tensor.element_size()
        entries[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for _, tensor in ordered:
            _write_bytes(file, tensor.detach().contiguous())


def _write_bytes(file: BinaryIO, tensor: torch.Tensor) -> None:
    size = tensor.numel() * tensor.element_size()
    if size:
        file.write((ctypes.c_char * size).from_address(tensor.data_ptr()))


def read_with_metadata(path: _Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Returns the tensors by name, on the CPU, and the metadata of a file.

    Raises:
        DamagedFileError: If it is not a safetensors file, or not complete.
        OSError: If the file cannot be read.
    """
    try:
        return _read(path)
    except DamagedFileError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RuntimeError) as error:
        raise DamagedFileError(f"{path}: its header is damaged: {error!r}") from error


def read_safetensors(path: _Path) -> dict[str, torch.Tensor]:
    """Reads a safetensors file of a checkpoint or of another program.

    Args:
        path: The file.

    Returns:
        The tensors by name, on the CPU, with the dtypes and shapes in the file.

    Raises:
        ValueError: If it is not a safetensors file, or not complete; the message names it.
        OSError: If the file cannot be read.
    """
    return read_with_metadata(path)[0]


def _read(path: _Path) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Reads a file; raises errors of several types if the header is invalid."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= _MAX_HEADER_BYTES:
            raise DamagedFileError(f"{path} is not a safetensors file")
        entries = dict(json.loads(file.read(length)))
        metadata = {str(name): str(text) for name, text in entries.pop("__metadata__", {}).items()}
        size = max((int(e["data_offsets"][1]) for e in entries.values()), default=0)
        # Compared before memory is allocated.
        too_short = size > os.fstat(file.fileno()).st_size - 8 - length
        data = bytearray(0 if too_short else size)
        if too_short or file.readinto(data) != size:
            raise DamagedFileError(f"{path} is shorter than its header says")
    return {
        name: _make_tensor(path, data, name, entry) for name, entry in entries.items()
    }, metadata


def _make_tensor(path: _Path, data: bytearray, name: str, entry: JsonObject) -> torch.Tensor:
    begin, end = entry["data_offsets"]
    dtype = _DTYPES.get(entry["dtype"])
    if dtype is None:
        raise DamagedFileError(
            f"{path}: tensor {name} has dtype {entry['dtype']}, which this torch does not support"
        )
    count = 1
    for dimension in entry["shape"]:
        if dimension < 0:
            raise DamagedFileError(f"{path}: tensor {name} has a negative dimension")
        count *= dimension
    if begin < 0 or end - begin != count * torch.empty((), dtype=dtype).element_size():
        raise DamagedFileError(f"{path}: the size of tensor {name} does not match its shape")
    if count == 0:
        return torch.empty(entry["shape"], dtype=dtype)
    flat = torch.frombuffer(data, dtype=dtype, count=count, offset=begin)
    tensor: torch.Tensor = flat.view(entry["shape"])
    return tensor
