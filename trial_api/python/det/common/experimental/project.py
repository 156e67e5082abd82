"""Projects of the SDK. det.experimental.client has them, too."""

from det.experimental.client import Project

__all__ = ["Project"]
