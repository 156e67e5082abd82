"""LRScheduler: steps a learning-rate scheduler of torch at the right time."""

from __future__ import annotations

import enum
from typing import Any, Callable

import torch

from det.pytorch.utilities.types import StateDict, TorchScheduler


class LRScheduler:
    """Wraps a learning-rate scheduler of torch. PyTorchTrialContext.wrap_lr_scheduler() creates it.

    It also has the attributes of the wrapped scheduler.
    """

    class StepMode(enum.Enum):
        """When the scheduler is stepped.

        STEP_EVERY_EPOCH steps it after each epoch, and STEP_EVERY_OPTIMIZER_STEP after each
        optimizer step. With MANUAL_STEP the Trial calls step().

        STEP_EVERY_BATCH counts batches. With an aggregation_frequency of n it is stepped after each
        optimizer step, n times in a row: the learning rate does not change while gradients are
        aggregated, and is after all that of the number of batches. STEP_EVERY_OPTIMIZER_STEP is
        usually the better choice then.
        """

        STEP_EVERY_EPOCH = 1
        STEP_EVERY_BATCH = 2
        MANUAL_STEP = 3
        STEP_EVERY_OPTIMIZER_STEP = 4

    def __init__(self, scheduler: TorchScheduler, step_mode: StepMode, frequency: int = 1) -> None:
        """Wraps a scheduler.

        Args:
            scheduler: A scheduler of torch, or an object with the same methods.
            step_mode: When it is stepped.
            frequency: It is stepped after every `frequency` epochs, batches or optimizer steps.

        Raises:
            TypeError: If the scheduler has no step(), or step_mode is not a StepMode.
            ValueError: If frequency is not an integer of at least 1.
        """
        if not isinstance(step_mode, LRScheduler.StepMode):
            raise TypeError(f"step_mode is {step_mode!r}: must be one of LRScheduler.StepMode")
        if not isinstance(frequency, int) or frequency < 1:
            raise ValueError(f"frequency is {frequency!r}: must be an integer >= 1")
        if not callable(getattr(scheduler, "step", None)):
            raise TypeError(f"{scheduler!r} is not a learning-rate scheduler: it has no step()")
        self._scheduler = scheduler
        self._mode = step_mode
        self._frequency = frequency

    @property
    def step_mode(self) -> StepMode:
        """When the scheduler is stepped."""
        return self._mode

    @property
    def optimizer(self) -> torch.optim.Optimizer | None:
        """The optimizer whose learning rate it sets; None if the scheduler does not tell."""
        optimizer: torch.optim.Optimizer | None = getattr(self._scheduler, "optimizer", None)
        return optimizer

    def step(self, *args: object, **kwargs: object) -> None:
        """Steps the scheduler. For StepMode.MANUAL_STEP.

        Args:
            *args: Arguments of the wrapped scheduler's step().
            **kwargs: Keyword arguments of the wrapped scheduler's step().
        """
        step: Callable[..., object] = self._scheduler.step
        step(*args, **kwargs)

    def step_after(self, event: StepMode, count: int) -> None:
        """Steps the scheduler if it is due.

        Args:
            event: What has ended: an epoch, a batch or an optimizer step.
            count: How many of those have ended, at least 1.
        """
        if self._mode is event and count % self._frequency == 0:
            self._scheduler.step()

    def get_last_lr(self) -> list[float]:
        """Returns the present learning rate of each parameter group."""
        rates: list[float] = getattr(self._scheduler, "get_last_lr")()  # noqa: B009 ReduceLROnPlateau of older torch lacks it.
        return rates

    def state_dict(self) -> StateDict:
        """Returns the state of the wrapped scheduler."""
        return dict(self._scheduler.state_dict())

    def load_state_dict(self, state: StateDict) -> None:
        """Restores what state_dict() returned.

        Args:
            state: What state_dict() returned.
        """
        self._scheduler.load_state_dict(state)

    def __getattr__(self, name: str) -> Any:
        if name == "_scheduler":  # While an instance is being unpickled.
            raise AttributeError(name)
        return getattr(self._scheduler, name)
