"""Resource pools of the SDK. det.experimental.client has them, too."""

from det.experimental.client import ResourcePool

__all__ = ["ResourcePool"]
