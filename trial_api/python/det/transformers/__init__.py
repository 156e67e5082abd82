"""Hugging Face's Trainer on the cluster: `callbacks=[DetCallback(core_context, args)]`."""

from det.transformers._callback import DetCallback

__all__ = ["DetCallback"]
