"""Resolute's package for training scripts. `import determined` imports the same package."""

from typing import TYPE_CHECKING

from det import core, errors
from det._errors import CheckpointError, InvalidHP, MasterError
from det._existing import ExperimentConfig, LegacyTrial, TrialContext
from det._info import ClusterInfo, TrialInfo, get_cluster_info
from det._version import __version__
from det.util import import_from_path

if TYPE_CHECKING:
    from det.detached import Run as Run
    from det.detached import init as init

# A format for logging.basicConfig(). The level comes first, where the agent looks for it. The agent adds
# the time, and the launcher adds the rank.
LOG_FORMAT = "%(levelname)s: %(name)s: %(message)s"

__all__ = [
    "LOG_FORMAT",
    "CheckpointError",
    "ClusterInfo",
    "ExperimentConfig",
    "InvalidHP",
    "LegacyTrial",
    "MasterError",
    "TrialContext",
    "TrialInfo",
    "__version__",
    "core",
    "errors",
    "get_cluster_info",
    "import_from_path",
]


def __getattr__(name: str) -> object:
    """Loads the short form when a script uses it: most scripts of the cluster do not."""
    if name not in ("Run", "init"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from det import detached

    return getattr(detached, name)
