"""A copy of a rank's state in host memory, and its files.

The memory is kept from one checkpoint to the next, and allocated before the first: a copy into
pages that the kernel has not provided yet takes several times as long.
"""

from __future__ import annotations

import json
import pathlib
import threading
from typing import Callable

import torch

from det._types import Json
from det.pytorch.state.safetensors import (
    DamagedFileError,
    read_with_metadata,
    write_safetensors,
)
from det.pytorch.state.tree_codec import decode_tree, encode_into, encode_tree
from det.pytorch.utilities.types import StateDict, StateTree

_OTHER_PREFIX = "$"  # Precedes the names of tensors that are not weights of a model.

_Key = tuple[str, str]  # The name of a file, and of a tensor in it.


class Snapshot:
    """The files of one checkpoint.

    begin(), the take_*() methods and end() are called on the training thread, and write() on any
    thread, but not at the same time.
    """

    def __init__(self) -> None:
        self._buffers: dict[_Key, torch.Tensor] = {}
        self._files: list[tuple[str, dict[str, str], dict[str, torch.Tensor]]] = []
        self._texts: list[tuple[str, str]] = []
        # The original and the copy, by memory location, shape and dtype.
        self._copied: dict[tuple[object, ...], tuple[torch.Tensor, torch.Tensor]] = {}
        self._recorded: list[tuple[_Key, torch.Tensor]] | None = None
        self._allocating: threading.Thread | None = None

    def allocate(self, take: Callable[[], None]) -> None:
        """Allocates memory on another thread.

        Args:
            take: Calls the take_*() methods that the first checkpoint will call.
        """
        recorded: list[tuple[_Key, torch.Tensor]] = []
        self._recorded = recorded
        take()
        self._recorded = None
        shapes = [(key, tensor.shape, tensor.dtype, tensor.is_cuda) for key, tensor in recorded]

        def fill() -> None:
            for key, shape, dtype, pinned in shapes:
                self._buffers[key] = torch.empty(shape, dtype=dtype, pin_memory=pinned).zero_()

        # Not a daemon: Python would end it inside torch at exit, and the process would abort.
        self._allocating = threading.Thread(target=fill, name="det-allocate")
        self._allocating.start()

    def begin(self) -> None:
        """Starts a new checkpoint."""
        if self._allocating is not None:
            self._allocating.join()
            self._allocating = None
        self._files, self._texts, self._copied = [], [], {}

    def take_text(self, name: str, text: str) -> None:
        """Adds a text file."""
        self._texts.append((name, text))

    def take_model(self, name: str, state: StateDict) -> None:
        """Adds a file with a copy of a model's state_dict(), with its tensor names."""
        tensors: dict[str, torch.Tensor] = {}
        others: dict[str, Json] = {}
        for key, value in state.items():
            if isinstance(value, torch.Tensor):
                tensors[key] = value.detach()
            else:
                others[key] = encode_into(value, _OTHER_PREFIX + key, tensors)
        self._add_file(name, others, tensors)

    def take_tree(self, name: str, value: StateTree) -> None:
        """Adds a file with a copy of a value that encode_tree() supports.

        Raises:
            NotSavableError: If the value contains an object of another type.
        """
        tree, tensors = encode_tree(value, name.partition(".")[0])
        self._add_file(name, tree, tensors)

    def _add_file(self, name: str, tree: Json, tensors: dict[str, torch.Tensor]) -> None:
        metadata = {"format": "pt", "tree": json.dumps(tree)}
        copies = {key: self._copy((name, key), tensor) for key, tensor in tensors.items()}
        self._files.append((name, metadata, copies))

    def end(self) -> None:
        """Waits for the copies from a GPU."""
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.synchronize()
        self._copied = {}

    def _copy(self, key: _Key, tensor: torch.Tensor) -> torch.Tensor:
        if self._recorded is not None:
            self._recorded.append((key, tensor))
            return tensor
        # Weights with several names are copied once.
        identity = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
        known = self._copied.get(identity)
        if known is not None and tensor.numel() > 0:
            return known[1]
        buffer = self._buffers.get(key)
        if buffer is None or buffer.shape != tensor.shape or buffer.dtype != tensor.dtype:
            buffer = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
            self._buffers[key] = buffer
        buffer.copy_(tensor, non_blocking=True)
        # Keeps the original alive, so that no other tensor gets its address.
        self._copied[identity] = (tensor, buffer)
        return buffer

    def write(self, folder: pathlib.Path) -> None:
        """Writes the files into a folder.

        Raises:
            ValueError: If the file format does not support the dtype of a tensor.
            OSError: If a file cannot be written.
        """
        for name, metadata, tensors in self._files:
            write_safetensors(folder / name, tensors, metadata)
        for name, text in self._texts:
            (folder / name).write_text(text, encoding="utf-8")


def read_model(path: pathlib.Path) -> StateDict:
    """Returns what take_model() saved.

    Raises:
        DamagedFileError: If the file is not a complete safetensors file.
    """
    tensors, metadata = read_with_metadata(path)
    state: StateDict = {k: t for k, t in tensors.items() if not k.startswith(_OTHER_PREFIX)}
    state.update(decode_tree(json.loads(metadata.get("tree", "{}")), tensors))
    return state


def read_tree(path: pathlib.Path) -> StateTree:
    """Returns what take_tree() saved.

    Raises:
        DamagedFileError: If the file is not a complete file of take_tree().
    """
    tensors, metadata = read_with_metadata(path)
    if "tree" not in metadata:
        raise DamagedFileError(f"{path} was written by another program: it has no tree")
    return decode_tree(json.loads(metadata["tree"]), tensors)
