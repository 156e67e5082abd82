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

# The names that existing scripts catch.
CheckpointNotFound = CheckpointError
CheckpointStateException = CheckpointError
InvalidCheckpointException = CheckpointError
MultipleDownloadsFailed = CheckpointError
NoDirectStorageAccess = CheckpointError
ProxiedDownloadFailed = CheckpointError
EnterpriseOnlyError = MasterError


class InternalException(Exception):
    """An error of this package. Nothing raises it; existing scripts name it."""


class InvalidExperimentException(Exception):
    """The experiment is invalid. Scripts may raise it; this package raises TypeError or ValueError."""


class InvalidConfigurationException(InvalidExperimentException):
    """The experiment config is invalid. See InvalidExperimentException."""


class InvalidDataTypeException(InvalidExperimentException):
    """The type of the data is invalid. See InvalidExperimentException."""


class InvalidModelException(InvalidExperimentException):
    """The model is invalid. See InvalidExperimentException."""


__all__ = [
    "CheckpointError",
    "CheckpointNotFound",
    "CheckpointStateException",
    "EnterpriseOnlyError",
    "ForbiddenError",
    "InternalException",
    "InvalidCheckpointException",
    "InvalidConfigurationException",
    "InvalidDataTypeException",
    "InvalidExperimentException",
    "InvalidHP",
    "InvalidModelException",
    "MasterError",
    "MultipleDownloadsFailed",
    "NoDirectStorageAccess",
    "NotFoundError",
    "ProxiedDownloadFailed",
    "RunIsOver",
    "StorageUnreachable",
    "UnauthenticatedError",
]
