"""Learning-rate schedules of torch, stepped at the right moments."""

from __future__ import annotations

import enum
from typing import Any, Dict


class LRScheduler:
    """Around one of torch's; made by PyTorchTrialContext.wrap_lr_scheduler()."""

    class StepMode(enum.Enum):
        """When step() is called: after each epoch, batch or optimizer step, or by the user only."""

        STEP_EVERY_EPOCH = 1
        STEP_EVERY_BATCH = 2
        MANUAL_STEP = 3
        STEP_EVERY_OPTIMIZER_STEP = 4

    def __init__(self, scheduler: Any, step_mode: StepMode, frequency: int = 1) -> None:
        if not isinstance(step_mode, LRScheduler.StepMode):
            raise TypeError(f"step_mode is {step_mode!r}: give one of LRScheduler.StepMode")
        if not isinstance(frequency, int) or frequency < 1:
            raise ValueError(f"frequency is {frequency!r}: must be a number of at least 1")
        if not callable(getattr(scheduler, "step", None)):
            raise TypeError(f"{scheduler!r} is no schedule of learning rates: it has no step()")
        self._scheduler = scheduler
        self._mode = step_mode
        self._frequency = frequency

    @property
    def step_mode(self) -> StepMode:
        return self._mode

    @property
    def optimizer(self) -> Any:
        return getattr(self._scheduler, "optimizer", None)

    def step(self, *args: Any, **kwargs: Any) -> None:
        self._scheduler.step(*args, **kwargs)

    def step_after(self, moment: StepMode, count: int) -> None:
        """Steps if it is due after `count` (from 1) of what `moment` names."""
        if self._mode is moment and count % self._frequency == 0:
            self._scheduler.step()

    def get_last_lr(self) -> Any:
        return self._scheduler.get_last_lr()

    def state_dict(self) -> Dict[str, Any]:
        return dict(self._scheduler.state_dict())

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self._scheduler.load_state_dict(state)

    def __getattr__(self, name: str) -> Any:
        if name == "_scheduler":  # While an instance is being unpickled.
            raise AttributeError(name)
        return getattr(self._scheduler, name)
