"""TorchWriter, which existing Trials create."""

from __future__ import annotations

import importlib
import os
import pathlib
from types import ModuleType
from typing import TYPE_CHECKING, SupportsFloat

from det._info import get_cluster_info

if TYPE_CHECKING:
    from torch.utils.tensorboard.writer import SummaryWriter


class TorchWriter:
    """Writes to the event files of this rank, which are stored beside the checkpoints.

    In a Trial, context.get_tensorboard_writer() returns such a writer, too.

    Attributes:
        writer: A torch.utils.tensorboard.SummaryWriter.

    Raises:
        ImportError: The Python package tensorboard is not installed.
    """

    writer: SummaryWriter

    def __init__(self) -> None:
        try:
            tensorboard: ModuleType = importlib.import_module("torch.utils.tensorboard")
        except ImportError as error:
            raise ImportError(
                "TorchWriter needs the Python package tensorboard, which is not installed in the "
                "trial's environment"
            ) from error
        info = get_cluster_info()
        rank = os.environ.get("RANK") or "0"
        folder = pathlib.Path((info and info.run_dir) or ".", "tensorboard", f"rank-{rank}")
        self.writer = tensorboard.SummaryWriter(log_dir=str(folder))

    def add_scalar(self, name: str, value: SupportsFloat, step: int) -> None:
        """Adds a value to a series.

        Args:
            name: The name of the series.
            value: A number.
            step: The step.
        """
        self.writer.add_scalar(name, float(value), step)

    def reset(self) -> None:
        """Closes the file; the next value starts another one."""
        self.writer.close()

    def flush(self) -> None:
        """Writes what is buffered to the file."""
        self.writer.flush()
