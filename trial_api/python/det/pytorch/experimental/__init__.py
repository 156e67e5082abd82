"""APIs that may change: batch inference on all slots with torch_batch_process()."""

from det.pytorch.experimental._batch_process import torch_batch_process
from det.pytorch.experimental._batch_processor import (
    TorchBatchProcessor,
    TorchBatchProcessorContext,
)

__all__ = ["TorchBatchProcessor", "TorchBatchProcessorContext", "torch_batch_process"]
