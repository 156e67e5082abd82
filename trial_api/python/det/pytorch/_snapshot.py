"""A rank's state at one moment, in the host's memory, and its files.

Memory is kept from one checkpoint to the next, and reserved before the first: a copy into pages
that the kernel has yet to give costs several times as much.
"""

from __future__ import annotations

import json
import pathlib
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from det.pytorch import _safetensors, _tree

_OTHER = "$"  # In front of what is no weight of a model; no name of one begins so.


class Snapshot:
    """Functions that take: on the training thread. write(): on any, while none is taken."""

    def __init__(self) -> None:
        self._buffers: Dict[Tuple[str, str], torch.Tensor] = {}
        self._files: List[Tuple[str, Dict[str, str], Dict[str, torch.Tensor]]] = []
        self._texts: List[Tuple[str, str]] = []
        self._taken: Dict[Any, Tuple[torch.Tensor, torch.Tensor]] = {}  # (original, copy)

        self._wanted: Optional[List[Tuple[Tuple[str, str], torch.Tensor]]] = None
        self._reserving: Optional[threading.Thread] = None

    def reserve(self, take: Callable[[], None]) -> None:
        """Prepares, on another thread, for what take() takes."""
        self._wanted = wanted = []
        take()
        self._wanted = None
        shapes = [(key, tensor.shape, tensor.dtype, tensor.is_cuda) for key, tensor in wanted]

        def fill() -> None:
            for key, shape, dtype, pinned in shapes:
                self._buffers[key] = torch.empty(shape, dtype=dtype, pin_memory=pinned).zero_()

        # No daemon: Python would end it within torch at the exit, which ends the process by abort().
        self._reserving = threading.Thread(target=fill, name="det-reserve")
        self._reserving.start()

    def begin(self) -> None:
        if self._reserving is not None:
            self._reserving.join()
            self._reserving = None
        self._files, self._texts, self._taken = [], [], {}

    def take_text(self, name: str, text: str) -> None:
        self._texts.append((name, text))

    def take_model(self, name: str, state: Dict[str, Any]) -> None:
        """Tensors under the names of the state_dict."""
        tensors: Dict[str, torch.Tensor] = {}
        others: Dict[str, Any] = {}
        for key, value in state.items():
            if isinstance(value, torch.Tensor):
                tensors[key] = value.detach()
            else:
                others[key] = _tree.encode(value, _OTHER + key, tensors)
        self._add(name, others, tensors)

    def take_tree(self, name: str, value: Any) -> None:
        """Anything that _tree.encode() takes."""
        tree, tensors = _tree.split(value, name.partition(".")[0])
        self._add(name, tree, tensors)

    def _add(self, name: str, tree: Any, tensors: Dict[str, torch.Tensor]) -> None:
        metadata = {"format": "pt", "tree": json.dumps(tree)}
        copies = {key: self._copy(name, key, tensor) for key, tensor in tensors.items()}
        self._files.append((name, metadata, copies))

    def end(self) -> None:
        """Waits for the copies from a GPU."""
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.synchronize()
        self._taken = {}

    def _copy(self, file: str, key: str, tensor: torch.Tensor) -> torch.Tensor:
        if self._wanted is not None:
            self._wanted.append(((file, key), tensor))
            return tensor
        # Weights that several names share are copied once.
        same = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
        known = self._taken.get(same)
        if known is not None and tensor.numel() > 0:
            return known[1]
        buffer = self._buffers.get((file, key))
        if buffer is None or buffer.shape != tensor.shape or buffer.dtype != tensor.dtype:
            buffer = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
            self._buffers[(file, key)] = buffer
        buffer.copy_(tensor, non_blocking=True)
        self._taken[same] = (tensor, buffer)  # Kept alive, or its address would be another's.
        return buffer

    def write(self, folder: pathlib.Path) -> None:
        """The files, into `folder`."""
        for name, metadata, tensors in self._files:
            _safetensors.write(folder / name, tensors, metadata)
        for name, text in self._texts:
            (folder / name).write_text(text, encoding="utf-8")


def read_model(path: pathlib.Path) -> Dict[str, Any]:
    """What take_model() was given."""
    tensors, metadata = _safetensors.read(path)
    state: Dict[str, Any] = {k: t for k, t in tensors.items() if not k.startswith(_OTHER)}
    state.update(_tree.decode(json.loads(metadata.get("tree", "{}")), tensors))
    return state


def read_tree(path: pathlib.Path) -> Any:
    """What take_tree() was given."""
    tensors, metadata = _safetensors.read(path)
    if "tree" not in metadata:
        raise _safetensors.DamagedFile(f"{path} is of another program: it has no tree")
    return _tree.decode(json.loads(metadata["tree"]), tensors)
