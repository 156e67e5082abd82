"""Communication hooks of DistributedDataParallel.

torch compares the annotations of a hook with its classes, and refuses strings. So this module does
not import annotations from __future__.
"""

from typing import TYPE_CHECKING, Callable, cast

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

from det.pytorch.strategies.error_feedback import ErrorFeedback, dequantize
from det.pytorch.strategies.hierarchical_allreduce import HierarchicalAllreduce

_SCALE_BYTES = 4

if TYPE_CHECKING:  # The type information of torch 1.13 lacks GradBucket.
    from det.pytorch.utilities.types import GradBucket as _GradBucket
    from det.pytorch.utilities.types import TensorFuture as _TensorFuture
else:
    _GradBucket = dist.GradBucket
    _TensorFuture = torch.futures.Future[torch.Tensor]


def weighted_hook(state: float, bucket: _GradBucket) -> _TensorFuture:
    """Returns the mean over records if nodes have different numbers of slots.

    Args:
        state: The fraction of a global batch that this rank has.
        bucket: The gradients.

    Returns:
        A future of the averaged gradients.
    """
    weighted = bucket.buffer().mul_(state)
    work = dist.all_reduce(weighted, async_op=True)
    future: _TensorFuture = work.get_future().then(lambda future: future.value()[0])
    return future


def hierarchical_hook(state: HierarchicalAllreduce, bucket: _GradBucket) -> _TensorFuture:
    """Returns the mean of the gradients, by way of one rank of each node.

    Args:
        state: The state of the model.
        bucket: The gradients.

    Returns:
        A future of the averaged gradients.
    """
    future: _TensorFuture = state.start(bucket.buffer())
    return future


def int8_hook(state: ErrorFeedback, bucket: _GradBucket) -> _TensorFuture:
    """Communication hook: the mean of the gradients, sent as int8.

    Levels of different scales cannot be added in transit, so each rank gets all and averages them.

    Args:
        state: The ErrorFeedback of the model.
        bucket: A torch.distributed.GradBucket.

    Returns:
        A torch.futures.Future of the averaged gradients.
    """
    levels, scale = state.quantize_bucket(bucket)
    packet = torch.cat([levels, scale.view(torch.int8)])
    packets = [torch.empty_like(packet) for _ in range(dist.get_world_size())]
    future = dist.all_gather(packets, packet, async_op=True).get_future()

    def average(_: object) -> torch.Tensor:
        total = torch.zeros(len(levels), device=levels.device)
        for one in packets:  # In the order of the ranks, so that the sum is the same on all.
            total += dequantize(
                one[:-_SCALE_BYTES], one[-_SCALE_BYTES:].clone().view(torch.float32)
            )
        averaged: torch.Tensor = bucket.buffer().copy_(total / len(packets))
        return averaged

    averaged: _TensorFuture = future.then(average)
    return averaged


def bfloat16_allreduce_hook(state: None, bucket: _GradBucket) -> _TensorFuture:
    """Communication hook: torch's bf16_compress_hook.

    DistributedDataParallel refuses torch's function with other backends than NCCL.
    """
    # torch declares a process group as the only state.
    hook = cast("Callable[[None, _GradBucket], _TensorFuture]", default_hooks.bf16_compress_hook)
    return hook(state, bucket)


def bfloat16_allgather_hook(state: None, bucket: _GradBucket) -> _TensorFuture:
    """Communication hook: the mean of the gradients, sent as bfloat16.

    The backend cannot add bfloat16, so each rank gets all gradients and adds them in float32.
    """
    packet = bucket.buffer().to(torch.bfloat16).view(torch.int8)
    packets = [torch.empty_like(packet) for _ in range(dist.get_world_size())]
    future = dist.all_gather(packets, packet, async_op=True).get_future()

    def average(_: object) -> torch.Tensor:
        total = torch.zeros_like(bucket.buffer(), dtype=torch.float32)
        for one in packets:
            total += one.view(torch.bfloat16)
        averaged: torch.Tensor = bucket.buffer().copy_(total / len(packets))
        return averaged

    averaged: _TensorFuture = future.then(average)
    return averaged
