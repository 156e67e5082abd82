"""Training by a script: init() and Trainer."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, Mapping, Optional, Type

import torch.distributed

from det import core
from det._info import get_cluster_info
from det.pytorch import _memory, _optimizations, _random, _ranks
from det.pytorch._context import PyTorchTrialContext
from det.pytorch._controller import Controller
from det.pytorch._schedule import Schedule, rungs_from_config
from det.pytorch._trial import PyTorchTrial
from det.pytorch._units import Batch, TrainUnit, check_units, configured_epoch, unit_from_config

_POLICIES = ("best", "all", "none")


@contextlib.contextmanager
def init(
    *,
    hparams: Optional[Dict[str, Any]] = None,
    exp_conf: Optional[Dict[str, Any]] = None,
    distributed: Optional[core.DistributedContext] = None,
    aggregation_frequency: Optional[int] = None,
    enable_tensorboard_logging: bool = True,
    checkpoint_storage: Any = None,
) -> Iterator[PyTorchTrialContext]:
    """The context of a Trial, for a with-statement. Every rank calls it: a launcher started them.

    Args:
        hparams, exp_conf: hyperparameters and configuration; None: on the cluster the trial's.
        distributed: the ranks; None: those of the launcher's environment, else one.
        aggregation_frequency: of how many batches the gradients make one step; None: what
            `optimizations` of the configuration says, else 1.
        checkpoint_storage: off the cluster, a folder; None: ./checkpoints.

    Raises:
        TypeError, ValueError: arguments that make no sense, or `optimizations` of the configuration
            asks for what is not there.
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
    kind: Type[PyTorchTrialContext],
    *,
    hparams: Optional[Dict[str, Any]],
    exp_conf: Optional[Dict[str, Any]],
    distributed: Optional[core.DistributedContext],
    checkpoint_storage: Any,
    **options: Any,
) -> Iterator[Any]:
    """One of that kind; see init(). options: of its constructor."""
    for name, given in (("hparams", hparams), ("exp_conf", exp_conf)):
        if given is not None and not isinstance(given, Mapping):
            raise TypeError(f"{name} is {given!r}: give a dictionary")
    info = get_cluster_info()
    trial = info.trial if info else None
    exp_conf = exp_conf if exp_conf is not None else (trial.config if trial else {})
    if hparams is None:
        hparams = trial.hparams if trial else exp_conf.get("hyperparameters") or {}
    own_seed = int((exp_conf.get("reproducibility") or {}).get("experiment_seed") or 0)
    seed = trial.trial_seed if trial else own_seed
    device = _ranks.choose_device()
    _optimizations.read(exp_conf).check(device)
    if device.type == "cpu":
        _memory.keep_freed_memory()
    joined = _ranks.join(device)
    try:
        with core.init(
            distributed=distributed,
            preempt_mode=core.PreemptMode.ChiefOnly,
            checkpoint_storage=checkpoint_storage,
        ) as core_context:
            _random.seed_all(_random.derive(seed))
            yield kind(
                core_context,
                hparams=hparams,
                exp_conf=exp_conf,
                trial_seed=seed,
                ranks=_ranks.Ranks(),
                device=device,
                **options,
            )
    finally:
        if joined:
            torch.distributed.destroy_process_group()


