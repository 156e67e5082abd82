"""What a DeepSpeedTrial knows of its experiment, and which engines it trains."""

from __future__ import annotations

from typing import Any, List, NoReturn, Optional

from det.pytorch import _optimizations
from det.pytorch._context import PyTorchTrialContext
from det.pytorch._shares import Share
from det.pytorch.deepspeed._mpu import (
    ModelParallelUnit,
    make_data_parallel_mpu,
    make_deepspeed_mpu,
)

# What DeepSpeed's own configuration says of the same.
_THEIRS = {
    "strategy": "which ZeRO stage, or a PipelineModule",
    "aggregation_frequency": "gradient_accumulation_steps",
    "compression": "communication_data_type",
    "shard_optimizer": "zero_optimization",
    "mixed_precision": "fp16 or bf16",
    "auto_tune_tensor_fusion": "reduce_bucket_size",
    "hierarchical_allreduce": "zero_hpz_partition_size",
}


class DeepSpeedTrialContext(PyTorchTrialContext):
    """Made by det.pytorch.deepspeed.init(). A Trial gives its engines to wrap_model_engine() in its
    constructor; what they train, and how, is DeepSpeed's configuration's affair.

    Raises:
        ValueError: `optimizations` of the experiment's configuration say it, too.
    """

    def __init__(self, core: Any, **options: Any) -> None:
        super().__init__(core, **options)
        _check(self._optimizations)
        self.engines: List[Any] = []
        self.warm_start = False
        self._mpu: Optional[ModelParallelUnit] = None
        self._accumulates = True
        self._pipelines = False

    def wrap_model_engine(self, model: Any) -> Any:
        """An engine of deepspeed.initialize(), which is saved in checkpoints."""
        self.engines.append(model)
        grid = getattr(model, "grid", None)
        if grid is not None and hasattr(model, "is_last_stage"):  # A PipelineEngine.
            self._pipelines = True
            if self._mpu is None:
                self.set_mpu(make_deepspeed_mpu(grid))
        return model

    def set_mpu(self, mpu: ModelParallelUnit) -> None:
        """Which part this rank has; without a call each has the whole model, or its stage of a
        pipeline."""
        self._mpu = mpu
        self._share = Share(mpu.data_parallel_rank, 1, mpu.data_parallel_world_size)

    @property
    def mpu(self) -> ModelParallelUnit:
        return self._mpu or make_data_parallel_mpu(self.distributed)

    @property
    def use_pipeline_parallel(self) -> bool:
        return self._pipelines

    def disable_auto_grad_accumulation(self) -> None:
        """train_batch() is called once for a step, and reads its micro-batches itself."""
        self._accumulates = False

    @property
    def calls_per_step(self) -> int:
        """Of train_batch()."""
        once = self._pipelines or not self._accumulates
        return 1 if once else self.get_num_micro_batches_per_slot()

    def get_train_micro_batch_size_per_gpu(self) -> int:
        """Records that a rank computes at once. Raises RuntimeError before there is an engine."""
        return int(self._engine().train_micro_batch_size_per_gpu())

    def get_num_micro_batches_per_slot(self) -> int:
        """Of one step. Raises RuntimeError before there is an engine."""
        return int(self._engine().gradient_accumulation_steps())

    def _engine(self) -> Any:
        if not self.engines:
            raise RuntimeError("no engine is wrapped: call context.wrap_model_engine() first")
        return self.engines[0]

    def get_global_batch_size(self) -> int:
        """Records of one step on all slots together."""
        if not self.engines:
            return super().get_global_batch_size()
        micro = self.get_train_micro_batch_size_per_gpu() * self.get_num_micro_batches_per_slot()
        return micro * self.mpu.data_parallel_world_size

    def get_per_slot_batch_size(self) -> int:
        """Of a data loader: those of a micro-batch."""
        return self.get_train_micro_batch_size_per_gpu()

    # What is an engine's.

    def wrap_model(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse("wrap_model")

    def wrap_optimizer(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse("wrap_optimizer")

    def wrap_lr_scheduler(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse("wrap_lr_scheduler")

    def wrap_scaler(self, scaler: Any) -> NoReturn:
        _refuse("wrap_scaler")

    def backward(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse("backward")

    def step_optimizer(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse("step_optimizer")


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"a DeepSpeedTrial does not call context.{name}(): models, optimizers and schedules belong to "
        "the engine that deepspeed.initialize() gives; give that to context.wrap_model_engine()"
    )


def _check(told: _optimizations.Optimizations) -> None:
    usual = _optimizations.Optimizations()
    for name, theirs in _THEIRS.items():
        if getattr(told, name) != getattr(usual, name):
            raise ValueError(
                f"optimizations.{name} is {getattr(told, name)!r}, and a DeepSpeedTrial is told so by "
                f"DeepSpeed's configuration: leave it out there, and see {theirs} here"
            )
