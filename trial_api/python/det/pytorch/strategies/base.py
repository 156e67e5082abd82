"""The interface of a strategy: how the ranks of a trial keep one model.

All methods are collective, and are called on the training thread. Between two calls of
synchronize() the models of the ranks may differ. After it they have the same weights, buffers and
optimizer state, so any of them is the content of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, cast

import torch

from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.strategies.data_parallel import unwrap_model
from det.pytorch.strategies.zero import ZeroOptimizer, is_zero_optimizer
from det.pytorch.utilities.types import Scaler, StateDict


class StrategyContext(Protocol):
    """What a strategy uses of a PyTorchTrialContext."""

    models: list[torch.nn.Module]
    optimizers: list[torch.optim.Optimizer]

    @property
    def device(self) -> torch.device: ...

    @property
    def scaler(self) -> Scaler | None: ...

    def current_train_batch(self) -> int | None: ...

    def get_trial_seed(self) -> int: ...


class Strategy:
    """The default: gradients are averaged during the backward pass (allreduce), or there is one rank.

    Attributes:
        is_sharded: Whether each rank has only a part of the weights. Then all ranks compute
            together.
        saves_gradients: Whether checkpoints contain the gradients of an incomplete optimizer step.
        partitions_optimizer_state: Whether each rank writes a part of the optimizer state.
    """

    is_sharded = False
    saves_gradients = True
    partitions_optimizer_state = True

    def __init__(self, context: StrategyContext) -> None:
        self._context = context

    def wrap_model(self, model: torch.nn.Module) -> torch.nn.Module | None:
        """Returns the model to compute with, or None to use wrap_data_parallel()."""
        return None

    def check_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Checks an optimizer that the Trial wraps.

        Raises:
            ValueError: If the strategy cannot step it.
        """

    def before_step(self, optimizer: torch.optim.Optimizer) -> bool:
        """Prepares an optimizer step. Returns whether this rank makes it."""
        return True

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Called after the step, also on ranks that did not make one."""

    def after_batch(self, steps: int) -> None:
        """Called after the last batch of an optimizer step.

        Args:
            steps: The number of optimizer steps since training began.
        """

    def synchronize(self) -> None:
        """Makes the models of the ranks equal, before a validation and a checkpoint."""

    def save_local_state(self) -> StateDict:
        """Returns what this rank alone has, if the models differ; before synchronize().

        Checkpoints contain it, so that saving one does not change the training.
        """
        return {}

    def restore_local_state(self, saved: StateDict) -> None:
        """Restores what save_local_state() returned, after a checkpoint or when a run resumes.

        If the number of ranks has changed, the common state stays.
        """

    def parameters_for_clipping(
        self, optimizer: torch.optim.Optimizer
    ) -> Iterator[torch.nn.Parameter]:
        """Returns the parameters for the function `clip_grads` of the Trial."""
        return get_parameters(optimizer)

    def gather_full_state(self) -> None:
        """Gathers on the chief what ranks keep in parts, before the chief saves all of it."""
        for optimizer in self._context.optimizers:
            if is_zero_optimizer(optimizer):
                cast(ZeroOptimizer, optimizer).consolidate_state_dict(to=0)

    def release_full_state(self) -> None:
        """Frees what gather_full_state() gathered."""

    def model_state_dicts(self) -> list[StateDict]:
        """Returns the complete state of each model on the chief, after gather_full_state()."""
        return [dict(unwrap_model(model).state_dict()) for model in self._context.models]

    def optimizer_state_dicts(self) -> list[StateDict]:
        """Returns the complete state of each optimizer on the chief, after gather_full_state()."""
        return [dict(optimizer.state_dict()) for optimizer in self._context.optimizers]

    def load_model(self, model: torch.nn.Module, state: StateDict) -> None:
        """Loads an element of model_state_dicts().

        Raises:
            RuntimeError: If it does not fit the model.
        """
        unwrap_model(model).load_state_dict(state)

    def load_optimizer(self, optimizer: torch.optim.Optimizer, state: StateDict) -> None:
        """Loads an element of optimizer_state_dicts().

        Raises:
            ValueError: If it does not fit the optimizer.
        """
        optimizer.load_state_dict(state)

    def after_load(self) -> None:
        """Called on every rank after a checkpoint is loaded."""


class ShardedStrategy(Strategy):
    """Each rank has a part of the weights and steps it. Checkpoints contain the complete model."""

    is_sharded = True
    # The chief gathers the optimizer state together with the weights.
    partitions_optimizer_state = False

    def __init__(self, context: StrategyContext, process_group: ProcessGroup) -> None:
        super().__init__(context)
        self._process_group = process_group
        self._models: list[StateDict] = []
        self._optimizers: list[StateDict] = []

    def parameters_for_clipping(
        self, optimizer: torch.optim.Optimizer
    ) -> Iterator[torch.nn.Parameter]:
        """Yields this rank's parameters and one more for those of the other ranks.

        The gradient of the additional parameter has the 2-norm of all gradients of the other ranks,
        so the 2-norm of what is yielded is the norm of the complete model. Other norms are wrong.
        """
        parameters = list(get_parameters(optimizer))
        yield from parameters
        squares = [p.grad.double().square().sum() for p in parameters if p.grad is not None]
        own = torch.stack(squares).sum().cpu() if squares else torch.zeros((), dtype=torch.float64)
        total = self._process_group.sum(own.clone())
        others = torch.nn.Parameter(torch.zeros(1, device=parameters[0].device))
        others.grad = (total - own).clamp(min=0).sqrt().to(others).reshape(1)
        yield others

    def gather_full_state(self) -> None:
        self._models = [self._gather_model(model) for model in self._context.models]
        self._optimizers = [self._gather_optimizer(one) for one in self._context.optimizers]

    def release_full_state(self) -> None:
        self._models, self._optimizers = [], []

    def model_state_dicts(self) -> list[StateDict]:
        return self._models

    def optimizer_state_dicts(self) -> list[StateDict]:
        return self._optimizers

    def _gather_model(self, model: torch.nn.Module) -> StateDict:
        """Returns the complete state of the model on the chief; the others' result is unused."""
        raise NotImplementedError

    def _gather_optimizer(self, optimizer: torch.optim.Optimizer) -> StateDict:
        """Returns the complete state of the optimizer on the chief; the others' result is unused."""
        raise NotImplementedError


def get_parameters(optimizer: torch.optim.Optimizer) -> Iterator[torch.nn.Parameter]:
    """Yields the parameters in the order of the groups, in which a state_dict() numbers them."""
    for group in optimizer.param_groups:
        yield from group["params"]


def divide_gradients(optimizer: torch.optim.Optimizer, divisor: int) -> None:
    """Divides the gradients of all parameters in place."""
    gradients = [p.grad for p in get_parameters(optimizer) if p.grad is not None]
    dense = [gradient for gradient in gradients if not gradient.is_sparse]
    if dense:
        torch._foreach_div_(dense, divisor)
    for gradient in gradients:
        if gradient.is_sparse:
            gradient.div_(divisor)
