"""Which part of the data and of the model a rank has."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class ModelParallelUnit:
    """One rank. Ranks of the same data_parallel_rank have parts of one model, and of one batch.

    should_report_metrics: whether what train_batch() and evaluate_batch() give on this rank counts.
    should_build_data_loader: whether it reads data.
    """

    data_parallel_rank: int
    data_parallel_world_size: int
    should_report_metrics: bool = True
    should_build_data_loader: bool = True


def make_data_parallel_mpu(dist_context: Any) -> ModelParallelUnit:
    """Each rank has the whole model. dist_context: context.distributed."""
    return ModelParallelUnit(dist_context.rank, dist_context.size)


def make_deepspeed_mpu(mpu: Any) -> ModelParallelUnit:
    """Of a pipeline's grid, an engine's `mpu` or `grid`: its first and last stages read data, the last
    one has the loss."""
    stage, stages = mpu.get_pipe_parallel_rank(), mpu.get_pipe_parallel_world_size()
    return ModelParallelUnit(
        data_parallel_rank=mpu.get_data_parallel_rank(),
        data_parallel_world_size=mpu.get_data_parallel_world_size(),
        should_report_metrics=stage == stages - 1,
        should_build_data_loader=stage in (0, stages - 1),
    )
