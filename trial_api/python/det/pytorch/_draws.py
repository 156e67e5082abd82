"""Random numbers that the replicas of a model draw on threads of one process.

In which order threads draw from torch's one generator is chance. So each replica has one of its own, in
each forward pass, whose seed is drawn from torch's at the first draw of any of them: the same in a run
that repeats or resumes, and none where nothing is drawn.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from typing import Any, Callable, ContextManager, Dict, Iterator, Optional

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from det.pytorch import _random

_TRIED = 16  # Forward passes without a draw, after which none is expected.
_here = threading.local()  # replica: the one that computes on this thread.
_swap = threading.Lock()  # Held where torch's generator stands in for a replica's.


class Draws:
    """Of one model. Functions of torch are looked at, which costs some microseconds each, while the
    model may draw."""

    def __init__(self) -> None:
        self._passes: Dict[bool, int] = {True: 0, False: 0}  # Without a draw; -1: it draws.
        install()

    @contextlib.contextmanager
    def one_pass(self, training: bool) -> Iterator[Callable[[int], ContextManager[Any]]]:
        """A forward pass of a model in that mode, or in evaluation's. Gives what to enter on the thread
        of each replica."""
        tried = self._passes[training]
        if tried >= _TRIED:
            before = _state()
            yield lambda number: contextlib.nullcontext()
            if not torch.equal(before, _state()):
                self._passes[training] = -1
                print(
                    "WARNING: a model that had drawn no random numbers did, on several slots at once: "
                    "this batch does not repeat to the last bit; those behind it do",
                    file=sys.stderr,
                    flush=True,
                )
            return
        seeds = _Seed(getattr(_here, "replica", None))
        yield lambda number: _Replica(seeds, number)
        if tried >= 0:
            self._passes[training] = tried + 1 if seeds.value is None else -1


class _Seed:
    """Of a forward pass. outer: the replica within which it is."""

    def __init__(self, outer: Optional[_Replica]) -> None:
        self._outer = outer
        self._lock = threading.Lock()
        self.value: Optional[int] = None

    def get(self) -> int:
        with self._lock:
            if self.value is None:
                source = self._outer.generator if self._outer else torch.default_generator
                self.value = int(torch.empty((), dtype=torch.int64).random_(generator=source))
            return self.value


class _Replica(TorchDispatchMode):
    """On its thread: what is drawn comes from the replica's generator."""

    def __init__(self, seed: _Seed, number: int) -> None:
        super().__init__()
        self._seed, self._number = seed, number
        self._generator: Optional[torch.Generator] = None

    @property
    def generator(self) -> torch.Generator:
        if self._generator is None:
            seed = _random.derive(self._seed.get(), self._number)
            self._generator = torch.Generator()
            self._generator.manual_seed(seed)
        return self._generator

    def __enter__(self) -> Any:
        self._before = getattr(_here, "replica", None)
        _here.replica = self
        return super().__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *raised: Any) -> Any:
        _here.replica = self._before
        return super().__exit__(*raised)  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        place = _place_of_generator(func)
        if place is None:
            return func(*args, **kwargs)
        if place == _NOWHERE:
            return self._swapped(func, args, kwargs)
        if len(args) > place:
            if args[place] is None:
                args = (*args[:place], self.generator, *args[place + 1 :])
        elif kwargs.get("generator") is None:
            kwargs = {**kwargs, "generator": self.generator}
        return func(*args, **kwargs)

    def _swapped(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Of a function that takes none, with torch's generator in the place of the replica's."""
        own = self.generator
        with _swap:
            before = _state()
            torch.default_generator.set_state(own.get_state())
            try:
                return func(*args, **kwargs)
            finally:
                own.set_state(torch.default_generator.get_state())
                torch.default_generator.set_state(before)


_NOWHERE = -1
_places: Dict[Any, Optional[int]] = {}


def _place_of_generator(func: Any) -> Optional[int]:
    """Among the arguments of what draws; _NOWHERE: it takes none. None: it does not draw."""
    try:
        return _places[func]
    except KeyError:
        pass
    schema = getattr(func, "_schema", None)  # What calls other functions has none.
    names = [argument.name for argument in schema.arguments] if schema else []
    place = names.index("generator") if "generator" in names else None
    if place is None and schema and torch.Tag.nondeterministic_seeded in func.tags:  # type: ignore
        place = _NOWHERE
    _places[func] = place
    return place


def _state() -> torch.Tensor:
    return torch.default_generator.get_state()


_installed = False


def install() -> None:
    """Once: within a replica, what gets, sets and seeds torch's generator does so with the replica's.
    So torch.utils.checkpoint, which computes a part of a forward pass again in the backward pass, draws
    there what the replica drew."""
    global _installed
    if _installed:
        return
    _installed = True
    _divert("get_rng_state", lambda own: own.get_state())
    _divert("set_rng_state", lambda own, state: own.set_state(state))
    _divert("manual_seed", lambda own, seed: own.manual_seed(int(seed)))


def _divert(name: str, of_replica: Callable[..., Any]) -> None:
    real = getattr(torch, name)

    @functools.wraps(real)
    def called(*args: Any, **kwargs: Any) -> Any:
        replica = getattr(_here, "replica", None)
        if replica is None:
            return real(*args, **kwargs)
        return of_replica(replica.generator, *args, **kwargs)

    setattr(torch, name, called)
