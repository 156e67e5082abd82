"""Classes that existing scripts create for runs off the cluster, where init() creates them."""

from __future__ import annotations

import enum
import os
import pathlib
from typing import Any

from det.core._checkpoint import CheckpointContext
from det.core._distributed import DistributedContext
from det.core._preempt import PreemptContext, PreemptMode
from det.core._profiler import ProfilerContext
from det.core._registry import Registry
from det.core._searcher import SearcherContext, SearcherOperation
from det.core._storage import FolderStorage
from det.core._train import PrintedTrain


class Unit(enum.Enum):
    """The units of a length."""

    EPOCHS = "EPOCHS"
    RECORDS = "RECORDS"
    BATCHES = "BATCHES"


class DummyDistributedContext(DistributedContext):
    """One rank; DistributedContext.single()."""

    def __init__(self) -> None:
        super().__init__(rank=0, size=1)


class DummyTrainContext(PrintedTrain):
    """Prints metrics.

    Args:
        tensorboard_path: The directory for event files. None: ./tensorboard.
    """

    def __init__(self, tensorboard_path: pathlib.Path | None = None) -> None:
        super().__init__(chief=True, rank=0)
        if tensorboard_path is not None:
            self._tensorboard = pathlib.Path(tensorboard_path)


class DummyPreemptContext(PreemptContext):
    """Never preempts.

    Args:
        dist: The ranks.
        preempt_mode: Which ranks ask.
    """

    def __init__(
        self,
        dist: DistributedContext,
        preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    ) -> None:
        super().__init__(dist, preempt_mode)


class DummyCheckpointContext(CheckpointContext):
    """Stores checkpoints in a directory.

    Args:
        dist: The ranks.
        storage: The directory.

    Raises:
        TypeError: It is something else, such as a storage manager.
    """

    def __init__(self, dist: DistributedContext, storage: str | os.PathLike[str]) -> None:
        if not isinstance(storage, (str, os.PathLike)):
            raise TypeError(
                f"the storage is {storage!r}; expected a directory; call "
                "core.init(checkpoint_storage=...) for another storage"
            )
        folder = FolderStorage(pathlib.Path(storage))
        super().__init__(dist, folder, Registry(folder.place))


class DummySearcherContext(SearcherContext):
    """One operation.

    Args:
        dist: The ranks.
        length: The length of the operation in epochs.
    """

    def __init__(self, dist: DistributedContext, length: int = 1) -> None:
        config = {"searcher": {"max_length": {"epochs": length}}}
        super().__init__(config, dist, [], DummyTrainContext())


class DummySearcherOperation(SearcherOperation):
    """One operation.

    Args:
        length: Its length in epochs.
        is_chief: Whether this rank is the chief.
    """

    def __init__(self, length: int, is_chief: bool) -> None:
        super().__init__(length, "epochs", is_chief, DummyTrainContext())


class DummyProfilerContext(ProfilerContext):
    """Reports nothing."""

    def __init__(self) -> None:
        super().__init__(DummyTrainContext(), enabled=False)

    def on(self, *_args: Any, **_kwargs: Any) -> None:
        """Does nothing."""
