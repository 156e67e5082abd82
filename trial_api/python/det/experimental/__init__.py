"""Interfaces that may still change: the SDK, det.experimental.client, and its classes."""

from det.experimental import client
from det.experimental.client import (
    Checkpoint,
    Determined,
    DownloadMode,
    Experiment,
    Model,
    ModelSortBy,
    ModelVersion,
    OrderBy,
    Project,
    ResourcePool,
    Trial,
    User,
    Workspace,
)

__all__ = [
    "Checkpoint",
    "Determined",
    "DownloadMode",
    "Experiment",
    "Model",
    "ModelSortBy",
    "ModelVersion",
    "OrderBy",
    "Project",
    "ResourcePool",
    "Trial",
    "User",
    "Workspace",
    "client",
]
