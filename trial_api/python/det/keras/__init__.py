"""Keras on the cluster: `model.fit(..., callbacks=[callback])`."""

from det.keras._callback import DetCallback
from det.keras._determined import DeterminedCallback, TensorBoard

__all__ = ["DetCallback", "DeterminedCallback", "TensorBoard"]
