"""The random generators of a process: of Python, torch and, if it is imported, NumPy."""

from __future__ import annotations

import contextlib
import hashlib
import random
import sys
from collections.abc import Iterator
from types import ModuleType

import torch

from det.pytorch.utilities.types import StateDict

# The states of the generators of Python, torch and, if it is imported, NumPy.
_HostStates = tuple[tuple[object, ...], torch.Tensor, object]


def derive_seed(seed: int, *parts: int) -> int:
    """Returns a seed of 63 bits that is a hash of a seed and further numbers."""
    text = ",".join(str(number) for number in (seed, *parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def seed_all(seed: int) -> None:
    """Seeds all generators."""
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = _get_numpy()
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def get_rng_state() -> StateDict:
    """Returns the state of all generators, for set_rng_state() and for checkpoints.

    Returns:
        Numbers, strings, lists and tensors, by the names python, torch, numpy and cuda.
    """
    version, numbers, gauss = random.getstate()
    state: StateDict = {
        "python": [version, torch.tensor(numbers, dtype=torch.int64), gauss],
        "torch": torch.get_rng_state(),
    }
    numpy = _get_numpy()
    if numpy is not None:
        kind, keys, position, has_gauss, cached = numpy.random.get_state()
        words = torch.tensor(keys.astype("int64").tolist(), dtype=torch.int64)
        state["numpy"] = [str(kind), words, int(position), int(has_gauss), float(cached)]
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def set_rng_state(state: StateDict) -> None:
    """Restores what get_rng_state() returned."""
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers.tolist()), gauss))
    torch.set_rng_state(state["torch"])
    numpy = _get_numpy()
    if numpy is not None and "numpy" in state:
        kind, words, position, has_gauss, cached = state["numpy"]
        keys = numpy.array(words.tolist(), dtype="uint32")
        numpy.random.set_state((kind, keys, position, has_gauss, cached))
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])


class IsolatedRng:
    """A context manager with its own random numbers in the generators of the host.

    The first block starts from `seed`, and each further block where the previous one ended. Outside
    the generators continue as if the blocks had not been. It is fast enough for every batch.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._inside: _HostStates | None = None
        self._outside: _HostStates | None = None

    def __enter__(self) -> None:
        self._outside = _get_host_states()
        if self._inside is None:
            random.seed(self._seed)
            torch.default_generator.manual_seed(self._seed)
            numpy = _get_numpy()
            if numpy is not None:
                numpy.random.seed(self._seed % 2**32)
        else:
            _set_host_states(self._inside)

    def __exit__(self, *_: object) -> None:
        self._inside = _get_host_states()
        assert self._outside is not None  # __enter__() sets it.
        _set_host_states(self._outside)


def _get_numpy() -> ModuleType | None:
    """Returns NumPy if something has imported it, else None."""
    return sys.modules.get("numpy")


def _get_host_states() -> _HostStates:
    numpy = _get_numpy()
    numpy_state = numpy.random.get_state() if numpy is not None else None
    return random.getstate(), torch.get_rng_state(), numpy_state


def _set_host_states(states: _HostStates) -> None:
    python_state, torch_state, numpy_state = states
    random.setstate(python_state)
    torch.set_rng_state(torch_state)
    numpy = _get_numpy()
    if numpy is not None and numpy_state is not None:
        numpy.random.set_state(numpy_state)


@contextlib.contextmanager
def fork_rng(seed: int) -> Iterator[None]:
    """Seeds all generators inside the block, and restores their states after it."""
    before = get_rng_state()
    seed_all(seed)
    try:
        yield
    finally:
        set_rng_state(before)
