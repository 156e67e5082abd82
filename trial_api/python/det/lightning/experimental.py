"""DetLogger under the name that existing scripts import."""

from det.lightning._logger import DetLogger

__all__ = ["DetLogger"]
