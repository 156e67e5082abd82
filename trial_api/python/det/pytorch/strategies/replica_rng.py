"""Random numbers for replicas of a model on threads of one process.

The order in which threads draw from torch's one generator would be arbitrary. So each replica has
its own generator in each forward pass. Its seed is drawn from torch's generator when any of the
replicas first draws: the same in a run that repeats or resumes, and nothing is drawn if no replica
draws.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from det.pytorch.utilities.rng import derive_seed
from det.pytorch.utilities.types import Arguments, ModelValue

_MAX_PASSES_WITHOUT_DRAW = 16  # After this number of forward passes, no draw is expected.
_thread = threading.local()  # Attribute replica: the _ReplicaMode that computes on this thread.
_Operator = Callable[..., ModelValue]  # An operator of torch, with the attributes _schema and tags.
_swap_lock = threading.Lock()  # Held while torch's generator has the state of a replica's.


class ReplicaRng:
    """The random numbers of one model.

    While the model may draw, every function of torch is intercepted, which takes some microseconds
    each.
    """

    def __init__(self) -> None:
        # Forward passes without a draw, by training mode; -1: the model draws.
        self._passes_without_draw: dict[bool, int] = {True: 0, False: 0}
        patch_torch_rng_functions()

    @contextlib.contextmanager
    def forward_pass(
        self, training: bool
    ) -> Iterator[Callable[[int], AbstractContextManager[object]]]:
        """Surrounds a forward pass.

        Args:
            training: Whether the model is in training mode.

        Yields:
            A function from the number of a replica to the context manager for its thread.
        """
        passes = self._passes_without_draw[training]
        if passes >= _MAX_PASSES_WITHOUT_DRAW:
            before = _get_state()
            yield lambda number: contextlib.nullcontext()
            if not torch.equal(before, _get_state()):
                self._passes_without_draw[training] = -1
                print(
                    "WARNING: a model that had not drawn random numbers did so now, on several slots "
                    "at once: this batch is not repeatable to the last bit; later ones are",
                    file=sys.stderr,
                    flush=True,
                )
            return
        seed = _LazySeed(getattr(_thread, "replica", None))
        yield lambda number: _ReplicaMode(seed, number)
        if passes >= 0:
            self._passes_without_draw[training] = passes + 1 if seed.value is None else -1


class _LazySeed:
    """The seed of a forward pass, which is drawn when it is needed."""

    def __init__(self, outer: _ReplicaMode | None) -> None:
        """Creates the seed.

        Args:
            outer: The replica in whose forward pass this one is, or None.
        """
        self._outer = outer
        self._lock = threading.Lock()
        self.value: int | None = None

    def get(self) -> int:
        with self._lock:
            if self.value is None:
                source = self._outer.generator if self._outer else torch.default_generator
                self.value = int(torch.empty((), dtype=torch.int64).random_(generator=source))
            return self.value


class _ReplicaMode(TorchDispatchMode):
    """While it is active on a thread, random functions of torch use the replica's generator."""

    def __init__(self, seed: _LazySeed, number: int) -> None:
        TorchDispatchMode.__init__(self)
        self._seed, self._number = seed, number
        self._generator: torch.Generator | None = None

    @property
    def generator(self) -> torch.Generator:
        if self._generator is None:
            seed = derive_seed(self._seed.get(), self._number)
            self._generator = torch.Generator()
            self._generator.manual_seed(seed)
        return self._generator

    def __enter__(self) -> _ReplicaMode:
        self._before = getattr(_thread, "replica", None)
        _thread.replica = self
        TorchDispatchMode.__enter__(self)
        return self

    def __exit__(self, *raised: object) -> None:
        _thread.replica = self._before
        TorchDispatchMode.__exit__(self, *raised)

    def __torch_dispatch__(
        self,
        func: _Operator,
        types: Sequence[type],
        args: tuple[ModelValue, ...] = (),
        kwargs: Arguments | None = None,
    ) -> ModelValue:
        kwargs = kwargs or {}
        index = _get_generator_index(func)
        if index is None:
            return func(*args, **kwargs)
        if index == _NO_GENERATOR_ARGUMENT:
            return self._call_with_swapped_state(func, args, kwargs)
        if len(args) > index:
            if args[index] is None:
                args = (*args[:index], self.generator, *args[index + 1 :])
        elif kwargs.get("generator") is None:
            kwargs = {**kwargs, "generator": self.generator}
        return func(*args, **kwargs)

    def _call_with_swapped_state(
        self, func: _Operator, args: tuple[ModelValue, ...], kwargs: Arguments
    ) -> ModelValue:
        """Calls a function without a generator argument, with the replica's state in torch's."""
        own = self.generator
        with _swap_lock:
            before = _get_state()
            torch.default_generator.set_state(own.get_state())
            try:
                return func(*args, **kwargs)
            finally:
                own.set_state(torch.default_generator.get_state())
                torch.default_generator.set_state(before)


_NO_GENERATOR_ARGUMENT = -1
_generator_indices: dict[_Operator, int | None] = {}


def _get_generator_index(func: _Operator) -> int | None:
    """Returns the index of the argument `generator` of a random function of torch.

    Returns:
        _NO_GENERATOR_ARGUMENT if it draws and has no such argument; None if it does not draw.
    """
    try:
        return _generator_indices[func]
    except KeyError:
        pass
    schema = getattr(func, "_schema", None)  # Functions that call others have none.
    names = [argument.name for argument in schema.arguments] if schema else []
    index = names.index("generator") if "generator" in names else None
    torch_: ModuleType = torch  # Not all versions declare Tag.
    if index is None and schema and torch_.Tag.nondeterministic_seeded in getattr(func, "tags", ()):
        index = _NO_GENERATOR_ARGUMENT
    _generator_indices[func] = index
    return index


def _get_state() -> torch.Tensor:
    return torch.default_generator.get_state()


_patched = False


def patch_torch_rng_functions() -> None:
    """Makes get_rng_state(), set_rng_state() and manual_seed() use the replica's generator, once.

    torch.utils.checkpoint recomputes a part of a forward pass in the backward pass, and draws what
    the replica drew.
    """
    global _patched
    if _patched:
        return
    _patched = True
    _patch("get_rng_state", lambda own: own.get_state())
    _patch("set_rng_state", lambda own, state: own.set_state(state))
    _patch("manual_seed", lambda own, seed: own.manual_seed(int(seed)))


def _patch(name: str, for_replica: Callable[..., object]) -> None:
    original = getattr(torch, name)

    @functools.wraps(original)
    def patched(*args: object, **kwargs: object) -> object:
        replica = getattr(_thread, "replica", None)
        if replica is None:
            return original(*args, **kwargs)
        return for_replica(replica.generator, *args, **kwargs)

    setattr(torch, name, patched)