class Trainer:
    """Trains a Trial: `with init(...) as context: Trainer(MyTrial(context), context).fit(...)`."""

    _controller: Type[Controller] = Controller

    def __init__(self, trial: PyTorchTrial, context: PyTorchTrialContext) -> None:
        self._trial = trial
        self._context = context
        self._info = get_cluster_info()

    def configure_profiler(self, enabled: bool = True, **options: Any) -> None:
        """Reports what the node is busy with, beside training; see det.core's profiler."""
        if enabled and self._on_cluster:
            self._context._core.profiler.on(**options)

    @property
    def _on_cluster(self) -> bool:
        return self._info is not None and self._info.trial is not None

    def fit(
        self,
        checkpoint_period: Optional[TrainUnit] = None,
        validation_period: Optional[TrainUnit] = None,
        max_length: Optional[TrainUnit] = None,
        reporting_period: TrainUnit = Batch(100),
        checkpoint_policy: str = "best",
        latest_checkpoint: Optional[str] = None,
        step_zero_validation: bool = False,
        test_mode: bool = False,
        profiling_enabled: bool = False,
    ) -> None:
        """Trains to the end, or until the trial is preempted or asked to stop. Collective.

        Args:
            checkpoint_period, validation_period: how often, besides at the end.
            max_length: how long; None: on the cluster searcher.max_length of the configuration, or
                searcher.max_time where its time_metric is batches, records or epochs.
            reporting_period: of training's metrics.
            checkpoint_policy: also after a validation: "best", "all" or "none". Off the cluster
                "best" is "all".
            latest_checkpoint: det.get_cluster_info().latest_checkpoint to go on after a restart; of
                another trial, its weights are taken. Off the cluster a uuid below ./checkpoints.
            step_zero_validation: validates before the first batch.
            test_mode: one batch, validation and checkpoint, to see that all runs; off the cluster.

        Raises:
            TypeError, ValueError: arguments that make no sense.
            CheckpointError: a checkpoint does not fit, or one could not be saved.
        """
        if checkpoint_policy not in _POLICIES:
            names = ", ".join(_POLICIES)
            raise ValueError(f"checkpoint_policy is {checkpoint_policy!r}: give one of {names}")
        check_units(
            checkpoint_period=checkpoint_period,
            validation_period=validation_period,
            max_length=max_length,
            reporting_period=reporting_period,
        )
        if test_mode and self._on_cluster:
            raise ValueError("test_mode is for runs off the cluster")
        schedule = Schedule(
            max_length=Batch(1) if test_mode else self._max_length(max_length),
            reporting=reporting_period,
            validation=validation_period,
            checkpoint=checkpoint_period,
            initial_validation=step_zero_validation,
            rungs=self._rungs(),
            epoch=self._configured_epoch(),
        )
        if profiling_enabled:
            self.configure_profiler()
        self._controller(
            self._trial,
            self._context,
            schedule,
            policy=checkpoint_policy,
            latest_checkpoint=self._whole(latest_checkpoint),
        ).run()

    def _searcher(self) -> Dict[str, Any]:
        return dict(self._context.get_experiment_config().get("searcher") or {})

    def _global_batch_size(self) -> Optional[int]:
        size = self._context.get_hparams().get("global_batch_size")
        return size if isinstance(size, int) else None

    def _records_per_epoch(self) -> int:
        return int(self._context.get_experiment_config().get("records_per_epoch") or 0)

    def _configured_epoch(self) -> Optional[int]:
        size = self._global_batch_size()
        # Without a size nothing is counted in such epochs, or whatever is has complained.
        return configured_epoch(self._records_per_epoch(), size) if size else None

    def _unit(self, value: Any, field: str) -> Optional[TrainUnit]:
        return unit_from_config(value, field, self._global_batch_size(), self._records_per_epoch())

    def _max_length(self, given: Optional[TrainUnit]) -> TrainUnit:
        if given is None:
            searcher = self._searcher()
            time, unit = searcher.get("max_time"), searcher.get("time_metric")
            if searcher.get("max_length") is not None:
                given = self._unit(searcher["max_length"], "searcher.max_length")
            elif time is not None and unit in ("batches", "records", "epochs"):
                given = self._unit({unit: time}, "searcher.max_time")
        if given is None:
            raise ValueError(
                "how long to train is not said: give fit() a max_length, for example Epoch(3), or "
                "the configuration a searcher.max_length, or a max_time with a time_metric that is "
                "batches, records or epochs"
            )
        return given

    def _rungs(self) -> Optional[TrainUnit]:
        lengths = self._info.trial.validate_at if self._info and self._info.trial else []
        return rungs_from_config(
            lengths, self._searcher(), self._global_batch_size(), self._records_per_epoch()
        )

    def _whole(self, latest: Optional[str]) -> Optional[str]:
        """The trial's newest is compared with what was saved; if damaged, an earlier one."""
        if latest is None or self._info is None or latest != self._info.latest_checkpoint:
            return latest
        whole: Optional[str] = self._context._core.checkpoint.newest_whole()
        return whole


def run_trial_class(cls: Any) -> None:
    """The whole life of a rank for the entrypoint `module:Class`: everything is as the
    configuration of its experiment says. InvalidHP ends the process with 0, once the master knows.

    Raises:
        RuntimeError: this is no task of a trial.
    """
    config = trial_config()
    with init() as context:
        fit_as_configured(Trainer(cls(context), context), config)


def trial_config() -> Dict[str, Any]:
    """Raises RuntimeError where this is no task of a trial."""
    info = get_cluster_info()
    if info is None or info.trial is None:
        raise RuntimeError(
            "an entrypoint module:Class runs on the cluster; off it, write a script with "
            "det.pytorch.init() and Trainer"
        )
    return info.trial.config


def fit_as_configured(trainer: Trainer, config: Dict[str, Any]) -> None:
    def period(field: str) -> Optional[TrainUnit]:
        return trainer._unit(config.get(field), field)

    info = get_cluster_info()
    trainer.fit(
        checkpoint_period=period("min_checkpoint_period"),
        validation_period=period("min_validation_period")
        or trainer._unit({"epochs": 1}, "min_validation_period"),
        reporting_period=Batch(int(config.get("scheduling_unit") or 100)),
        checkpoint_policy=str(config.get("checkpoint_policy") or "best"),
        latest_checkpoint=info.latest_checkpoint if info else None,
        step_zero_validation=bool(config.get("perform_initial_validation")),
        profiling_enabled=bool((config.get("profiling") or {}).get("enabled")),
    )
