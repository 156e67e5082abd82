"""What may change: `context.experimental`."""

from __future__ import annotations

import contextlib
from typing import Any, ContextManager

import torch

from det.pytorch._optimizations import Optimizations

_NOTHING: ContextManager[Any] = contextlib.nullcontext()


class PyTorchExperimentalContext:
    """Of a PyTorchTrialContext."""

    def __init__(
        self,
        device: torch.device,
        told: Optimizations = Optimizations(),
        in_parts: bool = False,
    ) -> None:
        self._device = device
        self._told = told
        self._in_parts = in_parts
        self._computes_in = told.computes_in(device)
        self.auto_amp = self._computes_in is not None
        self.scaler: Any = None  # Of auto_amp.
        if self._computes_in is torch.float16 and device.type == "cuda":
            self.scaler = self._new_scaler()
        self.auto_to_device = True
        self.reproducibility_checks = True

    def use_amp(self) -> None:
        """Mixed precision without further calls: float16 with loss scaling on a GPU, bfloat16 on a
        CPU. train_batch() and evaluate_batch() run under torch.autocast. Raises RuntimeError where
        the configuration asks for it already."""
        self.refuse_two("context.experimental.use_amp()")
        self.auto_amp = True
        if self._device.type == "cuda":
            self.scaler = self._new_scaler()

    def _new_scaler(self) -> Any:
        if not self._in_parts:
            # Torch 2.3 has it for every device, and from 2.4 on warns of the older name.
            newer = getattr(getattr(torch, "amp", None), "GradScaler", None)
            return newer("cuda") if newer else torch.cuda.amp.GradScaler()
        # Whether a gradient overflowed, all ranks must know.
        from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

        return ShardedGradScaler()

    def refuse_scaler(self, name: str) -> None:
        """Raises RuntimeError if `name` would bring a scaler that cannot do its work."""
        self.refuse_two(name)
        if self._in_parts:
            raise RuntimeError(
                f"optimizations.strategy {self._told.strategy} needs a scaler that all slots share, "
                f"and the Trial calls {name}: leave it out, and set optimizations.mixed_precision"
            )

    def refuse_two(self, name: str) -> None:
        """Raises RuntimeError if `name` would be a second way to mixed precision."""
        if self._computes_in is not None:
            raise RuntimeError(
                f"optimizations.mixed_precision of the configuration is "
                f"{self._told.mixed_precision}, and the Trial calls {name}: leave out the call, or "
                "set mixed_precision to O0"
            )

    def disable_auto_to_device(self) -> None:
        """Batches stay where the data loader has put them."""
        self.auto_to_device = False

    def disable_dataset_reproducibility_checks(self) -> None:
        """build_*_data_loader() may return any iterable of batches, which is read as it is on every
        rank: to divide it among the ranks, and to shuffle it, is up to it."""
        self.reproducibility_checks = False

    def autocast(self) -> ContextManager[Any]:
        if not self.auto_amp:
            return _NOTHING
        usual = torch.float16 if self._device.type == "cuda" else torch.bfloat16
        return torch.autocast(self._device.type, dtype=self._computes_in or usual)
