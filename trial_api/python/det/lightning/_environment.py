"""Tells Lightning which rank this process is. Needs lightning, or pytorch_lightning."""

from __future__ import annotations

import os

try:
    from lightning.pytorch.plugins.environments import ClusterEnvironment
except ImportError:
    from pytorch_lightning.plugins.environments import ClusterEnvironment

_OF_LAUNCHER = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT")


class DetEnvironment(ClusterEnvironment):  # type: ignore[misc]
    """For `plugins=` of a Trainer, in a script that det.launch.torch_distributed has started: a
    process per slot is there already, and Lightning is to start none.
    """

    def __init__(self) -> None:
        super().__init__()
        missing = [name for name in _OF_LAUNCHER if name not in os.environ]
        if missing:
            raise RuntimeError(
                f"${missing[0]} is not set: start the script by "
                "python3 -m det.launch.torch_distributed"
            )

    @property
    def creates_processes_externally(self) -> bool:
        return True

    @property
    def main_address(self) -> str:
        return os.environ["MASTER_ADDR"]

    @property
    def main_port(self) -> int:
        return int(os.environ["MASTER_PORT"])

    @staticmethod
    def detect() -> bool:
        """Whether det.launch has started this process: other launchers set no DET_RANK."""
        return all(name in os.environ for name in ("DET_RANK", *_OF_LAUNCHER))

    def world_size(self) -> int:
        return int(os.environ["WORLD_SIZE"])

    def set_world_size(self, size: int) -> None:
        """Nothing: the launcher has said it, as in the following."""

    def global_rank(self) -> int:
        return int(os.environ["RANK"])

    def set_global_rank(self, rank: int) -> None:
        """Nothing."""

    def local_rank(self) -> int:
        return int(os.environ["LOCAL_RANK"])

    def node_rank(self) -> int:
        return int(os.environ["GROUP_RANK"])
