"""What a PyTorchTrial knows of its experiment, and how its model trains on all slots."""

from __future__ import annotations

import pathlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Union

import torch

from det.pytorch import _compression, _data, _hierarchy, _optimizations, _parallel, _shares, _strategy
from det.pytorch._experimental import PyTorchExperimentalContext
from det.pytorch._lr_scheduler import LRScheduler
from det.pytorch._ranks import Ranks
from det.pytorch._reducers import MetricReducer, WrappedReducers
from det.pytorch._schedule import Progress


class PyTorchTrialContext:
    """Made by det.pytorch.init(); used on the training thread. A Trial wraps its models and
    optimizers in its constructor, and calls backward() and step_optimizer() in train_batch()."""

    def __init__(
        self,
        core: Any,
        *,
        hparams: Dict[str, Any],
        exp_conf: Dict[str, Any],
        trial_seed: int,
        ranks: Ranks,
        device: torch.device,
        aggregation_frequency: Optional[int] = None,
        enable_tensorboard_logging: bool = True,
    ) -> None:
        self._optimizations = _optimizations.read(exp_conf)
        if aggregation_frequency is None:
            aggregation_frequency = self._optimizations.aggregation_frequency
        if aggregation_frequency < 1:
            raise ValueError(f"aggregation_frequency is {aggregation_frequency}: at least 1")
        self._core = core
        self._hparams = hparams
        self._exp_conf = exp_conf
        self._seed = trial_seed
        self._ranks = ranks
        self._device = device
        self._aggregation_frequency = aggregation_frequency
        self._tensorboard_logging = enable_tensorboard_logging
        self.models: List[torch.nn.Module] = []
        self.optimizers: List[torch.optim.Optimizer] = []
        self.lr_schedulers: List[LRScheduler] = []
        self.reducers = WrappedReducers()
        self._averages: Dict[int, bool] = {}  # By id of the optimizer.
        self._optimizer_steps: Dict[int, int] = {}
        self._scaler: Any = None
        self._profiler: Any = None
        self._writer: Any = None
        self._stop_requested = False
        self._strategy = _strategy.make(self, ranks, self._optimizations)
        self.experimental = PyTorchExperimentalContext(
            device, self._optimizations, self._strategy.in_parts
        )
        self._readers = ranks.readers(self._optimizations.strategy)
        self._share = _shares.find(ranks, self._optimizations, device)
        self._nodes = _hierarchy.find_nodes(ranks, self._optimizations)
        # Of the controller.
        self._progress: Optional[Progress] = None
        self._batches_per_epoch: Optional[int] = None
        self._first_batch = 0

    # What is known.

    @property
    def distributed(self) -> Any:
        """det.core.DistributedContext: ranks, and small collective operations."""
        return self._core.distributed

    @property
    def device(self) -> torch.device:
        return self._device

    def get_experiment_config(self) -> Dict[str, Any]:
        return self._exp_conf

    def get_data_config(self) -> Dict[str, Any]:
        """`data` of the configuration."""
        return self._exp_conf.get("data") or {}

    def get_hparams(self) -> Dict[str, Any]:
        return self._hparams

    def get_hparam(self, name: str) -> Any:
        """Raises ValueError if there is none by that name."""
        if name not in self._hparams:
            known = ", ".join(sorted(self._hparams)) or "none"
            raise ValueError(f"there is no hyperparameter {name!r}; there are: {known}")
        return self._hparams[name]

    def get_global_batch_size(self) -> int:
        """The hyperparameter global_batch_size: records of one step on all slots together."""
        size = self.get_hparam("global_batch_size")
        if isinstance(size, bool) or not isinstance(size, int) or size < self._share.total:
            raise ValueError(
                f"global_batch_size is {size!r}: must be a number of at least {self._share.total}, "
                "one record a slot"
            )
        return size

    def get_per_slot_batch_size(self) -> int:
        """A slot's part of it; with the strategy pipeline all. Raises ValueError if the slots' number
        does not divide it."""
        size, slots = self.get_global_batch_size(), self._share.total
        if size % slots:
            raise ValueError(
                f"global_batch_size {size} cannot be divided evenly among {slots} slots"
            )
        return size // slots

    def get_trial_seed(self) -> int:
        return self._seed

    def get_experiment_id(self) -> int:
        """0 off the cluster."""
        trial = self._core.info.trial if self._core.info else None
        return trial.experiment_id if trial else 0

    def get_trial_id(self) -> int:
        """0 off the cluster."""
        trial = self._core.info.trial if self._core.info else None
        return trial.trial_id if trial else 0

    @property
    def scaler(self) -> Any:
        """What multiplies the loss: of mixed precision, or of the Trial's own; None without."""
        return self.experimental.scaler or self._scaler

    # Where training is.

    def current_train_batch(self) -> Optional[int]:
        """Of the batch that is trained, counted from 0 over all epochs; None before training."""
        return self._progress.steps_completed if self._progress else None

    def current_train_epoch(self) -> int:
        return self._progress.epoch if self._progress else -1

    def get_initial_batch(self) -> int:
        """From which batch this run trains: above 0 where it resumes."""
        return self._first_batch

    def first_untrained_step(self) -> Optional[int]:
        """Where this run resumes: what an earlier one told of this step and later ones is told again.
        None where there was none."""
        return self._first_batch + 1 if self._first_batch else None

    def is_epoch_start(self) -> bool:
        """Whether the batch that is trained is the first of its epoch."""
        return self._progress is not None and self._progress.batch == 0

    def is_epoch_end(self) -> bool:
        """Whether it is the last of its epoch. Unknown, and so False, for data without a length."""
        if self._progress is None or self._batches_per_epoch is None:
            return False
        return self._progress.batch == self._batches_per_epoch - 1

    def get_stop_requested(self) -> bool:
        return self._stop_requested

    def set_stop_requested(self, stop_requested: bool) -> None:
        """Ends training after this batch, or the one after; any rank may. With a checkpoint."""
        if not isinstance(stop_requested, bool):
            raise TypeError("set_stop_requested() takes True or False")
        self._stop_requested = stop_requested

    # What is wrapped.

    def wrap_model(
        self, model: torch.nn.Module, find_unused_parameters: bool = False
    ) -> torch.nn.Module:
        """The model to compute with: on the slot's device, with the chief's initial weights, its
        gradients averaged over the slots. It is saved in checkpoints.

        Args:
            find_unused_parameters: batches may use some of its parameters only; on several slots
                this takes a walk through each forward pass.
        """
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"wrap_model() takes a torch.nn.Module, not a {type(model).__name__}")
        if any(_parallel.unwrap(model) is _parallel.unwrap(known) for known in self.models):
            raise ValueError("wrap_model() was called twice with the same model")
        wrapped = self._strategy.wrap(model)
        if wrapped is None:
            told, share, finds = self._optimizations, self._share, find_unused_parameters
            wrapped = _parallel.wrap(
                model, self._device, self._ranks, told, share, self._nodes, finds
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
        """The optimizer to step, which is saved in checkpoints; with optimizations.shard_optimizer
        another one, of the same kind.

        Args:
            backward_passes_per_step: calls of backward() before step_optimizer(), for information.
            fp16_compression: gradients travel as float16.
            average_aggregated_gradients: over the batches of aggregation_frequency; else their sum.
        """
        if not isinstance(optimizer, torch.optim.Optimizer):
            kind = type(optimizer).__name__
            raise TypeError(f"wrap_optimizer() takes a torch.optim.Optimizer, not a {kind}")
        if backward_passes_per_step < 1:
            raise ValueError(f"backward_passes_per_step is {backward_passes_per_step}: at least 1")
        self._strategy.check_optimizer(optimizer)
        optimizer = _strategy.shard(optimizer, self._ranks, self._optimizations)
        self.optimizers.append(optimizer)
        average = self._optimizations.average_aggregated_gradients
        self._averages[id(optimizer)] = average and average_aggregated_gradients
        if fp16_compression:
            self._compress_gradients()
        return optimizer

    def _compress_gradients(self) -> None:
        for model in self.models:
            if isinstance(model, _parallel.ParallelModel):
                _compression.compress(model, "float16", self._device)

    def wrap_lr_scheduler(
        self,
        lr_scheduler: Any,
        step_mode: LRScheduler.StepMode,
        frequency: int = 1,
    ) -> LRScheduler:
        """A schedule that is stepped after every `frequency` of what step_mode says, and saved."""
        wrapped = LRScheduler(lr_scheduler, step_mode, frequency)
        if wrapped.optimizer is not None and wrapped.optimizer not in self.optimizers:
            raise ValueError("wrap_optimizer() comes before wrap_lr_scheduler() of its schedule")
        self.lr_schedulers.append(wrapped)
        return wrapped

    def wrap_scaler(self, scaler: Any) -> Any:
        """A torch.cuda.amp.GradScaler of the Trial's own, which is saved. The Trial scales the loss
        and gives the scaler to step_optimizer(). Raises RuntimeError beside another one."""
        self.experimental.refuse_scaler("context.wrap_scaler()")
        if self.experimental.auto_amp:
            raise RuntimeError("experimental.use_amp() has a scaler of its own: leave one out")
        self._scaler = scaler
        return scaler

    def wrap_reducer(
        self,
        reducer: Union[MetricReducer, Callable[[List[Any]], Any]],
        name: Optional[str] = None,
        for_training: bool = True,
        for_validation: bool = True,
    ) -> Any:
        """A metric that is no mean. A function gets all that update() of what is returned was
        given, on all ranks, in one list. Without `name` a dictionary of metrics comes out."""
        return self.reducers.wrap(reducer, name, for_training, for_validation)

    def configure_apex_amp(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("Apex AMP is superseded: call context.experimental.use_amp()")

    # In train_batch().

    def to_device(self, data: Any) -> Any:
        """`data` with its tensors on the slot's device."""
        return _data.to_device(data, self._device)

    @property
    def steps_now(self) -> bool:
        """Whether the batch that is trained is the last of those that are aggregated."""
        batch = self.current_train_batch() or 0
        return (batch + 1) % self._aggregation_frequency == 0

    def backward(
        self,
        loss: torch.Tensor,
        gradient: Optional[torch.Tensor] = None,
        retain_graph: bool = False,
        create_graph: bool = False,
    ) -> None:
        """Gradients of the loss, a mean over this rank's records, averaged over all ranks where
        they step after this batch. Every rank calls it equally often."""
        if not isinstance(loss, torch.Tensor):
            raise TypeError(f"the loss is {loss!r}: backward() takes a tensor")
        if self.experimental.scaler is not None:
            loss = self.experimental.scaler.scale(loss)
        loss.backward(gradient=gradient, retain_graph=retain_graph, create_graph=create_graph)

    def step_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        clip_grads: Optional[Callable[[Iterator[torch.nn.Parameter]], Any]] = None,
        auto_zero_grads: bool = True,
        scaler: Any = None,
        grad_scaler: Any = None,
    ) -> None:
        """Steps, unless batches are aggregated and this is not the last of them.

        Args:
            clip_grads: is called with the parameters before the step, to clip what they hold. Where
                slots have parts of the weights, there is one more that stands for the others'.
            auto_zero_grads: clears the gradients behind the step.
            scaler: of wrap_scaler(); it is updated by the Trial. grad_scaler: the same.
        """
        if not any(optimizer is wrapped for wrapped in self.optimizers):
            raise ValueError(
                "step_optimizer() takes what wrap_optimizer() returned: of another optimizer no "
                "checkpoint would have the state"
            )
        if clip_grads is not None and not callable(clip_grads):
            raise TypeError(
                f"clip_grads is {clip_grads!r}: give a function of parameters, for example "
                "lambda p: torch.nn.utils.clip_grad_norm_(p, 1.0)"
            )
        if not self.steps_now:
            return
        _parallel.check_arrived(self.models)
        if scaler is not None or grad_scaler is not None:
            self.experimental.refuse_scaler("step_optimizer() with a scaler")
        own = self.experimental.scaler
        scaler = own or scaler or grad_scaler
        if scaler is not None and self._optimizations.strategy == "parameter_server":
            raise ValueError(
                "optimizations.strategy parameter_server goes without a GradScaler: train in "
                "bfloat16, which needs none"
            )
        if self._aggregation_frequency > 1 and self._averages.get(id(optimizer), True):
            _strategy.divide_gradients(optimizer, self._aggregation_frequency)
        if self._strategy.before_step(optimizer):
            self._step(optimizer, clip_grads, scaler)
        self._strategy.after_step(optimizer)
        if own is not None:
            own.update()
        if auto_zero_grads:
            optimizer.zero_grad()
        self._after_step(optimizer)

    def _step(self, optimizer: torch.optim.Optimizer, clip_grads: Any, scaler: Any) -> None:
        if clip_grads is not None:
            if scaler is not None:
                scaler.unscale_(optimizer)
            clip_grads(self._strategy.for_clipping(optimizer))
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

    # What is looked at.

    def get_tensorboard_path(self) -> pathlib.Path:
        """A folder for event files, which are kept beside the checkpoints."""
        return pathlib.Path(self._core.train.get_tensorboard_path())

    def get_tensorboard_writer(self) -> Any:
        """torch.utils.tensorboard's SummaryWriter on that folder."""
        if self._writer is None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as error:
                raise ImportError(
                    "get_tensorboard_writer() needs the Python package tensorboard, which is not "
                    "installed where this trial runs"
                ) from error
            self._writer = SummaryWriter(
                log_dir=str(self.get_tensorboard_path()), purge_step=self.first_untrained_step()
            )
        return self._writer

    def get_enable_tensorboard_logging(self) -> bool:
        return self._tensorboard_logging

    def set_enable_tensorboard_logging(self, enable_tensorboard_logging: bool) -> None:
        self._tensorboard_logging = enable_tensorboard_logging

    def set_profiler(self, *args: Any, **kwargs: Any) -> None:
        """torch.profiler.profile with these arguments, stepped after every batch; its traces go to
        TensorBoard's folder."""
        kwargs.setdefault(
            "on_trace_ready",
            torch.profiler.tensorboard_trace_handler(str(self.get_tensorboard_path())),
        )
        self._profiler = torch.profiler.profile(*args, **kwargs)
