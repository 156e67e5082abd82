"""Keras on the cluster: `model.fit(..., callbacks=[callback])`."""

from det.keras._callback import DetCallback, load_model_from_checkpoint_path
from det.keras._determined import DeterminedCallback, TensorBoard

__all__ = ["DetCallback", "DeterminedCallback", "TensorBoard", "load_model_from_checkpoint_path"]
