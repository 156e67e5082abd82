"""What may change: `context.experimental`."""

from __future__ import annotations

from typing import Any

import torch


class PyTorchExperimentalContext:
    """Of a PyTorchTrialContext."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.auto_amp = False
        self.scaler: Any = None  # Of auto_amp.
        self.auto_to_device = True
        self.reproducibility_checks = True

    def use_amp(self) -> None:
        """Mixed precision without further calls: float16 with loss scaling on a GPU, bfloat16 on a
        CPU. train_batch() and evaluate_batch() run under torch.autocast."""
        self.auto_amp = True
        if self._device.type == "cuda":
            self.scaler = torch.cuda.amp.GradScaler()

    def disable_auto_to_device(self) -> None:
        """Batches stay where the data loader has put them."""
        self.auto_to_device = False

    def disable_dataset_reproducibility_checks(self) -> None:
        """build_*_data_loader() may return any iterable of batches, which is read as it is on every
        rank: to divide it among the ranks, and to shuffle it, is up to it."""
        self.reproducibility_checks = False

    def autocast(self) -> torch.autocast:
        return torch.autocast(
            self._device.type,
            dtype=torch.float16 if self._device.type == "cuda" else torch.bfloat16,
            enabled=self.auto_amp,
        )
