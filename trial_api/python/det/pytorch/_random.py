"""The random generators of a process: of Python, torch and, where it is loaded, numpy."""

from __future__ import annotations

import contextlib
import hashlib
import random
import sys
from typing import Any, Dict, Iterator

import torch


def derive(seed: int, *parts: int) -> int:
    """A seed of 63 bits that follows from another and numbers; unlike those of other numbers."""
    text = ",".join(str(number) for number in (seed, *parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def seed_all(seed: int) -> None:
    """Starts every generator anew."""
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)  # type: ignore[attr-defined]


def get_state() -> Dict[str, Any]:
    """What set_state() takes: numbers, strings, containers and tensors."""
    version, numbers, gauss = random.getstate()
    state: Dict[str, Any] = {
        "python": [version, torch.tensor(numbers, dtype=torch.int64), gauss],
        "torch": torch.get_rng_state(),
    }
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        kind, keys, position, has_gauss, cached = numpy.random.get_state()  # type: ignore
        words = torch.tensor(keys.astype("int64").tolist(), dtype=torch.int64)
        state["numpy"] = [str(kind), words, int(position), int(has_gauss), float(cached)]
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def set_state(state: Dict[str, Any]) -> None:
    """Goes on where get_state() was called."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers.tolist()), gauss))
    torch.set_rng_state(state["torch"])
    numpy = sys.modules.get("numpy")
    if numpy is not None and "numpy" in state:
        kind, words, position, has_gauss, cached = state["numpy"]
        keys = numpy.array(words.tolist(), dtype="uint32")  # type: ignore[attr-defined]
        numpy.random.set_state((kind, keys, position, has_gauss, cached))  # type: ignore
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])


class Apart:
    """`with` it, the host's generators go on from where they were in the block before, at first
    from `seed`; outside they go on as if nothing had been. Fast enough for every batch."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._inside: Any = None
        self._outside: Any = None

    def __enter__(self) -> None:
        self._outside = _host_states()
        if self._inside is None:
            random.seed(self._seed)
            torch.default_generator.manual_seed(self._seed)
            numpy = sys.modules.get("numpy")
            if numpy is not None:
                numpy.random.seed(self._seed % 2**32)  # type: ignore[attr-defined]
        else:
            _set_host_states(self._inside)

    def __exit__(self, *_: Any) -> None:
        self._inside = _host_states()
        _set_host_states(self._outside)


def _host_states() -> Any:
    numpy = sys.modules.get("numpy")
    of_numpy = numpy.random.get_state() if numpy is not None else None  # type: ignore
    return random.getstate(), torch.get_rng_state(), of_numpy


def _set_host_states(states: Any) -> None:
    random.setstate(states[0])
    torch.set_rng_state(states[1])
    if states[2] is not None:
        sys.modules["numpy"].random.set_state(states[2])  # type: ignore[attr-defined]


@contextlib.contextmanager
def forked(seed: int) -> Iterator[None]:
    """Generators that start from `seed` inside, and go on as if nothing had been, behind."""
    before = get_state()
    seed_all(seed)
    try:
        yield
    finally:
        set_state(before)
