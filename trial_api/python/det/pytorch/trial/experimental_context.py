"""PyTorchExperimentalContext: `context.experimental`, whose methods may change."""

from __future__ import annotations

import contextlib
import importlib
from contextlib import AbstractContextManager
from types import ModuleType

import torch

from det.pytorch.distributed.optimizations import Optimizations
from det.pytorch.utilities.types import Scaler

_NO_AUTOCAST: AbstractContextManager[object] = contextlib.nullcontext()
_DEFAULT_OPTIMIZATIONS = Optimizations()


class PyTorchExperimentalContext:
    """Mixed precision, and exceptions from how data is handled.

    Attributes:
        auto_amp: Whether train_batch() and evaluate_batch() run under torch.autocast.
        scaler: The GradScaler of auto_amp on a GPU; None without.
        auto_to_device: Whether batches are moved to the slot's device.
        reproducibility_checks: Whether data loaders must be reproducible.
    """

    def __init__(
        self,
        device: torch.device,
        optimizations: Optimizations = _DEFAULT_OPTIMIZATIONS,
        is_sharded: bool = False,
    ) -> None:
        """Creates the object. PyTorchTrialContext does.

        Args:
            device: The slot's device.
            optimizations: The section of the experiment config.
            is_sharded: Whether each rank has only a part of the weights.
        """
        self._device = device
        self._optimizations = optimizations
        self._is_sharded = is_sharded
        self._autocast_dtype = optimizations.autocast_dtype(device)
        self.auto_amp = self._autocast_dtype is not None
        self.scaler: Scaler | None = None
        if self._autocast_dtype is torch.float16 and device.type == "cuda":
            self.scaler = self._create_scaler()
        self.auto_to_device = True
        self.reproducibility_checks = True

    def use_amp(self) -> None:
        """Enables automatic mixed precision.

        train_batch() and evaluate_batch() run under torch.autocast: in float16 with loss scaling on
        a GPU, in bfloat16 on a CPU. No further calls are needed.

        Raises:
            RuntimeError: If optimizations.mixed_precision of the config is set.
        """
        self.refuse_second_amp("context.experimental.use_amp()")
        self.auto_amp = True
        if self._device.type == "cuda":
            self.scaler = self._create_scaler()

    def _create_scaler(self) -> Scaler:
        if not self._is_sharded:
            # torch 2.3 has it for every device, and torch 2.4 warns about the older name.
            newer = getattr(getattr(torch, "amp", None), "GradScaler", None)
            older: ModuleType = torch.cuda.amp
            scaler: Scaler = newer("cuda") if newer else older.GradScaler()
            return scaler
        # All ranks must know whether a gradient overflowed.
        module = importlib.import_module("torch.distributed.fsdp.sharded_grad_scaler")
        sharded: Scaler = module.ShardedGradScaler()
        return sharded

    def refuse_scaler(self, name: str) -> None:
        """Checks that the Trial may use a scaler of its own.

        Args:
            name: The call of the Trial, for errors.

        Raises:
            RuntimeError: If the config enables mixed precision, or slots have parts of the weights.
        """
        self.refuse_second_amp(name)
        if self._is_sharded:
            raise RuntimeError(
                f"optimizations.strategy {self._optimizations.strategy} needs a scaler that all slots "
                f"share, and the Trial calls {name}: remove the call, and set "
                "optimizations.mixed_precision"
            )

    def refuse_second_amp(self, name: str) -> None:
        """Checks that the config does not enable mixed precision.

        Args:
            name: The call of the Trial, for errors.

        Raises:
            RuntimeError: If it does.
        """
        if self._autocast_dtype is not None:
            raise RuntimeError(
                "optimizations.mixed_precision of the experiment config is "
                f"{self._optimizations.mixed_precision}, and the Trial calls {name}: remove the call, "
                "or set mixed_precision to O0"
            )

    def disable_auto_to_device(self) -> None:
        """Leaves batches where the data loader puts them."""
        self.auto_to_device = False

    def disable_dataset_reproducibility_checks(self) -> None:
        """Allows build_*_data_loader() to return any iterable of batches.

        It is read unchanged on every rank: the Trial divides it among the ranks and shuffles it.
        """
        self.reproducibility_checks = False

    def autocast(self) -> AbstractContextManager[object]:
        """Returns the context manager for train_batch() and evaluate_batch()."""
        if not self.auto_amp:
            return _NO_AUTOCAST
        default = torch.float16 if self._device.type == "cuda" else torch.bfloat16
        torch_: ModuleType = torch  # Not all versions export autocast to type checkers.
        autocast: AbstractContextManager[object] = torch_.autocast(
            self._device.type, dtype=self._autocast_dtype or default
        )
        return autocast
