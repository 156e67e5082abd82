"""Users of the SDK. det.experimental.client has them, too."""

from det.experimental.client import User

__all__ = ["User"]
