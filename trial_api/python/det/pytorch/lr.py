"""Learning rates as functions of how far training is: those of the C++ `det::lr`, number for number.

    optimizer = context.wrap_optimizer(torch.optim.SGD(model.parameters(), lr=0.1))
    factor = lr.scaled(lr.linear_scaling(4096, 256), lr.warmup(500, lr.cosine()))
    schedule = lr.schedule(optimizer, factor, max_steps=20000)
    context.wrap_lr_scheduler(schedule, LRScheduler.StepMode.STEP_EVERY_OPTIMIZER_STEP)

A factor is what the rate that the optimizer was made with is multiplied by, for the step that comes
after `steps` of `max_steps`; any function of the user's own will do. There is no state but the number
of steps: a resumed run has the rates of the uninterrupted one, on however many slots. ValueError for
an argument outside of what is said here.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import torch

Factor = Callable[[int, int], float]


def schedule(optimizer: Any, factor: Factor, max_steps: int) -> torch.optim.lr_scheduler.LambdaLR:
    """For wrap_lr_scheduler(). `max_steps` counts what its StepMode counts; at least 1."""
    _require_at_least_one("schedule(): max_steps", max_steps)
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda steps: factor(steps, max_steps))


def constant() -> Factor:
    """1 for ever."""
    return lambda steps, max_steps: 1.0


def warmup(steps: int, then: Factor = constant(), start: float = 0.0) -> Factor:
    """Grows in equal parts from `start` to 1, which the step number `steps` has, then as `then`
    says, which counts from there. For large batches: Goyal et al., "Accurate, Large Minibatch SGD",
    2017, section 2.2."""
    _require_at_least_one("warmup(): steps", steps)

    def factor(done: int, max_steps: int) -> float:
        if done >= steps:
            return then(done - steps, max_steps - steps)
        return start + (1.0 - start) * (done + 1) / steps

    return factor


def cosine(to: float = 0.0) -> Factor:
    """Half a wave of a cosine from 1 down to `to` at the end of training: Loshchilov and Hutter,
    "SGDR", 2017, without restarts."""

    def factor(steps: int, max_steps: int) -> float:
        return to + (1.0 - to) * (1.0 + math.cos(math.pi * _share(steps, max_steps))) / 2.0

    return factor


def polynomial(power: float = 1.0, to: float = 0.0) -> Factor:
    """to + (1 - to) * (1 - steps / max_steps) ** power; power above 0, 1 being a straight line."""
    _require_above_zero("polynomial(): power", power)

    def factor(steps: int, max_steps: int) -> float:
        return float(to + (1.0 - to) * (1.0 - _share(steps, max_steps)) ** power)

    return factor


def stairs(every: int, gamma: float) -> Factor:
    """gamma ** (steps / every), in whole stairs; `every` at least 1."""
    _require_at_least_one("stairs(): every", every)
    _require_above_zero("stairs(): gamma", gamma)
    return lambda steps, max_steps: float(gamma ** (steps // every))


def exponential(gamma: float) -> Factor:
    """gamma ** steps."""
    _require_above_zero("exponential(): gamma", gamma)
    return stairs(1, gamma)


def scaled(by: float, then: Factor = constant()) -> Factor:
    """`by` times `then`."""
    _require_above_zero("scaled(): by", by)
    return lambda steps, max_steps: by * then(steps, max_steps)


def linear_scaling(size: int, reference: int) -> float:
    """By what the rate found for batches of `reference` records is multiplied for batches of
    `size`, in proportion (Goyal et al., section 2.1). Both at least 1."""
    _require_at_least_one("linear_scaling(): size", size)
    _require_at_least_one("linear_scaling(): reference", reference)
    return size / reference


def square_root_scaling(size: int, reference: int) -> float:
    """The same with the square root, which keeps the variance of the steps: Krizhevsky, "One weird
    trick", 2014, section 5."""
    _require_at_least_one("square_root_scaling(): size", size)
    _require_at_least_one("square_root_scaling(): reference", reference)
    return math.sqrt(linear_scaling(size, reference))


def _share(steps: int, max_steps: int) -> float:
    """0 at the beginning, 1 at the end; 1 where there is nothing to train."""
    return min(max(steps / max_steps, 0.0), 1.0) if max_steps > 0 else 1.0


def _require_at_least_one(what: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"lr.{what} is {value}: must be at least 1")


def _require_above_zero(what: str, value: float) -> None:
    if not value > 0.0:  # So that NaN is refused, too.
        raise ValueError(f"lr.{what} is {value}: must be above 0")
