"""`optimizations.strategy` in_process: one process computes on all slots of its node. The records of
a batch are divided among replicas of the model, one a slot, and what those give is joined again;
autograd adds their gradients."""

from __future__ import annotations

import concurrent.futures
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Mapping, Sequence, Tuple

import torch

from det.pytorch import _copies, _draws


class _OneModel:
    """Also has the attributes of the model within."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)  # type: ignore[misc]
        except AttributeError:
            return getattr(super().__getattr__("module"), name)  # type: ignore[misc]


class GpuReplicas(_OneModel, torch.nn.DataParallel):
    """On as many GPUs, from the first on."""

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Any) -> Any:
        parts = split((inputs, kwargs), len(device_ids))
        moved = [
            _each_tensor(part, lambda tensor, to=to: tensor.to(f"cuda:{to}", non_blocking=True))
            for part, to in zip(parts, device_ids)
        ]
        self._rows = rows(parts)
        return tuple(part[0] for part in moved), tuple(part[1] for part in moved)

    def gather(self, outputs: Any, output_device: Any) -> Any:
        to = torch.device("cuda", output_device)
        moved = [_each_tensor(output, lambda tensor: tensor.to(to)) for output in outputs]
        return join(moved, self._rows)


class ThreadReplicas(_OneModel, torch.nn.Module):
    """On as many threads, which torch lets compute at once. They share the parameters (_copies.py);
    buffers (running means and such) are those that the first one leaves, as they are the chief's among
    ranks. Each draws random numbers of its own (_draws.py)."""

    def __init__(self, module: torch.nn.Module, slots: int) -> None:
        super().__init__()
        self.module = module
        self._slots = slots
        self._draws = _draws.Draws()
        self._threads = concurrent.futures.ThreadPoolExecutor(
            slots, "det-replica", initializer=lambda: torch.set_num_threads(1)
        )

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        parts = split((inputs, kwargs), self._slots)
        modes, draws = _Modes(), self._draws.one_pass(self.training)
        with _copies.of(self.module, len(parts)) as replicas, draws as own:
            under_way = [
                self._threads.submit(modes.call, own(number), replica, *part)
                for number, (replica, part) in enumerate(zip(replicas, parts))
            ]
            concurrent.futures.wait(under_way)
        return join([future.result() for future in under_way], rows(parts))


class _Modes:
    """Of autograd and autocast on the thread that makes it, which torch keeps by thread."""

    def __init__(self) -> None:
        self._grad = torch.is_grad_enabled()
        self._inference = torch.is_inference_mode_enabled()
        if hasattr(torch, "get_autocast_dtype"):  # From 2.4 on, which warns of the older names.
            self._autocast = torch.is_autocast_enabled("cpu")  # type: ignore[call-arg]
            self._type = torch.get_autocast_dtype("cpu")
        else:
            self._autocast = torch.is_autocast_cpu_enabled()
            self._type = torch.get_autocast_cpu_dtype()

    def call(
        self, draws: ContextManager[Any], model: torch.nn.Module, inputs: Any, kwargs: Any
    ) -> Any:
        with torch.inference_mode(self._inference), torch.set_grad_enabled(self._grad):
            with torch.autocast("cpu", dtype=self._type, enabled=self._autocast), draws:
                return model(*inputs, **kwargs)


def wrap(model: torch.nn.Module, device: torch.device, slots: int) -> torch.nn.Module:
    """The model on so many slots of this process."""
    if slots == 1:
        return model
    if device.type != "cuda":
        return ThreadReplicas(model, slots)
    if slots > torch.cuda.device_count():
        raise ValueError(
            f"this process is to compute on {slots} slots and sees {torch.cuda.device_count()} GPUs"
        )
    return GpuReplicas(model, device_ids=list(range(slots)))


def unwrap(model: torch.nn.Module) -> torch.nn.Module:
    return model.module if isinstance(model, _OneModel) else model  # type: ignore[return-value]


def split(value: Any, parts: int) -> List[Any]:
    """Of forward()'s arguments at most so many, as ranks would read them; a part without a record is left
    out. Each tensor has one row a record. Only one that has a single row, or no dimension, goes to all:
    of any other, that it is as long as the batch could be chance.

    Raises:
        ValueError: tensors differ in their rows.
        TypeError: tensors lie where they are not found.
    """
    count = _records(value)
    if not count:
        return [value]
    bounds = sorted({count * i // parts for i in range(parts + 1)})
    of_all: Dict[int, Sequence[torch.Tensor]] = {}

    def cut(number: int) -> Callable[[torch.Tensor], torch.Tensor]:
        def take(tensor: torch.Tensor) -> torch.Tensor:
            if _rows(tensor) != 1:
                return tensor[bounds[number] : bounds[number + 1]]
            if id(tensor) not in of_all:
                of_all[id(tensor)] = _copies.fan(tensor, len(bounds) - 1)
            return of_all[id(tensor)][number]

        return take

    return [_each_tensor(value, cut(number)) for number in range(len(bounds) - 1)]


def rows(parts: List[Any]) -> List[int]:
    """How many records each of split()'s has."""
    return [_records(part) for part in parts]


