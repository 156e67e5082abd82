"""Interfaces that may still change: the SDK, det.experimental.client, and its classes."""

from det.experimental import checkpoint, client, metrics, model
from det.experimental._test import test_one_batch
from det.experimental.client import (
    Checkpoint,
    Determined,
    DownloadMode,
    Experiment,
    Model,
    ModelOrderBy,
    ModelSortBy,
    ModelVersion,
    OrderBy,
    Project,
    ResourcePool,
    Trial,
    TrialOrderBy,
    TrialSortBy,
    User,
    Workspace,
)
from det.experimental.client import Experiment as ExperimentReference
from det.experimental.client import Trial as TrialReference

__all__ = [
    "Checkpoint",
    "Determined",
    "DownloadMode",
    "Experiment",
    "ExperimentReference",
    "Model",
    "ModelOrderBy",
    "ModelSortBy",
    "ModelVersion",
    "OrderBy",
    "Project",
    "ResourcePool",
    "Trial",
    "TrialOrderBy",
    "TrialReference",
    "TrialSortBy",
    "User",
    "Workspace",
    "checkpoint",
    "client",
    "metrics",
    "model",
    "test_one_batch",
]
