"""DeepSpeedTrialContext: what a DeepSpeedTrial calls."""

from __future__ import annotations

from typing import NoReturn, Protocol, TypeVar

import torch

from det._types import JsonObject
from det.core import Context
from det.pytorch.data.batch_shard import BatchShard
from det.pytorch.deepspeed._mpu import (
    ModelParallelUnit,
    make_data_parallel_mpu,
    make_deepspeed_mpu,
)
from det.pytorch.distributed.optimizations import Optimizations
from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.trial.context import PyTorchTrialContext

# The equivalent of each field of `optimizations` in DeepSpeed's configuration.
_DEEPSPEED_FIELDS = {
    "strategy": "the ZeRO stage, or a PipelineModule",
    "aggregation_frequency": "gradient_accumulation_steps",
    "compression": "communication_data_type",
    "shard_optimizer": "zero_optimization",
    "mixed_precision": "fp16 or bf16",
    "auto_tune_tensor_fusion": "reduce_bucket_size",
    "hierarchical_allreduce": "zero_hpz_partition_size",
}


class Engine(Protocol):
    """The methods of an engine of deepspeed.initialize() that are used. It is a torch.nn.Module."""

    def train_micro_batch_size_per_gpu(self) -> int:
        """Returns the number of records of a micro-batch."""
        ...

    def gradient_accumulation_steps(self) -> int:
        """Returns the number of micro-batches of a step."""
        ...

    def save_checkpoint(self, save_dir: str, tag: str) -> object:
        """Saves what this rank has of the engine."""
        ...

    def load_checkpoint(
        self, load_dir: str, tag: str, *, load_lr_scheduler_states: bool = True
    ) -> tuple[str | None, object]:
        """Loads what save_checkpoint() saved; returns a path, which is None if nothing fits."""
        ...


_Engine = TypeVar("_Engine", bound=Engine)


