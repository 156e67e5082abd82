"""The strategy in_process: one process computes on all slots of its node.

The records of a batch are divided among replicas of the model, one for each slot, and the outputs
are concatenated. Autograd adds the gradients of the replicas.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import (
    Any,
    Callable,
    TypeVar,
    cast,
)

import torch

from det.pytorch.strategies.module_replicas import fan_out, replicate_module
from det.pytorch.strategies.replica_rng import ReplicaRng
from det.pytorch.utilities.types import ModelValue

_DataParallel: Any = torch.nn.DataParallel  # It is generic for type checkers in some versions.


class GpuDataParallel(_DataParallel):
    """torch's DataParallel on the first GPUs. Attributes are looked up in the wrapped model too."""

    def scatter(
        self, inputs: Sequence[object], kwargs: Mapping[str, object], device_ids: Sequence[int]
    ) -> tuple[tuple[Sequence[object], ...], tuple[Mapping[str, object], ...]]:
        """Divides the arguments of forward() among the GPUs."""
        parts = split_batch((inputs, kwargs), len(device_ids))

        def mover(index: int) -> Callable[[torch.Tensor], torch.Tensor]:
            return lambda tensor: tensor.to(f"cuda:{index}", non_blocking=True)

        moved = [_map_tensors(part, mover(index)) for part, index in zip(parts, device_ids)]
        self._records = count_records(parts)
        return tuple(part[0] for part in moved), tuple(part[1] for part in moved)

    def gather(self, outputs: Sequence[ModelValue], output_device: int) -> ModelValue:
        """Joins the outputs of the replicas."""
        device = torch.device("cuda", output_device)
        moved = [_map_tensors(output, lambda tensor: tensor.to(device)) for output in outputs]
        return join_outputs(moved, self._records)

    def __getattr__(self, name: str) -> ModelValue:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("module"), name)


class ThreadDataParallel(torch.nn.Module):
    """Computes replicas of a model on threads, in parallel.

    Attributes are looked up in the wrapped model too. The replicas share the parameters. Buffers,
    such as running means, become those of the first replica, just as the chief's buffers are used
    among ranks. Each replica has its own random number generators.
    """

    def __init__(self, module: torch.nn.Module, slots: int) -> None:
        super().__init__()
        self.module = module
        self._slots = slots
        self._rng = ReplicaRng()
        self._threads = concurrent.futures.ThreadPoolExecutor(
            slots, "det-replica", initializer=lambda: torch.set_num_threads(1)
        )

    def forward(self, *inputs: ModelValue, **kwargs: ModelValue) -> ModelValue:
        """Computes the replicas, and joins their outputs."""
        parts = split_batch((inputs, kwargs), self._slots)
        modes, forward_pass = _ThreadModes(), self._rng.forward_pass(self.training)
        with replicate_module(self.module, len(parts)) as replicas, forward_pass as replica_scope:
            pending = [
                self._threads.submit(modes.call, replica_scope(number), replica, *part)
                for number, (replica, part) in enumerate(zip(replicas, parts))
            ]
            concurrent.futures.wait(pending)
        return join_outputs([future.result() for future in pending], count_records(parts))

    def __getattr__(self, name: str) -> ModelValue:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("module"), name)


class _ThreadModes:
    """The calling thread's modes of autograd and autocast, which torch stores per thread."""

    def __init__(self) -> None:
        self._grad = torch.is_grad_enabled()
        self._inference = torch.is_inference_mode_enabled()
        torch_: ModuleType = torch  # The functions differ between versions.
        if hasattr(torch, "get_autocast_dtype"):  # torch 2.4, which warns about the older names.
            self._autocast = torch_.is_autocast_enabled("cpu")
            self._dtype = torch_.get_autocast_dtype("cpu")
        else:
            self._autocast = torch_.is_autocast_cpu_enabled()
            self._dtype = torch_.get_autocast_cpu_dtype()

    def call(
        self,
        replica_scope: AbstractContextManager[object],
        model: torch.nn.Module,
        inputs: Sequence[ModelValue],
        kwargs: Mapping[str, ModelValue],
    ) -> ModelValue:
        """Computes a replica on another thread with these modes."""
        with torch.inference_mode(self._inference), torch.set_grad_enabled(self._grad):
            torch_: ModuleType = torch  # Not all versions export autocast to type checkers.
            autocast = torch_.autocast("cpu", dtype=self._dtype, enabled=self._autocast)
            with autocast, replica_scope:
                return model(*inputs, **kwargs)


_T = TypeVar("_T")
_WRAPPERS = (GpuDataParallel, ThreadDataParallel)


def replicate(model: torch.nn.Module, device: torch.device, slots: int) -> torch.nn.Module:
    """Returns a model that computes on `slots` slots of this process.

    Raises:
        ValueError: If the process has fewer GPUs.
    """
    if slots == 1:
        return model
    if device.type != "cuda":
        return ThreadDataParallel(model, slots)
    if slots > torch.cuda.device_count():
        raise ValueError(
            f"this process has {slots} slots and sees {torch.cuda.device_count()} GPUs"
        )
    return GpuDataParallel(model, device_ids=list(range(slots)))


def unwrap_replicas(model: torch.nn.Module) -> torch.nn.Module:
    """Returns the model that was passed to replicate()."""
    inner: torch.nn.Module = model.module if isinstance(model, _WRAPPERS) else model
    return inner


