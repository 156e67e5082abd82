"""Checkpoints of the SDK. det.experimental.client has them, too."""

from det.experimental.client import (
    Checkpoint,
    CheckpointOrderBy,
    CheckpointSortBy,
    CheckpointState,
    DownloadMode,
)

__all__ = ["Checkpoint", "CheckpointOrderBy", "CheckpointSortBy", "CheckpointState", "DownloadMode"]
