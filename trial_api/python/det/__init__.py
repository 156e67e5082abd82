"""Resolute's package for training scripts. `import determined` imports the same package."""

from det import core, errors
from det._errors import CheckpointError, InvalidHP, MasterError
from det._info import ClusterInfo, TrialInfo, get_cluster_info
from det._version import __version__
from det.util import import_from_path

# A format for logging.basicConfig(). The level comes first, where the agent looks for it. The agent adds
# the time, and the launcher adds the rank.
LOG_FORMAT = "%(levelname)s: %(name)s: %(message)s"

__all__ = [
    "LOG_FORMAT",
    "CheckpointError",
    "ClusterInfo",
    "InvalidHP",
    "MasterError",
    "TrialInfo",
    "__version__",
    "core",
    "errors",
    "get_cluster_info",
    "import_from_path",
]
