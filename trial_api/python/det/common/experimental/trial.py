"""Trials of the SDK. det.experimental.client has them, too."""

from det.experimental.client import Trial, TrialOrderBy, TrialSortBy, TrialState
from det.experimental.client import Trial as TrialReference

__all__ = ["Trial", "TrialOrderBy", "TrialReference", "TrialSortBy", "TrialState"]