_Arguments = tuple[Sequence[object], Mapping[str, object]]  # args and kwargs of forward().


def split_batch(arguments: _Arguments, parts: int) -> list[_Arguments]:
    """Divides the arguments of forward() by records, as ranks would read them.

    Each tensor has one row for each record. A tensor with a single row, or without dimensions, goes
    to all parts. Parts without records are left out.

    Args:
        arguments: The positional and the keyword arguments.
        parts: The maximum number of parts.

    Raises:
        ValueError: If tensors have different numbers of rows.
        TypeError: If an argument is an object with tensors as attributes.
    """
    count = _count_rows(arguments)
    if not count:
        return [arguments]
    bounds = sorted({count * i // parts for i in range(parts + 1)})
    fanned_out: dict[int, Sequence[torch.Tensor]] = {}  # Tensors for all parts, by id.

    def cut(number: int) -> Callable[[torch.Tensor], torch.Tensor]:
        def take(tensor: torch.Tensor) -> torch.Tensor:
            if _rows(tensor) != 1:
                rows: torch.Tensor = tensor[bounds[number] : bounds[number + 1]]
                return rows
            if id(tensor) not in fanned_out:
                fanned_out[id(tensor)] = fan_out(tensor, len(bounds) - 1)
            return fanned_out[id(tensor)][number]

        return take

    return [_map_tensors(arguments, cut(number)) for number in range(len(bounds) - 1)]


def count_records(parts: Sequence[_Arguments]) -> list[int]:
    """Returns the number of records of each part that split_batch() returned."""
    return [_count_rows(part) for part in parts]


def _count_rows(arguments: _Arguments) -> int:
    """Returns the common number of rows of the tensors; 1 if no tensor has several."""
    inputs, kwargs = arguments
    named: list[tuple[int | str, object]] = [*enumerate(inputs), *kwargs.items()]
    found = [
        located
        for name, argument in named
        for located in _find_tensors(argument, f"argument {name}")
    ]
    several = [(where, _rows(tensor)) for where, tensor in found if _rows(tensor) != 1]
    if not several:
        return 1
    place, count = several[0]
    for where, other in several:
        if other != count:
            raise ValueError(
                f"forward() got tensors of {count} rows ({place}) and of {other} ({where}): with "
                "optimizations.strategy in_process each tensor has one row for each record. For a "
                "tensor that has no records pass tensor[None], whose one row goes to all replicas, or "
                "store it in the model with register_buffer()"
            )
    return count


def _rows(tensor: torch.Tensor) -> int:
    return len(tensor) if tensor.dim() else 1


def _find_tensors(value: object, where: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields the path and the value of each tensor in `value` and its containers."""
    if isinstance(value, torch.Tensor):
        yield where, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _find_tensors(item, f"{where}[{name!r}]")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _find_tensors(item, f"{where}[{index}]")
    elif any(isinstance(item, torch.Tensor) for item in getattr(value, "__dict__", {}).values()):
        raise TypeError(
            f"{where} of forward() is a {type(value).__name__}, whose tensors optimizations.strategy "
            "in_process cannot divide: pass tensors, or tuples, lists and dictionaries of them"
        )


def _map_tensors(value: _T, function: Callable[[torch.Tensor], torch.Tensor]) -> _T:
    """Replaces the tensors in a value and its containers."""
    if isinstance(value, torch.Tensor):
        return cast(_T, function(value))
    if isinstance(value, Mapping):
        return _make_like(
            value, [(name, _map_tensors(item, function)) for name, item in value.items()]
        )
    if isinstance(value, (list, tuple)):
        return _make_like(value, [_map_tensors(item, function) for item in value])
    return value


def _make_like(value: _T, items: Sequence[object]) -> _T:
    """Returns a container of the type of `value`."""
    kind: Callable[..., _T] = type(value)
    return kind(*items) if hasattr(value, "_fields") else kind(items)


def join_outputs(outputs: list[ModelValue], weights: list[int]) -> ModelValue:
    """Joins the outputs of the replicas into the output of one model.

    Tensors are concatenated. Single numbers, such as losses, are averaged over all records.

    Args:
        outputs: The output of each replica.
        weights: The number of records of each.

    Raises:
        TypeError: If the outputs cannot be joined.
    """
    first = outputs[0]
    if len(outputs) == 1:
        return first
    if isinstance(first, torch.Tensor):
        return _join_tensors(outputs, weights)
    if isinstance(first, Mapping):
        items = [
            (name, join_outputs([output[name] for output in outputs], weights)) for name in first
        ]
        return _make_like(first, items)
    if isinstance(first, (list, tuple)):
        return _make_like(first, [join_outputs(list(items), weights) for items in zip(*outputs)])
    if all(output == first for output in outputs[1:]):
        return first
    raise TypeError(
        f"forward() returned a {type(first).__name__} that differs between the replicas of "
        "optimizations.strategy in_process: return tensors with one row for each record"
    )


def _join_tensors(tensors: list[torch.Tensor], weights: list[int]) -> torch.Tensor:
    if tensors[0].dim():
        return torch.cat(tensors)
    if not tensors[0].is_floating_point():
        raise TypeError(
            "forward() returned a single integer, which replicas of optimizations.strategy "
            "in_process cannot average: return tensors with one row for each record"
        )
    parts = [tensor.mul(weight / sum(weights)) for tensor, weight in zip(tensors, weights)]
    mean: torch.Tensor = torch.stack(parts).sum()
    return mean
