"""Metric reports of the SDK. det.experimental.client has them, too."""

from det.experimental.client import TrialMetrics
from det.experimental.client import TrialMetrics as TrainingMetrics
from det.experimental.client import TrialMetrics as ValidationMetrics

__all__ = ["TrainingMetrics", "TrialMetrics", "ValidationMetrics"]
