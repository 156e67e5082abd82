"""ModelParallelUnit: which part of the data and of the model a rank has."""

from __future__ import annotations

import dataclasses
from typing import Protocol

from det.core import DistributedContext


class PipelineGrid(Protocol):
    """The methods of the grid of DeepSpeed's PipelineEngine that are used."""

    def get_pipe_parallel_rank(self) -> int:
        """Returns the index of this rank's stage."""
        ...

    def get_pipe_parallel_world_size(self) -> int:
        """Returns the number of stages."""
        ...

    def get_data_parallel_rank(self) -> int:
        """Returns the index of this rank's model replica."""
        ...

    def get_data_parallel_world_size(self) -> int:
        """Returns the number of model replicas."""
        ...


@dataclasses.dataclass(frozen=True)
class ModelParallelUnit:
    """One rank. Ranks of the same data_parallel_rank have parts of one model and of one batch.

    Attributes:
        data_parallel_rank: The index of the model replica, from 0.
        data_parallel_world_size: The number of model replicas.
        should_report_metrics: Whether what train_batch() and evaluate_batch() return on this rank
            is reported.
        should_build_data_loader: Whether this rank reads data.
    """

    data_parallel_rank: int
    data_parallel_world_size: int
    should_report_metrics: bool = True
    should_build_data_loader: bool = True


def make_data_parallel_mpu(dist_context: DistributedContext) -> ModelParallelUnit:
    """Creates the unit of a rank that has the complete model.

    Args:
        dist_context: A det.core.DistributedContext: context.distributed.
    """
    return ModelParallelUnit(dist_context.rank, dist_context.size)


def make_deepspeed_mpu(mpu: PipelineGrid) -> ModelParallelUnit:
    """Creates the unit of a rank that has a stage of a pipeline.

    The first and the last stage read data, and the last one reports metrics.

    Args:
        mpu: The grid of the pipeline: the engine's `mpu` or `grid`.
    """
    stage, stages = mpu.get_pipe_parallel_rank(), mpu.get_pipe_parallel_world_size()
    return ModelParallelUnit(
        data_parallel_rank=mpu.get_data_parallel_rank(),
        data_parallel_world_size=mpu.get_data_parallel_world_size(),
        should_report_metrics=stage == stages - 1,
        should_build_data_loader=stage in (0, stages - 1),
    )