def _records(arguments: Any) -> int:
    """1 where nothing has several rows."""
    inputs, kwargs = arguments
    named = [*enumerate(inputs), *kwargs.items()]
    found = [one for name, given in named for one in _tensors(given, f"argument {name}")]
    several = [(where, _rows(tensor)) for where, tensor in found if _rows(tensor) != 1]
    if not several:
        return 1
    place, count = several[0]
    for where, other in several:
        if other != count:
            raise ValueError(
                f"forward() is given tensors of {count} rows ({place}) and of {other} ({where}): with "
                "optimizations.strategy in_process each has one row a record. Of a tensor that has no "
                "records give tensor[None], whose one row goes to all replicas, or keep it in the "
                "model by register_buffer()"
            )
    return count


def _rows(tensor: torch.Tensor) -> int:
    return len(tensor) if tensor.dim() else 1


def _tensors(value: Any, where: str) -> Iterator[Tuple[str, torch.Tensor]]:
    """All within, each with its place."""
    if isinstance(value, torch.Tensor):
        yield where, value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _tensors(one, f"{where}[{name!r}]")
    elif isinstance(value, (list, tuple)):
        for index, one in enumerate(value):
            yield from _tensors(one, f"{where}[{index}]")
    elif any(isinstance(one, torch.Tensor) for one in getattr(value, "__dict__", {}).values()):
        raise TypeError(
            f"{where} of forward() is a {type(value).__name__}, whose tensors optimizations.strategy "
            "in_process cannot divide: give tensors, or tuples, lists and dictionaries of them"
        )


def _each_tensor(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return _like(value, [(name, _each_tensor(one, change)) for name, one in value.items()])
    if isinstance(value, (list, tuple)):
        return _like(value, [_each_tensor(one, change) for one in value])
    return value


def _like(value: Any, items: List[Any]) -> Any:
    kind: Any = type(value)
    return kind(*items) if hasattr(value, "_fields") else kind(items)


def join(outputs: List[Any], weights: List[int]) -> Any:
    """What one replica would have given: tensors one behind the other, and of single numbers (losses)
    the mean over all records, of which each output has so many as `weights` says.

    Raises:
        TypeError: it is nothing that could be joined.
    """
    first = outputs[0]
    if len(outputs) == 1:
        return first
    if isinstance(first, torch.Tensor):
        return _join_tensors(outputs, weights)
    if isinstance(first, Mapping):
        return _like(first, [(name, join([one[name] for one in outputs], weights)) for name in first])
    if isinstance(first, (list, tuple)):
        return _like(first, [join(list(ones), weights) for ones in zip(*outputs)])
    if all(one == first for one in outputs[1:]):
        return first
    raise TypeError(
        f"forward() gave a {type(first).__name__} that differs between the replicas of "
        "optimizations.strategy in_process: return tensors with one row a record"
    )


def _join_tensors(tensors: List[torch.Tensor], weights: List[int]) -> torch.Tensor:
    if tensors[0].dim():
        return torch.cat(tensors)
    if not tensors[0].is_floating_point():
        raise TypeError(
            "forward() gave a single whole number, which replicas of optimizations.strategy "
            "in_process cannot average: return tensors with one row a record"
        )
    parts = [tensor * (weight / sum(weights)) for tensor, weight in zip(tensors, weights)]
    return torch.stack(parts).sum()
