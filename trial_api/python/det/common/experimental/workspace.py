"""Workspaces of the SDK. det.experimental.client has them, too."""

from det.experimental.client import Workspace

__all__ = ["Workspace"]
