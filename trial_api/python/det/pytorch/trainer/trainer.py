"""init() and Trainer: training by a script or by an entrypoint `module:Class`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import TypeVar

import torch.distributed

from det import core
from det._info import get_cluster_info
from det._types import CheckpointStorage, JsonObject
from det.pytorch.distributed.device import choose_device
from det.pytorch.distributed.optimizations import parse_optimizations
from det.pytorch.distributed.process_group import ProcessGroup, init_process_group
from det.pytorch.trainer.fit_loop import FitLoop
from det.pytorch.trainer.schedule import Schedule, parse_rungs
from det.pytorch.trial.context import PyTorchTrialContext
from det.pytorch.trial.train_units import (
    Batch,
    TrainUnit,
    parse_train_unit,
    validate_units,
)
from det.pytorch.trial.trial import BaseTrial, PyTorchTrial
from det.pytorch.utilities.malloc import keep_freed_memory
from det.pytorch.utilities.rng import derive_seed, seed_all
from det.tensorboard._rank_files import is_not_event_file

_CHECKPOINT_POLICIES = ("best", "all", "none")
_DEFAULT_REPORTING_PERIOD = Batch(100)

_Context = TypeVar("_Context", bound=PyTorchTrialContext)


@contextlib.contextmanager
def init(
    *,
    hparams: JsonObject | None = None,
    exp_conf: JsonObject | None = None,
    distributed: core.DistributedContext | None = None,
    aggregation_frequency: int | None = None,
    enable_tensorboard_logging: bool = True,
    checkpoint_storage: CheckpointStorage | None = None,
) -> Iterator[PyTorchTrialContext]:
    """Opens the context of a Trial, for a with-statement.

    A launcher starts one process for each rank, and every rank calls it.

    Example:
        >>> with det.pytorch.init() as context:
        ...     trainer = det.pytorch.Trainer(MyTrial(context), context)
        ...     trainer.fit(max_length=det.pytorch.Epoch(3))

    Args:
        hparams: The hyperparameters by name. None: those of the trial on the cluster; off the
            cluster `hyperparameters` of exp_conf.
        exp_conf: The experiment config. None: that of the trial on the cluster, and {} off it.
        distributed: The ranks. None: those of the launcher's environment, or one rank.
        aggregation_frequency: The number of batches whose gradients make one optimizer step. None:
            `optimizations.aggregation_frequency` of the config, or 1.
        enable_tensorboard_logging: Whether reported metrics are written for TensorBoard.
        checkpoint_storage: Where checkpoints are stored; see det.core.init(). None: as the config
            says; off the cluster, ./checkpoints.

    Yields:
        The context.

    Raises:
        TypeError: If hparams or exp_conf is not a dict.
        ValueError: If aggregation_frequency or `optimizations` of the config is invalid, or not
            supported here.
        RuntimeError: If the slots are GPUs or TPUs, and torch sees none.
    """
    with open_context(
        PyTorchTrialContext,
        hparams=hparams,
        exp_conf=exp_conf,
        distributed=distributed,
        checkpoint_storage=checkpoint_storage,
        aggregation_frequency=aggregation_frequency,
        enable_tensorboard_logging=enable_tensorboard_logging,
    ) as context:
        yield context


@contextlib.contextmanager
def open_context(
    context_class: type[_Context],
    *,
    hparams: JsonObject | None,
    exp_conf: JsonObject | None,
    distributed: core.DistributedContext | None,
    checkpoint_storage: CheckpointStorage | None,
    aggregation_frequency: int | None = None,
    enable_tensorboard_logging: bool = True,
) -> Iterator[_Context]:
    """Opens a context of the given class; see init().

    Args:
        context_class: PyTorchTrialContext or a subclass.
        hparams: As in init().
        exp_conf: As in init().
        distributed: As in init().
        checkpoint_storage: As in init().
        aggregation_frequency: As in init().
        enable_tensorboard_logging: As in init().
    """
    for name, given in (("hparams", hparams), ("exp_conf", exp_conf)):
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"{name} is {given!r}: must be a dictionary")
    info = get_cluster_info()
    trial = info.trial if info else None
    config: JsonObject = exp_conf if exp_conf is not None else (trial.config if trial else {})
    if hparams is None:
        hparams = trial.hparams if trial else config.get("hyperparameters") or {}
    own_seed = int((config.get("reproducibility") or {}).get("experiment_seed") or 0)
    seed = trial.trial_seed if trial else own_seed
    device = choose_device()
    parse_optimizations(config).check(device)
    if device.type == "cpu":
        keep_freed_memory()
    initialized = init_process_group(device)
    try:
        with core.init(
            distributed=distributed,
            preempt_mode=core.PreemptMode.ChiefOnly,
            checkpoint_storage=checkpoint_storage,
        ) as core_context:
            core_context._mirror_metrics(enable_tensorboard_logging)
            if not core_context.distributed.is_chief:
                core_context._selects_event_file = is_not_event_file
            seed_all(derive_seed(seed))
            yield context_class(
                core_context,
                hparams=hparams,
                exp_conf=config,
                trial_seed=seed,
                process_group=ProcessGroup(),
                device=device,
                aggregation_frequency=aggregation_frequency,
                enable_tensorboard_logging=enable_tensorboard_logging,
            )
    finally:
        if initialized:
            torch.distributed.destroy_process_group()


class Trainer:
    """Trains a Trial.

    Example:
        >>> with det.pytorch.init() as context:
        ...     det.pytorch.Trainer(MyTrial(context), context).fit(max_length=Epoch(3))
    """

    _fit_loop_class: type[FitLoop] = FitLoop

    def __init__(self, trial: BaseTrial, context: PyTorchTrialContext) -> None:
        """Creates a trainer.

        Args:
            trial: The PyTorchTrial.
            context: The context with which it was created.
        """
        self._trial = trial
        self._context = context
        self._info = get_cluster_info()

    def configure_profiler(
        self, enabled: bool = True, sampling_interval: float = 1, samples_per_report: int = 10
    ) -> None:
        """Reports the system metrics of the node during training. Does nothing off the cluster.

        Args:
            enabled: Whether to do so.
            sampling_interval: The seconds between samples, at least 0.1.
            samples_per_report: The number of samples whose mean is reported.
        """
        if enabled and self._on_cluster:
            self._context._core.profiler.on(sampling_interval, samples_per_report)

    @property
    def _on_cluster(self) -> bool:
        return self._info is not None and self._info.trial is not None

    def fit(
        self,
        checkpoint_period: TrainUnit | None = None,
        validation_period: TrainUnit | None = None,
        max_length: TrainUnit | None = None,
        reporting_period: TrainUnit = _DEFAULT_REPORTING_PERIOD,
        checkpoint_policy: str = "best",
        latest_checkpoint: str | None = None,
        step_zero_validation: bool = False,
        test_mode: bool = False,
        profiling_enabled: bool = False,
    ) -> None:
        """Trains until max_length, or until the trial is preempted or requested to stop. Collective.

        Args:
            checkpoint_period: How often to save a checkpoint. None: only at the end.
            validation_period: How often to validate. None: only at the end.
            max_length: How long to train. None: on the cluster `searcher.max_length` of the config,
                or `searcher.max_time` if its time_metric is batches, records or epochs.
            reporting_period: How often to report training metrics. Batch(100) by default.
            checkpoint_policy: Which checkpoints to save after a validation: "best", "all" or
                "none". Off the cluster "best" is the same as "all".
            latest_checkpoint: The UUID of the checkpoint to start from; on the cluster
                det.get_cluster_info().latest_checkpoint, to resume after a restart. From another
                trial's checkpoint only weights and optimizer state are loaded. Off the cluster, a
                folder in the checkpoint storage.
            step_zero_validation: Whether to validate before the first batch.
            test_mode: Whether to run one batch, one validation and one checkpoint only, to test the
                Trial. Off the cluster only.
            profiling_enabled: Whether to call configure_profiler().

        Raises:
            TypeError: If a period is not a Batch or Epoch, or the Trial's methods return objects of
                a wrong type.
            ValueError: If an argument is invalid, max_length is unknown, or the data is too small.
            RuntimeError: If the Trial wrapped no model, the training data ended early, or a
                validation on the cluster lacks the metric that searcher.metric names.
            CheckpointError: If the checkpoint does not fit, or one could not be saved.
        """
        if checkpoint_policy not in _CHECKPOINT_POLICIES:
            names = ", ".join(_CHECKPOINT_POLICIES)
            raise ValueError(f"checkpoint_policy is {checkpoint_policy!r}: must be one of {names}")
        validate_units(
            checkpoint_period=checkpoint_period,
            validation_period=validation_period,
            max_length=max_length,
            reporting_period=reporting_period,
        )
        if test_mode and self._on_cluster:
            raise ValueError("test_mode is only supported off the cluster")
        schedule = Schedule(
            max_length=Batch(1) if test_mode else self._get_max_length(max_length),
            reporting=reporting_period,
            validation=validation_period,
            checkpoint=checkpoint_period,
            initial_validation=step_zero_validation,
            rungs=self._get_rungs(),
        )
        if profiling_enabled:
            self.configure_profiler()
        self._fit_loop_class(
            self._trial,
            self._context,
            schedule,
            policy=checkpoint_policy,
            latest_checkpoint=self._replace_damaged(latest_checkpoint),
            searcher_metric=self._get_searcher().get("metric") if self._on_cluster else None,
        ).run()

    def _get_searcher(self) -> JsonObject:
        return dict(self._context.get_experiment_config().get("searcher") or {})

    def _get_global_batch_size(self) -> int | None:
        size = self._context.get_hparams().get("global_batch_size")
        return size if isinstance(size, int) else None

    def _parse_unit(self, value: object, field: str) -> TrainUnit | None:
        return parse_train_unit(value, field, self._get_global_batch_size())

    def _get_max_length(self, given: TrainUnit | None) -> TrainUnit:
        if given is None:
            searcher = self._get_searcher()
            time, unit = searcher.get("max_time"), searcher.get("time_metric")
            if searcher.get("max_length") is not None:
                given = self._parse_unit(searcher["max_length"], "searcher.max_length")
            elif time is not None and unit in ("batches", "records", "epochs"):
                given = self._parse_unit({unit: time}, "searcher.max_time")
        if given is None:
            raise ValueError(
                "max_length is unknown: pass it to fit(), for example max_length=Epoch(3), or set "
                "searcher.max_length in the experiment config, or searcher.max_time with a "
                "time_metric of batches, records or epochs"
            )
        return given

    def _get_rungs(self) -> TrainUnit | None:
        lengths = self._info.trial.validate_at if self._info and self._info.trial else []
        return parse_rungs(lengths, self._get_searcher(), self._get_global_batch_size())

    def _replace_damaged(self, latest: str | None) -> str | None:
        """Returns the latest checkpoint, or an earlier one if the trial's latest is damaged."""
        if latest is None or self._info is None or latest != self._info.latest_checkpoint:
            return latest
        complete: str | None = self._context._core.checkpoint.newest_whole()
        return complete


