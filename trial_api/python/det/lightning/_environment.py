"""The rank of this process for Lightning. Needs the package lightning or pytorch_lightning."""

from __future__ import annotations

import os

try:
    from lightning.pytorch.plugins.environments import ClusterEnvironment
except ImportError:
    from pytorch_lightning.plugins.environments import ClusterEnvironment

_LAUNCHER_VARIABLES = (
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "GROUP_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
)


class DetEnvironment(ClusterEnvironment):  # type: ignore[misc]
    """A cluster environment for `plugins=` of a Trainer.

    The script must be started by det.launch.torch_distributed, which starts one process for each
    slot, so that Lightning starts none.

    Raises:
        RuntimeError: The launcher has not started this process.
    """

    def __init__(self) -> None:
        super().__init__()
        missing = [name for name in _LAUNCHER_VARIABLES if name not in os.environ]
        if missing:
            raise RuntimeError(
                f"${missing[0]} is not set: start the script with "
                "python3 -m det.launch.torch_distributed"
            )

    @property
    def creates_processes_externally(self) -> bool:
        """True: the launcher starts the processes."""
        return True

    @property
    def main_address(self) -> str:
        """The address of rank 0."""
        return os.environ["MASTER_ADDR"]

    @property
    def main_port(self) -> int:
        """The port of rank 0."""
        return int(os.environ["MASTER_PORT"])

    @staticmethod
    def detect() -> bool:
        """Returns whether det.launch has started this process; other launchers do not set DET_RANK."""
        return all(name in os.environ for name in ("DET_RANK", *_LAUNCHER_VARIABLES))

    def world_size(self) -> int:
        """Returns the number of ranks."""
        return int(os.environ["WORLD_SIZE"])

    def set_world_size(self, size: int) -> None:
        """Does nothing: the launcher has set it."""

    def global_rank(self) -> int:
        """Returns the rank of this process."""
        return int(os.environ["RANK"])

    def set_global_rank(self, rank: int) -> None:
        """Does nothing: the launcher has set it."""

    def local_rank(self) -> int:
        """Returns the rank of this process on its node."""
        return int(os.environ["LOCAL_RANK"])

    def node_rank(self) -> int:
        """Returns the index of this node."""
        return int(os.environ["GROUP_RANK"])
