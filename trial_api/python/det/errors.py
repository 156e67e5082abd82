"""What this package raises besides the built-in exceptions, to be caught by scripts."""

from det._errors import CheckpointError, InvalidHP, MasterError, RunIsOver, StorageUnreachable

__all__ = ["CheckpointError", "InvalidHP", "MasterError", "RunIsOver", "StorageUnreachable"]