class DeepSpeedTrialContext(PyTorchTrialContext):
    """What a DeepSpeedTrial knows of its experiment, and its engines.

    det.pytorch.deepspeed.init() creates it. A Trial passes its engines to wrap_model_engine() in
    its constructor. DeepSpeed's configuration determines how they are trained. The methods for
    models, optimizers and schedulers of PyTorchTrialContext raise RuntimeError.

    Attributes:
        engines: What wrap_model_engine() returned, in order.
        warm_start: Whether this attempt starts from another trial's checkpoint.
    """

    def __init__(
        self,
        core: Context,
        *,
        hparams: JsonObject,
        exp_conf: JsonObject,
        trial_seed: int,
        process_group: ProcessGroup,
        device: torch.device,
        aggregation_frequency: int | None = None,
        enable_tensorboard_logging: bool = True,
    ) -> None:
        """Creates the context; scripts call det.pytorch.deepspeed.init() instead.

        Args:
            core: The det.core.Context.
            hparams: As in PyTorchTrialContext.
            exp_conf: As in PyTorchTrialContext.
            trial_seed: As in PyTorchTrialContext.
            process_group: As in PyTorchTrialContext.
            device: As in PyTorchTrialContext.
            aggregation_frequency: As in PyTorchTrialContext.
            enable_tensorboard_logging: As in PyTorchTrialContext.

        Raises:
            ValueError: If `optimizations` of the experiment config sets what DeepSpeed's
                configuration determines.
        """
        super().__init__(
            core,
            hparams=hparams,
            exp_conf=exp_conf,
            trial_seed=trial_seed,
            process_group=process_group,
            device=device,
            aggregation_frequency=aggregation_frequency,
            enable_tensorboard_logging=enable_tensorboard_logging,
        )
        _check_not_set(self._optimizations)
        self.engines: list[Engine] = []
        self.warm_start = False
        self._mpu: ModelParallelUnit | None = None
        self._auto_grad_accumulation = True
        self._has_pipeline = False

    def wrap_model_engine(self, model: _Engine) -> _Engine:
        """Adds an engine to the checkpoints.

        Args:
            model: The engine that deepspeed.initialize() returned.

        Returns:
            The engine.
        """
        self.engines.append(model)
        grid = getattr(model, "grid", None)
        if grid is not None and hasattr(model, "is_last_stage"):  # A PipelineEngine.
            self._has_pipeline = True
            if self._mpu is None:
                self.set_mpu(make_deepspeed_mpu(grid))
        return model

    def set_mpu(self, mpu: ModelParallelUnit) -> None:
        """Sets which part of the data and of the model this rank has.

        Without a call each rank has the complete model, or its stage of a pipeline.

        Args:
            mpu: This rank's part.
        """
        self._mpu = mpu
        self._batch_shard = BatchShard(mpu.data_parallel_rank, 1, mpu.data_parallel_world_size)

    @property
    def mpu(self) -> ModelParallelUnit:
        """Which part of the data and of the model this rank has."""
        return self._mpu or make_data_parallel_mpu(self.distributed)

    @property
    def use_pipeline_parallel(self) -> bool:
        """Whether an engine is a pipeline's."""
        return self._has_pipeline

    def disable_auto_grad_accumulation(self) -> None:
        """Makes train_batch() be called once for a step, and read all micro-batches itself."""
        self._auto_grad_accumulation = False

    @property
    def calls_per_step(self) -> int:
        """How often train_batch() is called for a step."""
        once = self._has_pipeline or not self._auto_grad_accumulation
        return 1 if once else self.get_num_micro_batches_per_slot()

    def get_train_micro_batch_size_per_gpu(self) -> int:
        """Returns the number of records of a micro-batch.

        Raises:
            RuntimeError: If no engine is wrapped yet.
        """
        return int(self._get_engine().train_micro_batch_size_per_gpu())

    def get_num_micro_batches_per_slot(self) -> int:
        """Returns the number of micro-batches of a step on each rank that reads data.

        Raises:
            RuntimeError: If no engine is wrapped yet.
        """
        return int(self._get_engine().gradient_accumulation_steps())

    def _get_engine(self) -> Engine:
        if not self.engines:
            raise RuntimeError("no engine is wrapped: call context.wrap_model_engine() first")
        return self.engines[0]

    def get_global_batch_size(self) -> int:
        """Returns the number of records of a step on all slots together.

        Before an engine is wrapped it is the hyperparameter global_batch_size.
        """
        if not self.engines:
            return super().get_global_batch_size()
        micro = self.get_train_micro_batch_size_per_gpu() * self.get_num_micro_batches_per_slot()
        return micro * self.mpu.data_parallel_world_size

    def get_per_slot_batch_size(self) -> int:
        """Returns the batch size of a data loader: the number of records of a micro-batch.

        Raises:
            RuntimeError: If no engine is wrapped yet.
        """
        return self.get_train_micro_batch_size_per_gpu()

    # These belong to engines.

    def wrap_model(self, *args: object, **kwargs: object) -> NoReturn:
        """Not supported.

        Raises:
            RuntimeError: Always. Call wrap_model_engine() instead.
        """
        _raise_unsupported("wrap_model")

    def wrap_optimizer(self, *args: object, **kwargs: object) -> NoReturn:
        """Not supported.

        Raises:
            RuntimeError: Always. Pass the optimizer to deepspeed.initialize().
        """
        _raise_unsupported("wrap_optimizer")

    def wrap_lr_scheduler(self, *args: object, **kwargs: object) -> NoReturn:
        """Not supported.

        Raises:
            RuntimeError: Always. Pass the scheduler to deepspeed.initialize().
        """
        _raise_unsupported("wrap_lr_scheduler")

    def wrap_scaler(self, scaler: object) -> NoReturn:
        """Not supported.

        Raises:
            RuntimeError: Always. Engines scale the loss.
        """
        _raise_unsupported("wrap_scaler")

    def backward(self, *args: object, **kwargs: object) -> NoReturn:
        """Not supported.

        Raises:
            RuntimeError: Always. Call the engine's backward().
        """
        _raise_unsupported("backward")

    def step_optimizer(self, *args: object, **kwargs: object) -> NoReturn:
        """Not supported.

        Raises:
            RuntimeError: Always. Call the engine's step().
        """
        _raise_unsupported("step_optimizer")


def _raise_unsupported(name: str) -> NoReturn:
    raise RuntimeError(
        f"a DeepSpeedTrial must not call context.{name}(): models, optimizers and schedulers belong to "
        "the engine that deepspeed.initialize() returns; pass it to context.wrap_model_engine()"
    )


def _check_not_set(optimizations: Optimizations) -> None:
    default = Optimizations()
    for name, equivalent in _DEEPSPEED_FIELDS.items():
        value = getattr(optimizations, name)
        if value != getattr(default, name):
            raise ValueError(
                f"optimizations.{name} is {value!r}, and DeepSpeed's configuration determines it for a "
                f"DeepSpeedTrial: remove the field, and use {equivalent} of DeepSpeed's configuration"
            )
