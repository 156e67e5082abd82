"""Keras on the cluster: `model.fit(..., callbacks=[callback])`."""

from det.keras._callback import DetCallback

__all__ = ["DetCallback"]
