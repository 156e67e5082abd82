"""The SDK under the name that older scripts import. det.experimental.client has it, too."""

from det.experimental.client import (
    Checkpoint,
    Determined,
    Experiment,
    Model,
    ModelOrderBy,
    ModelSortBy,
    ModelVersion,
    OrderBy,
    Project,
    Trial,
    TrialMetrics,
    TrialOrderBy,
    TrialSortBy,
)
from det.experimental.client import Experiment as ExperimentReference
from det.experimental.client import Trial as TrialReference
from det.experimental.client import TrialMetrics as TrainingMetrics
from det.experimental.client import TrialMetrics as ValidationMetrics

__all__ = [
    "Checkpoint",
    "Determined",
    "Experiment",
    "ExperimentReference",
    "Model",
    "ModelOrderBy",
    "ModelSortBy",
    "ModelVersion",
    "OrderBy",
    "Project",
    "TrainingMetrics",
    "Trial",
    "TrialMetrics",
    "TrialOrderBy",
    "TrialReference",
    "TrialSortBy",
    "ValidationMetrics",
]
