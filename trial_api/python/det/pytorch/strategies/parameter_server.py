"""The strategy parameter_server: the chief has the optimizers.

Li et al., "Scaling distributed machine learning with the parameter server", 2014, synchronous.
"""

from __future__ import annotations

import torch
import torch.distributed as dist

from det.pytorch.distributed.collectives import (
    broadcast_tensors,
    chunk_tensors,
    copy_unflattened,
    flatten_tensors,
    unique_tensors,
)
from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.strategies.base import Strategy, StrategyContext, get_parameters
from det.pytorch.strategies.data_parallel import broadcast_buffers


class ParameterServerStrategy(Strategy):
    """The chief gets the mean of all gradients, steps, and broadcasts weights and buffers.

    The result is that of allreduce; the optimizer state is on one rank only.
    """

    partitions_optimizer_state = False

    def __init__(self, context: StrategyContext, process_group: ProcessGroup) -> None:
        super().__init__(context)
        self._process_group = process_group

    def before_step(self, optimizer: torch.optim.Optimizer) -> bool:
        for tensors in chunk_tensors(self._prepare_gradients(optimizer)):
            flat = flatten_tensors(tensors)
            dist.reduce(flat, dst=0)
            if self._process_group.is_chief:
                copy_unflattened(flat.div_(self._process_group.size), tensors)
        return self._process_group.is_chief

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        broadcast_tensors(unique_tensors(p.data for p in get_parameters(optimizer)))

    def after_batch(self, steps: int) -> None:
        self.synchronize()  # The next forward pass may read the buffers.

    def synchronize(self) -> None:
        broadcast_buffers(self._context.models, self._process_group)

    def after_load(self) -> None:
        if not self._process_group.is_chief:
            for optimizer in self._context.optimizers:
                optimizer.state.clear()

    def _prepare_gradients(self, optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
        """Returns the gradients of the parameters that have one on any rank, in the same order on all.

        A rank that did not use such a parameter gets a gradient of zeros.
        """
        parameters = [p for p in get_parameters(optimizer) if p.requires_grad]
        if not parameters:
            return []
        used_flags = torch.tensor([p.grad is not None for p in parameters], dtype=torch.uint8)
        used_flags = used_flags.to(parameters[0].device)
        dist.all_reduce(used_flags, op=dist.ReduceOp.MAX)
        used = [p for p, is_used in zip(parameters, used_flags.tolist()) if is_used]
        for parameter in used:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [p.grad for p in used if p.grad is not None]
