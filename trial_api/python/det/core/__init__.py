"""The Core API: what a training process knows about its trial, and what it reports."""

from det.core._checkpoint import CheckpointContext, DownloadMode, PendingCheckpoint
from det.core._context import Context, TensorboardMode, init
from det.core._distributed import DistributedContext
from det.core._dummy import (
    DummyCheckpointContext,
    DummyDistributedContext,
    DummyPreemptContext,
    DummyProfilerContext,
    DummySearcherContext,
    DummySearcherOperation,
    DummyTrainContext,
    Unit,
)
from det.core._preempt import PreemptContext, PreemptMode
from det.core._profiler import ProfilerContext
from det.core._searcher import SearcherContext, SearcherMode, SearcherOperation
from det.core._train import EarlyExitReason, TrainContext

__all__ = [
    "CheckpointContext",
    "Context",
    "DistributedContext",
    "DownloadMode",
    "DummyCheckpointContext",
    "DummyDistributedContext",
    "DummyPreemptContext",
    "DummyProfilerContext",
    "DummySearcherContext",
    "DummySearcherOperation",
    "DummyTrainContext",
    "EarlyExitReason",
    "PendingCheckpoint",
    "PreemptContext",
    "PreemptMode",
    "ProfilerContext",
    "SearcherContext",
    "SearcherMode",
    "SearcherOperation",
    "TensorboardMode",
    "TrainContext",
    "Unit",
    "init",
]
