"""Lightning on the cluster: `Trainer(logger=DetLogger(core_context), ...)`."""

from det.lightning._logger import DetLogger

__all__ = ["DetLogger"]
