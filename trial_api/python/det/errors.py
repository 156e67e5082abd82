"""The exceptions of this package, for scripts that catch them."""

from det._errors import CheckpointError, InvalidHP, MasterError, RunIsOver, StorageUnreachable

__all__ = ["CheckpointError", "InvalidHP", "MasterError", "RunIsOver", "StorageUnreachable"]
