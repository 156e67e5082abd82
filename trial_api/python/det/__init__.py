"""Resolute's package for training scripts. `import determined` gives the same package."""

from det import core
from det._errors import CheckpointError, InvalidHP, MasterError
from det._info import ClusterInfo, TrialInfo, get_cluster_info
from det._version import __version__

__all__ = [
    "CheckpointError",
    "ClusterInfo",
    "InvalidHP",
    "MasterError",
    "TrialInfo",
    "__version__",
    "core",
    "get_cluster_info",
]
