"""Experiments of the SDK. det.experimental.client has them, too."""

from det.experimental.client import Experiment, ExperimentOrderBy, ExperimentSortBy, ExperimentState
from det.experimental.client import Experiment as ExperimentReference

__all__ = [
    "Experiment",
    "ExperimentOrderBy",
    "ExperimentReference",
    "ExperimentSortBy",
    "ExperimentState",
]
