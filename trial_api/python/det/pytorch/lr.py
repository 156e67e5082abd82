"""Learning-rate schedules as functions of the progress of training.

They are those of the C++ namespace `det::lr`, with equal results.

Example:
    >>> optimizer = context.wrap_optimizer(torch.optim.SGD(model.parameters(), lr=0.1))
    >>> factor = lr.scaled(lr.linear_scaling(4096, 256), lr.warmup(500, lr.cosine()))
    >>> scheduler = lr.schedule(optimizer, factor, max_steps=20000)
    >>> context.wrap_lr_scheduler(scheduler, LRScheduler.StepMode.STEP_EVERY_OPTIMIZER_STEP)

A factor is a function (steps, max_steps) -> float: what the optimizer's initial learning rate is
multiplied with in the step after `steps` of `max_steps` steps. Functions of your own are possible.
The only state is the number of steps, so a resumed run has the learning rates of the uninterrupted
one, on any number of slots.
"""

from __future__ import annotations

import math
from typing import Callable

import torch

Factor = Callable[[int, int], float]


def schedule(
    optimizer: torch.optim.Optimizer, factor: Factor, max_steps: int
) -> torch.optim.lr_scheduler.LambdaLR:
    """Creates a scheduler of torch for wrap_lr_scheduler().

    Args:
        optimizer: What wrap_optimizer() returned.
        factor: The factor.
        max_steps: The length of training in the unit of the StepMode, at least 1.

    Raises:
        ValueError: If max_steps is less than 1.
    """
    _require_at_least_one("schedule(): max_steps", max_steps)
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda steps: factor(steps, max_steps))


def constant() -> Factor:
    """Returns a factor of 1."""
    return lambda steps, max_steps: 1.0


_CONSTANT = constant()


def warmup(steps: int, then: Factor = _CONSTANT, start: float = 0.0) -> Factor:
    """Returns a factor that increases linearly, and continues with another one.

    Goyal et al., "Accurate, Large Minibatch SGD", 2017, section 2.2.

    Args:
        steps: The number of steps after which the factor is 1, at least 1.
        then: The factor after them; it counts steps from there.
        start: The factor before the first step.

    Raises:
        ValueError: If steps is less than 1.
    """
    _require_at_least_one("warmup(): steps", steps)

    def factor(done: int, max_steps: int) -> float:
        if done >= steps:
            return then(done - steps, max_steps - steps)
        return start + (1.0 - start) * (done + 1) / steps

    return factor


def cosine(to: float = 0.0) -> Factor:
    """Returns a factor that decreases from 1 to `to` along half a cosine wave.

    Loshchilov and Hutter, "SGDR", 2017, without restarts.

    Args:
        to: The factor at the end of training.
    """

    def factor(steps: int, max_steps: int) -> float:
        return to + (1.0 - to) * (1.0 + math.cos(math.pi * _fraction(steps, max_steps))) / 2.0

    return factor


def polynomial(power: float = 1.0, to: float = 0.0) -> Factor:
    """Returns the factor to + (1 - to) * (1 - steps / max_steps) ** power.

    Args:
        power: The exponent, greater than 0; 1 is a straight line.
        to: The factor at the end of training.

    Raises:
        ValueError: If power is not greater than 0.
    """
    _require_above_zero("polynomial(): power", power)

    def factor(steps: int, max_steps: int) -> float:
        return float(to + (1.0 - to) * (1.0 - _fraction(steps, max_steps)) ** power)

    return factor


def stairs(every: int, gamma: float) -> Factor:
    """Returns the factor gamma ** (steps // every).

    Args:
        every: The number of steps between two changes, at least 1.
        gamma: What the factor is multiplied with at each change, greater than 0.

    Raises:
        ValueError: If every is less than 1, or gamma is not greater than 0.
    """
    _require_at_least_one("stairs(): every", every)
    _require_above_zero("stairs(): gamma", gamma)
    return lambda steps, max_steps: float(gamma ** (steps // every))


def exponential(gamma: float) -> Factor:
    """Returns the factor gamma ** steps.

    Args:
        gamma: What the factor is multiplied with in each step, greater than 0.

    Raises:
        ValueError: If gamma is not greater than 0.
    """
    _require_above_zero("exponential(): gamma", gamma)
    return stairs(1, gamma)


def scaled(by: float, then: Factor = _CONSTANT) -> Factor:
    """Returns a factor multiplied with a number.

    Args:
        by: The number, greater than 0.
        then: The factor.

    Raises:
        ValueError: If by is not greater than 0.
    """
    _require_above_zero("scaled(): by", by)
    return lambda steps, max_steps: by * then(steps, max_steps)


def linear_scaling(size: int, reference: int) -> float:
    """Returns size / reference, for scaled().

    The learning rate is scaled in proportion to the batch size. Goyal et al., section 2.1.

    Args:
        size: The batch size in records, at least 1.
        reference: The batch size for which the learning rate was found, at least 1.

    Raises:
        ValueError: If one of them is less than 1.
    """
    _require_at_least_one("linear_scaling(): size", size)
    _require_at_least_one("linear_scaling(): reference", reference)
    return size / reference


def square_root_scaling(size: int, reference: int) -> float:
    """Returns the square root of size / reference, for scaled().

    It keeps the variance of the steps. Krizhevsky, "One weird trick", 2014, section 5.

    Args:
        size: The batch size in records, at least 1.
        reference: The batch size for which the learning rate was found, at least 1.

    Raises:
        ValueError: If one of them is less than 1.
    """
    _require_at_least_one("square_root_scaling(): size", size)
    _require_at_least_one("square_root_scaling(): reference", reference)
    return math.sqrt(linear_scaling(size, reference))


def _fraction(steps: int, max_steps: int) -> float:
    """Returns the fraction of training that is done, from 0 to 1; 1 if there is nothing to train."""
    return min(max(steps / max_steps, 0.0), 1.0) if max_steps > 0 else 1.0


def _require_at_least_one(what: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"lr.{what} is {value}: must be at least 1")


def _require_above_zero(what: str, value: float) -> None:
    if not value > 0.0:  # Also false for NaN.
        raise ValueError(f"lr.{what} is {value}: must be above 0")
