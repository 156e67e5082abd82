"""The SDK"s session of one user. det.experimental.client has them, too."""

from det.experimental.client import Determined

__all__ = ["Determined"]
