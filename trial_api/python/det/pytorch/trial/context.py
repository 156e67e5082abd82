"""PyTorchTrialContext: what a Trial calls."""

from __future__ import annotations

import importlib
import pathlib
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, NoReturn, TypeVar, overload

import torch

from det._existing import TrialContext
from det._types import JsonObject
from det.core import Context, DistributedContext
from det.pytorch.data.batch_shard import find_batch_shard
from det.pytorch.data.batches import to_device
from det.pytorch.distributed.optimizations import parse_optimizations
from det.pytorch.distributed.process_group import ProcessGroup
from det.pytorch.metrics.reducers import FunctionReducer, MetricReducer, ReducerList
from det.pytorch.strategies.base import divide_gradients
from det.pytorch.strategies.data_parallel import (
    ParallelModel,
    check_gradients_arrived,
    unwrap_model,
    wrap_data_parallel,
)
from det.pytorch.strategies.factory import create_strategy
from det.pytorch.strategies.gradient_compression import compress_gradients
from det.pytorch.strategies.hierarchical_allreduce import create_node_groups
from det.pytorch.strategies.zero import shard_optimizer
from det.pytorch.trial.experimental_context import PyTorchExperimentalContext
from det.pytorch.trial.lr_scheduler import LRScheduler
from det.pytorch.trial.progress import Progress
from det.pytorch.utilities.types import DataBatch, ReducedValue, Scaler, TorchScheduler

if TYPE_CHECKING:
    from torch.utils.tensorboard.writer import SummaryWriter

_Scaler = TypeVar("_Scaler", bound=Scaler)
_MetricReducer = TypeVar("_MetricReducer", bound=MetricReducer)