def run_trial_class(cls: type[PyTorchTrial]) -> None:
    """Trains a Trial as the experiment config says, for an entrypoint `module:Class`.

    If the Trial raises det.InvalidHP, it is reported to the master, and the process exits with 0.

    Args:
        cls: The PyTorchTrial's class.

    Raises:
        RuntimeError: If this process is not a task of a trial.
    """
    config = get_trial_config()
    with init() as context:
        fit_from_config(Trainer(cls(context), context), config)


def get_trial_config() -> JsonObject:
    """Returns the experiment config of this trial.

    Raises:
        RuntimeError: If this process is not a task of a trial.
    """
    info = get_cluster_info()
    if info is None or info.trial is None:
        raise RuntimeError(
            "an entrypoint module:Class runs on the cluster only; off the cluster, write a script "
            "with det.pytorch.init() and Trainer"
        )
    return info.trial.config


def fit_from_config(trainer: Trainer, config: JsonObject) -> None:
    """Calls fit() with the arguments of an experiment config."""

    def period(field: str) -> TrainUnit | None:
        return trainer._parse_unit(config.get(field), field)

    info = get_cluster_info()
    trainer.fit(
        checkpoint_period=period("min_checkpoint_period"),
        validation_period=period("min_validation_period"),
        reporting_period=Batch(int(config.get("scheduling_unit") or 100)),
        checkpoint_policy=str(config.get("checkpoint_policy") or "best"),
        latest_checkpoint=info.latest_checkpoint if info else None,
        step_zero_validation=bool(config.get("perform_initial_validation")),
        profiling_enabled=bool((config.get("profiling") or {}).get("enabled")),
    )
