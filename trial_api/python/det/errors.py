"""The exceptions of this package, for scripts that catch them."""

from det._errors import (
    CheckpointError,
    ForbiddenError,
    InvalidHP,
    MasterError,
    NotFoundError,
    RunIsOver,
    StorageUnreachable,
    UnauthenticatedError,
)

__all__ = [
    "CheckpointError",
    "ForbiddenError",
    "InvalidHP",
    "MasterError",
    "NotFoundError",
    "RunIsOver",
    "StorageUnreachable",
    "UnauthenticatedError",
]
