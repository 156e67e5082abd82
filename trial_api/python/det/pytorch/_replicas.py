"""`optimizations.strategy` in_process: one process computes on all slots of its node. The records of
a batch are divided among replicas of the model, one a slot, and what those give is joined again;
autograd adds their gradients."""

from __future__ import annotations

import concurrent.futures
import functools
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

import torch


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
    """On as many threads, which torch lets compute at once. They share the parameters; buffers (running
    means and such) are those that the first one leaves, as they are the chief's among ranks. In which
    order they draw random numbers is the threads' affair."""

    def __init__(self, module: torch.nn.Module, slots: int) -> None:
        super().__init__()
        self.module = module
        self._slots = slots
        self._threads = concurrent.futures.ThreadPoolExecutor(
            slots, "det-replica", initializer=lambda: torch.set_num_threads(1)
        )

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        parts = split((inputs, kwargs), self._slots)
        modes = _Modes()
        shares = _shares(self.module, len(parts))
        replicas = [self.module] + [_replica(self.module, {}, share) for share in shares[1:]]
        own = [(module, dict(module._parameters)) for module in self.module.modules()]
        try:
            for module, parameters in own:
                _point(module, parameters, shares[0])
            under_way = [
                self._threads.submit(modes.call, replica, *part)
                for replica, part in zip(replicas, parts)
            ]
            concurrent.futures.wait(under_way)
        finally:
            for module, parameters in own:
                _point(module, parameters, {})
        return join([future.result() for future in under_way], rows(parts))


class _Modes:
    """Of autograd and autocast on the thread that makes it, which torch keeps by thread."""

    def __init__(self) -> None:
        self._grad = torch.is_grad_enabled()
        self._inference = torch.is_inference_mode_enabled()
        self._autocast = torch.is_autocast_cpu_enabled()
        self._type = torch.get_autocast_cpu_dtype()

    def call(self, model: torch.nn.Module, inputs: Any, kwargs: Any) -> Any:
        with torch.inference_mode(self._inference), torch.set_grad_enabled(self._grad):
            with torch.autocast("cpu", dtype=self._type, enabled=self._autocast):
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


_Share = Dict[torch.Tensor, torch.Tensor]  # What stands for a parameter.


class _Shared(torch.autograd.Function):
    """A parameter as each replica has it. Gradients are added in the order of the replicas; autograd
    by itself would add them in the order in which threads have come to their layers."""

    @staticmethod
    def forward(ctx: Any, parameter: torch.Tensor, count: int) -> Tuple[torch.Tensor, ...]:
        ctx.set_materialize_grads(False)
        return tuple(parameter.view_as(parameter) for _ in range(count))

    @staticmethod
    def backward(ctx: Any, *gradients: Optional[torch.Tensor]) -> Tuple[Any, None]:
        given = [gradient for gradient in gradients if gradient is not None]
        return functools.reduce(torch.add, given) if given else None, None


def _shares(model: torch.nn.Module, count: int) -> List[_Share]:
    """Of each replica."""
    shares: List[_Share] = [{} for _ in range(count)]
    if count > 1 and torch.is_grad_enabled():
        for parameter in model.parameters():
            if parameter.requires_grad:
                for share, tensor in zip(shares, _Shared.apply(parameter, count)):
                    share[parameter] = tensor
    return shares


def _point(module: torch.nn.Module, parameters: Mapping[str, Any], share: _Share) -> None:
    """Lets the module, without its children, compute with what stands for the parameters."""
    pointed = {name: share.get(p, p) for name, p in parameters.items()}
    module._parameters = pointed  # type: ignore[assignment]
    if isinstance(module, torch.nn.RNNBase):  # Which keeps them in a list, too.
        names = module._flat_weights_names
        module.__dict__["_flat_weights"] = [pointed.get(name) for name in names]


def _replica(module: torch.nn.Module, known: Any, share: _Share) -> torch.nn.Module:
    """Parameters as shared, and buffers of its own."""
    if module not in known:
        known[module] = replica = module.__new__(type(module))
        replica.__dict__ = dict(module.__dict__)
        replica._buffers = {
            name: None if buffer is None else buffer.clone()
            for name, buffer in module._buffers.items()
        }
        _point(replica, module._parameters, share)
        replica._modules = {
            name: None if child is None else _replica(child, known, share)
            for name, child in module._modules.items()
        }
    found: torch.nn.Module = known[module]
    return found


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
    bounds = [count * i // parts for i in range(parts + 1)]

    def cut(begin: int, end: int) -> Callable[[torch.Tensor], torch.Tensor]:
        def take(tensor: torch.Tensor) -> torch.Tensor:
            return tensor[begin:end] if _rows(tensor) != 1 else tensor

        return take

    return [
        _each_tensor(value, cut(begin, end))
        for begin, end in zip(bounds, bounds[1:])
        if begin < end
    ]


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
        return _like(
            first, [(name, join([one[name] for one in outputs], weights)) for name in first]
        )
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
