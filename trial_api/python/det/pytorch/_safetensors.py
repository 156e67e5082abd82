"""Files of tensors in the safetensors format: 8 bytes, the header's length; a JSON header; data.

Written so that the format's own library reads it, too. Bytes are those of this machine, which the
format wants to be little-endian.
"""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
from typing import Any, Dict, Mapping, Tuple, Union

import torch

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
    if hasattr(torch, _attribute):  # Of newer torch.
        _DTYPES[_name] = getattr(torch, _attribute)
        _NAMES[getattr(torch, _attribute)] = _name

_MAX_HEADER = 100 << 20


class DamagedFile(ValueError):
    """A file that is not what it should be; the message names it."""


def write(
    path: Union[str, pathlib.Path],
    tensors: Mapping[str, torch.Tensor],
    metadata: Mapping[str, str],
) -> None:
    """Writes tensors of the host's memory.

    Raises:
        ValueError: a tensor of a type that the format does not know.
        OSError: the disk is full, say.
    """
    entries: Dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    # The widest first, so that each lies at a multiple of its elements' size.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0]))
    end = 0
    for name, tensor in ordered:
        if tensor.dtype not in _NAMES:
            raise ValueError(f"{path}: tensor {name} is of {tensor.dtype}, which cannot be saved")
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


def _write_bytes(file: Any, tensor: torch.Tensor) -> None:
    size = tensor.numel() * tensor.element_size()
    if size:
        file.write((ctypes.c_char * size).from_address(tensor.data_ptr()))


def read(path: Union[str, pathlib.Path]) -> Tuple[Dict[str, torch.Tensor], Dict[str, str]]:
    """The tensors and the metadata of a file.

    Raises:
        DamagedFile: it is none of write()'s, or not whole.
    """
    try:
        return _read(path)
    except DamagedFile:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RuntimeError) as error:
        raise DamagedFile(f"{path}: its header is damaged: {error!r}") from error


def read_safetensors(path: Union[str, pathlib.Path]) -> Dict[str, torch.Tensor]:
    """The tensors of a safetensors file, of a checkpoint or of anybody's, by name, on the CPU.

    Raises:
        ValueError: it is none, or not whole; the message names it.
    """
    return read(path)[0]


def _read(path: Union[str, pathlib.Path]) -> Tuple[Dict[str, torch.Tensor], Dict[str, str]]:
    """Fails in many ways where the header makes no sense."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= _MAX_HEADER:
            raise DamagedFile(f"{path} is no safetensors file")
        entries = dict(json.loads(file.read(length)))
        metadata = {str(name): str(text) for name, text in entries.pop("__metadata__", {}).items()}
        size = max((int(e["data_offsets"][1]) for e in entries.values()), default=0)
        short = size > os.fstat(file.fileno()).st_size - 8 - length  # Before memory is taken.
        data = bytearray(0 if short else size)
        if short or file.readinto(data) != size:
            raise DamagedFile(f"{path} is shorter than its header says")
    return {name: _tensor(path, data, name, entry) for name, entry in entries.items()}, metadata


def _tensor(path: Any, data: bytearray, name: str, entry: Dict[str, Any]) -> torch.Tensor:
    begin, end = entry["data_offsets"]
    dtype = _DTYPES.get(entry["dtype"])
    if dtype is None:
        raise DamagedFile(f"{path}: tensor {name} is of {entry['dtype']}, unknown to this torch")
    count = 1
    for dimension in entry["shape"]:
        if dimension < 0:
            raise DamagedFile(f"{path}: tensor {name} has a negative dimension")
        count *= dimension
    if begin < 0 or end - begin != count * torch.empty((), dtype=dtype).element_size():
        raise DamagedFile(f"{path}: tensor {name} has not as many bytes as its shape needs")
    if count == 0:
        return torch.empty(entry["shape"], dtype=dtype)
    flat = torch.frombuffer(data, dtype=dtype, count=count, offset=begin)
    return flat.view(entry["shape"])