class PyTorchTrialContext(TrialContext):
    """What a Trial knows of its experiment, and how its model trains on all slots.

    det.pytorch.init() creates it. It is used on the training thread. A Trial wraps its models and
    optimizers in its constructor, and calls backward() and step_optimizer() in train_batch().

    Attributes:
        models: What wrap_model() returned, in order.
        optimizers: What wrap_optimizer() returned, in order.
        lr_schedulers: What wrap_lr_scheduler() returned, in order.
        reducers: The reducers of wrap_reducer().
        experimental: Further methods, which may change.
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
        """Creates the context; scripts call det.pytorch.init() instead. Collective.

        Args:
            core: The context of the Core API.
            hparams: The hyperparameters.
            exp_conf: The experiment config.
            trial_seed: The seed of the trial.
            process_group: The ranks that train together.
            device: The slot's device.
            aggregation_frequency: The number of batches of an optimizer step; None: that of the
                config.
            enable_tensorboard_logging: Whether metrics are written for TensorBoard.

        Raises:
            ValueError: If `optimizations` of the config is invalid, or not supported here.
        """
        self._optimizations = parse_optimizations(exp_conf)
        if aggregation_frequency is None:
            aggregation_frequency = self._optimizations.aggregation_frequency
        if aggregation_frequency < 1:
            raise ValueError(
                f"aggregation_frequency is {aggregation_frequency}: must be at least 1"
            )
        self._core = core
        self._hparams = hparams
        self._exp_conf = exp_conf
        self._seed = trial_seed
        self._process_group = process_group
        self._device = device
        self._aggregation_frequency = aggregation_frequency
        self._tensorboard_logging = enable_tensorboard_logging
        self.models: list[torch.nn.Module] = []
        self.optimizers: list[torch.optim.Optimizer] = []
        self.lr_schedulers: list[LRScheduler] = []
        self.reducers = ReducerList()
        self._average_aggregated: dict[int, bool] = {}  # The key is the id() of an optimizer.
        self._optimizer_steps: dict[int, int] = {}
        self._scaler: Scaler | None = None
        self._profiler: torch.profiler.profile | None = None
        self._writer: SummaryWriter | None = None
        self._stop_requested = False
        self._strategy = create_strategy(self, process_group, self._optimizations)
        self.experimental = PyTorchExperimentalContext(
            device, self._optimizations, self._strategy.is_sharded
        )
        self._data_group = process_group.data_parallel_group(self._optimizations.strategy)
        self._batch_shard = find_batch_shard(process_group, self._optimizations, device)
        self._node_groups = create_node_groups(process_group, self._optimizations)
        # The training loop sets these.
        self._progress: Progress | None = None
        self._batches_per_epoch: int | None = None
        self._first_batch = 0

    # The experiment and the trial.

    @property
    def distributed(self) -> DistributedContext:
        """The det.core.DistributedContext: ranks, and collective operations on small objects."""
        return self._core.distributed

    @property
    def device(self) -> torch.device:
        """The slot's device."""
        return self._device

    def get_experiment_config(self) -> JsonObject:
        """Returns the experiment config; {} off the cluster if init() got none."""
        return self._exp_conf

    def get_data_config(self) -> JsonObject:
        """Returns the section `data` of the experiment config; {} if it is absent."""
        return self._exp_conf.get("data") or {}

    def get_hparams(self) -> JsonObject:
        """Returns the hyperparameters of this trial by name."""
        return self._hparams

    def get_hparam(self, name: str) -> Any:
        """Returns a hyperparameter of this trial.

        Args:
            name: The name of the hyperparameter.

        Returns:
            Its value: a JSON value of any type.

        Raises:
            ValueError: If there is no hyperparameter of that name.
        """
        if name not in self._hparams:
            known = ", ".join(sorted(self._hparams)) or "none"
            raise ValueError(f"unknown hyperparameter {name!r}; there are: {known}")
        return self._hparams[name]

    def get_global_batch_size(self) -> int:
        """Returns the hyperparameter global_batch_size.

        Returns:
            The number of records of a batch on all slots together.

        Raises:
            ValueError: If it is missing, or less than the number of slots.
        """
        size = self.get_hparam("global_batch_size")
        slots = self._batch_shard.total
        if isinstance(size, bool) or not isinstance(size, int) or size < slots:
            raise ValueError(
                f"global_batch_size is {size!r}: must be an integer of at least {slots}, one record "
                "for each slot"
            )
        return size

    def get_per_slot_batch_size(self) -> int:
        """Returns the batch size of a slot: global_batch_size divided by the number of slots.

        With strategy pipeline it is the global batch size.

        Raises:
            ValueError: If global_batch_size is missing, or not a multiple of the number of slots.
        """
        size, slots = self.get_global_batch_size(), self._batch_shard.total
        if size % slots:
            raise ValueError(
                f"global_batch_size {size} cannot be divided evenly among {slots} slots"
            )
        return size // slots

    def get_trial_seed(self) -> int:
        """Returns the seed of the trial, which is the same on all ranks."""
        return self._seed

    def get_experiment_id(self) -> int:
        """Returns the ID of the experiment; 0 off the cluster."""
        trial = self._core.info.trial if self._core.info else None
        return trial.experiment_id if trial else 0

    def get_trial_id(self) -> int:
        """Returns the ID of the trial; 0 off the cluster."""
        trial = self._core.info.trial if self._core.info else None
        return trial.trial_id if trial else 0

    @property
    def scaler(self) -> Scaler | None:
        """The GradScaler of the loss, of mixed precision or of wrap_scaler(); None without."""
        return self.experimental.scaler or self._scaler

    # The progress of training.

    def current_train_batch(self) -> int | None:
        """Returns the index of the present batch, from 0 over all epochs; None before training."""
        return self._progress.steps_completed if self._progress else None

    def current_train_epoch(self) -> int:
        """Returns the index of the present epoch, from 0; -1 before training."""
        return self._progress.epoch if self._progress else -1

    def get_initial_batch(self) -> int:
        """Returns the index of the batch at which this attempt began: above 0 if it resumed."""
        return self._first_batch

    def first_untrained_step(self) -> int | None:
        """Returns the first step that this attempt trains, from 1; None if it did not resume.

        Events of an earlier attempt from this step on are reported again.
        """
        return self._first_batch + 1 if self._first_batch else None

    def is_epoch_start(self) -> bool:
        """Returns whether the present batch is the first of its epoch."""
        return self._progress is not None and self._progress.batch == 0

    def is_epoch_end(self) -> bool:
        """Returns whether the present batch is the last of its epoch.

        It is unknown, and so False, for data without a length.
        """
        if self._progress is None or self._batches_per_epoch is None:
            return False
        return self._progress.batch == self._batches_per_epoch - 1

    def get_stop_requested(self) -> bool:
        """Returns whether set_stop_requested(True) was called on this rank."""
        return self._stop_requested

    def set_stop_requested(self, stop_requested: bool) -> None:
        """Ends training with a checkpoint.

        Any rank may call it. If a callback calls it between two batches, training ends there: what is
        due at that point is done, and nothing else is validated. If the Trial calls it in a batch,
        training ends after this batch, or on several slots after the next one, with a validation.

        Args:
            stop_requested: Whether to stop; False cancels a request that was not yet effective.

        Raises:
            TypeError: If the argument is not a bool.
        """
        if not isinstance(stop_requested, bool):
            raise TypeError("set_stop_requested() takes True or False")
        self._stop_requested = stop_requested

    # Wrapping models, optimizers and more in the Trial's constructor.

    def wrap_model(
        self, model: torch.nn.Module, find_unused_parameters: bool = False
    ) -> torch.nn.Module:
        """Prepares a model for training on all slots. Collective.

        Args:
            model: The model. It is moved to the slot's device in place.
            find_unused_parameters: Whether a batch may use only some of its parameters. On several
                slots the autograd graph of each forward pass is searched for those, which takes
                time.

        Returns:
            The model to compute with. It has the chief's initial weights, its gradients are
            averaged over the slots, and checkpoints contain its state_dict().

        Raises:
            TypeError: If it is not a torch.nn.Module.
            ValueError: If it is wrapped already, or the strategy does not support it.
        """
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"wrap_model() takes a torch.nn.Module, not a {type(model).__name__}")
        if any(unwrap_model(model) is unwrap_model(known) for known in self.models):
            raise ValueError("wrap_model() was called twice with the same model")
        wrapped = self._strategy.wrap_model(model)
        if wrapped is None:
            wrapped = wrap_data_parallel(
                model,
                self._device,
                self._process_group,
                self._optimizations,
                self._batch_shard,
                self._node_groups,
                find_unused_parameters,
            )
        self.models.append(wrapped)
        return wrapped

    def wrap_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        backward_passes_per_step: int = 1,
        fp16_compression: bool = False,
        average_aggregated_gradients: bool = True,
    ) -> torch.optim.Optimizer:
        """Prepares an optimizer for training on all slots.

        Args:
            optimizer: An optimizer of parameters of wrapped models.
            backward_passes_per_step: The number of calls of backward() before step_optimizer(). It
                has no effect.
            fp16_compression: Whether gradients of the models that are wrapped so far are sent as
                float16.
            average_aggregated_gradients: Whether gradients are averaged over the batches of
                aggregation_frequency; otherwise they are summed.

        Returns:
            The optimizer to pass to step_optimizer(). Checkpoints contain its state_dict(). With
            optimizations.shard_optimizer it is a ZeroRedundancyOptimizer of the same class.

        Raises:
            TypeError: If it is not a torch.optim.Optimizer.
            ValueError: If the strategy does not support it, or backward_passes_per_step is less
                than 1.
        """
        if not isinstance(optimizer, torch.optim.Optimizer):
            kind = type(optimizer).__name__
            raise TypeError(f"wrap_optimizer() takes a torch.optim.Optimizer, not a {kind}")
        if backward_passes_per_step < 1:
            raise ValueError(
                f"backward_passes_per_step is {backward_passes_per_step}: must be at least 1"
            )
        self._strategy.check_optimizer(optimizer)
        optimizer = shard_optimizer(optimizer, self._process_group, self._optimizations)
        self.optimizers.append(optimizer)
        average = self._optimizations.average_aggregated_gradients
        self._average_aggregated[id(optimizer)] = average and average_aggregated_gradients
        if fp16_compression:
            self._compress_gradients()
        return optimizer

    def _compress_gradients(self) -> None:
        for model in self.models:
            if isinstance(model, ParallelModel):
                compress_gradients(model, "float16", self._device)

    def wrap_lr_scheduler(
        self,
        lr_scheduler: TorchScheduler,
        step_mode: LRScheduler.StepMode,
        frequency: int = 1,
    ) -> LRScheduler:
        """Makes the training loop step a learning-rate scheduler. Checkpoints contain its state.

        Args:
            lr_scheduler: A scheduler of torch, or an object with the same methods, of an optimizer
                that is wrapped already.
            step_mode: Whether it is stepped after epochs, batches or optimizer steps.
            frequency: It is stepped after every `frequency` of those.

        Returns:
            The wrapper, whose step() the Trial calls with StepMode.MANUAL_STEP.

        Raises:
            TypeError: If the scheduler has no step(), or step_mode is not a StepMode.
            ValueError: If its optimizer is not wrapped, or frequency is less than 1.
        """
        wrapped = LRScheduler(lr_scheduler, step_mode, frequency)
        if wrapped.optimizer is not None and wrapped.optimizer not in self.optimizers:
            raise ValueError(
                "the optimizer of the scheduler is not wrapped: call wrap_optimizer() before "
                "wrap_lr_scheduler()"
            )
        self.lr_schedulers.append(wrapped)
        return wrapped

    def wrap_scaler(self, scaler: _Scaler) -> _Scaler:
        """Adds a GradScaler of the Trial to the checkpoints.

        The Trial scales the loss itself, passes the scaler to step_optimizer(), and updates it.

        Args:
            scaler: A torch.cuda.amp.GradScaler.

        Returns:
            The scaler.

        Raises:
            RuntimeError: If mixed precision is enabled by the config or by use_amp().
        """
        self.experimental.refuse_scaler("context.wrap_scaler()")
        if self.experimental.auto_amp:
            raise RuntimeError(
                "experimental.use_amp() uses its own scaler: remove one of use_amp() and wrap_scaler()"
            )
        self._scaler = scaler
        return scaler

    @overload
    def wrap_reducer(
        self,
        reducer: _MetricReducer,
        name: str | None = None,
        for_training: bool = True,
        for_validation: bool = True,
    ) -> _MetricReducer: ...

    @overload
    def wrap_reducer(
        self,
        reducer: Callable[[list[ReducedValue]], ReducedValue],
        name: str | None = None,
        for_training: bool = True,
        for_validation: bool = True,
    ) -> FunctionReducer: ...

    def wrap_reducer(
        self,
        reducer: MetricReducer | Callable[[list[ReducedValue]], ReducedValue],
        name: str | None = None,
        for_training: bool = True,
        for_validation: bool = True,
    ) -> MetricReducer:
        """Adds a metric that is not a mean over batches.

        Example:
            >>> self.scores = context.wrap_reducer(lambda values: max(values), name="best score")
            >>> ...
            >>> self.scores.update(score)  # In evaluate_batch().

        Args:
            reducer: A MetricReducer, or a function from the list of all values of all ranks to the
                metric.
            name: The name of the metric. None if the reducer returns a dict of metrics by name.
            for_training: Whether it is part of the training reports.
            for_validation: Whether it is part of the validations.

        Returns:
            The MetricReducer. For a function, it has a method update(value).

        Raises:
            TypeError: If the reducer is neither.
            ValueError: If the reducer or the name is wrapped already.
        """
        return self.reducers.wrap(reducer, name, for_training, for_validation)

    def configure_apex_amp(self, *args: object, **kwargs: object) -> NoReturn:
        """Not supported.

        Raises:
            NotImplementedError: Always. Call context.experimental.use_amp() instead.
        """
        raise NotImplementedError(
            "Apex AMP is not supported: call context.experimental.use_amp() instead"
        )

    # In train_batch().

    def to_device(self, data: DataBatch) -> DataBatch:
        """Moves the tensors of a batch to the slot's device; see det.pytorch.to_device().

        Args:
            data: As in det.pytorch.to_device().

        Returns:
            The same structure, with its tensors on the slot's device.
        """
        return to_device(data, self._device)

    @property
    def steps_now(self) -> bool:
        """Whether the present batch is the last of those that make one optimizer step."""
        batch = self.current_train_batch() or 0
        return (batch + 1) % self._aggregation_frequency == 0

    def backward(
        self,
        loss: torch.Tensor,
        gradient: torch.Tensor | None = None,
        retain_graph: bool = False,
        create_graph: bool = False,
    ) -> None:
        """Computes the gradients of a loss, and averages them over all ranks.

        With aggregation_frequency, they are averaged in the last batch of a step only. Every rank
        must call it equally often.

        Args:
            loss: The mean over this rank's records, without dimensions. It is scaled if mixed
                precision needs it.
            gradient: As in torch.Tensor.backward(), of the shape of the loss.
            retain_graph: As in torch.Tensor.backward().
            create_graph: As in torch.Tensor.backward().

        Raises:
            TypeError: If the loss is not a tensor.
        """
        if not isinstance(loss, torch.Tensor):
            raise TypeError(f"the loss is {loss!r}: backward() takes a tensor")
        if self.experimental.scaler is not None:
            loss = self.experimental.scaler.scale(loss)
        backward: Callable[..., None] = loss.backward
        backward(gradient=gradient, retain_graph=retain_graph, create_graph=create_graph)

    def step_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        clip_grads: Callable[[Iterator[torch.nn.Parameter]], object] | None = None,
        auto_zero_grads: bool = True,
        scaler: Scaler | None = None,
        grad_scaler: Scaler | None = None,
    ) -> None:
        """Makes an optimizer step, unless this batch is not the last of aggregation_frequency.

        Example:
            >>> context.step_optimizer(
            ...     self.optimizer, lambda p: torch.nn.utils.clip_grad_norm_(p, 1.0)
            ... )

        Args:
            optimizer: What wrap_optimizer() returned.
            clip_grads: Called with the parameters before the step, to clip their gradients. If
                slots have parts of the weights, one more parameter represents the others'
                gradients, so that the 2-norm is that of the complete model.
            auto_zero_grads: Whether gradients are set to zero after the step.
            scaler: What wrap_scaler() returned. The Trial calls its update().
            grad_scaler: Another name of scaler.

        Raises:
            TypeError: If clip_grads is not callable.
            ValueError: If the optimizer is not wrapped, or strategy parameter_server gets a scaler.
            RuntimeError: If mixed precision is enabled by the config and a scaler is given, or if
                parameters without a gradient make the slots wait for each other.
        """
        if not any(optimizer is wrapped for wrapped in self.optimizers):
            raise ValueError(
                "step_optimizer() takes what wrap_optimizer() returned: checkpoints would lack the "
                "state of another optimizer"
            )
        if clip_grads is not None and not callable(clip_grads):
            raise TypeError(
                f"clip_grads is {clip_grads!r}: must be a function of parameters, for example "
                "lambda p: torch.nn.utils.clip_grad_norm_(p, 1.0)"
            )
        if not self.steps_now:
            return
        check_gradients_arrived(self.models)
        if scaler is not None or grad_scaler is not None:
            self.experimental.refuse_scaler("step_optimizer() with a scaler")
        own = self.experimental.scaler
        scaler = own or scaler or grad_scaler
        if scaler is not None and self._optimizations.strategy == "parameter_server":
            raise ValueError(
                "optimizations.strategy parameter_server does not support a GradScaler: train in "
                "bfloat16, which needs none"
            )
        if self._aggregation_frequency > 1 and self._average_aggregated.get(id(optimizer), True):
            divide_gradients(optimizer, self._aggregation_frequency)
        if self._strategy.before_step(optimizer):
            self._step(optimizer, clip_grads, scaler)
        self._strategy.after_step(optimizer)
        if own is not None:
            own.update()
        if auto_zero_grads:
            optimizer.zero_grad()
        self._after_step(optimizer)

    def _step(
        self,
        optimizer: torch.optim.Optimizer,
        clip_grads: Callable[[Iterator[torch.nn.Parameter]], object] | None,
        scaler: Scaler | None,
    ) -> None:
        if clip_grads is not None:
            if scaler is not None:
                scaler.unscale_(optimizer)
            clip_grads(self._strategy.parameters_for_clipping(optimizer))
        if scaler is not None:
            scaler.step(optimizer)
        else:
            optimizer.step()

    def _after_step(self, optimizer: torch.optim.Optimizer) -> None:
        count = self._optimizer_steps.get(id(optimizer), 0) + 1
        self._optimizer_steps[id(optimizer)] = count
        for scheduler in self.lr_schedulers:
            if scheduler.optimizer is optimizer or scheduler.optimizer is None:
                scheduler.step_after(LRScheduler.StepMode.STEP_EVERY_OPTIMIZER_STEP, count)

    # TensorBoard and profiling.

    def get_tensorboard_path(self) -> pathlib.Path:
        """Returns the folder for event files, which are stored beside the checkpoints."""
        return pathlib.Path(self._core.train.get_tensorboard_path())

    def get_tensorboard_writer(self) -> SummaryWriter:
        """Returns a torch.utils.tensorboard.SummaryWriter for that folder.

        Returns:
            The writer; each call returns the same one.

        Raises:
            ImportError: If the Python package tensorboard is not installed.
        """
        if self._writer is None:
            try:
                tensorboard: ModuleType = importlib.import_module("torch.utils.tensorboard")
            except ImportError as error:
                raise ImportError(
                    "get_tensorboard_writer() needs the Python package tensorboard, which is not "
                    "installed in the trial's environment"
                ) from error
            self._writer = tensorboard.SummaryWriter(
                log_dir=str(self.get_tensorboard_path()), purge_step=self.first_untrained_step()
            )
        return self._writer

    def get_enable_tensorboard_logging(self) -> bool:
        """Returns whether reported metrics are also written for TensorBoard."""
        return self._tensorboard_logging

    def set_enable_tensorboard_logging(self, enable_tensorboard_logging: bool) -> None:
        """Enables or disables writing of reported metrics for TensorBoard.

        Args:
            enable_tensorboard_logging: Whether to write them.
        """
        self._tensorboard_logging = enable_tensorboard_logging
        self._core._mirror_metrics(enable_tensorboard_logging)

    def set_profiler(self, *args: object, **kwargs: object) -> None:
        """Profiles training with torch.profiler.profile, which is stepped after every batch.

        Args:
            *args: Arguments of torch.profiler.profile.
            **kwargs: Keyword arguments of torch.profiler.profile. By default, traces are written to
                TensorBoard's folder.
        """
        profiler: ModuleType = torch.profiler  # Not fully annotated.
        kwargs.setdefault(
            "on_trace_ready",
            profiler.tensorboard_trace_handler(str(self.get_tensorboard_path())),
        )
        self._profiler = profiler.profile(*args, **kwargs)
