"""Creates the strategy that the experiment config selects."""

from __future__ import annotations

from det.pytorch.distributed.optimizations import Optimizations
from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.strategies.base import Strategy, StrategyContext
from det.pytorch.strategies.fsdp import FsdpStrategy, import_fsdp
from det.pytorch.strategies.local_sgd import AsyncLocalSgdStrategy, LocalSgdStrategy
from det.pytorch.strategies.parameter_server import ParameterServerStrategy
from det.pytorch.strategies.pipeline import PipelineStrategy


def create_strategy(
    context: StrategyContext, process_group: ProcessGroup, optimizations: Optimizations
) -> Strategy:
    """Creates the strategy, after torch.distributed is initialized. Collective.

    Raises:
        ValueError: If this torch does not support strategy fsdp on these slots.
    """
    strategy = optimizations.strategy
    if process_group.size == 1 or strategy in ("allreduce", "in_process"):
        return Strategy(context)
    if strategy == "pipeline":
        return PipelineStrategy(context, process_group, optimizations.pipeline_micro_batches)
    if strategy == "fsdp":
        return FsdpStrategy(context, process_group, import_fsdp(context.device))
    if strategy == "parameter_server":
        return ParameterServerStrategy(context, process_group)
    if strategy == "local_sgd":
        return LocalSgdStrategy(context, process_group, optimizations.local_sgd_steps)
    return AsyncLocalSgdStrategy(context, process_group, optimizations.local_sgd_steps)
