"""init() and Trainer: training of a DeepSpeedTrial by a script or by an entrypoint."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from det import core
from det._types import CheckpointStorage, JsonObject
from det.pytorch.deepspeed._context import DeepSpeedTrialContext
from det.pytorch.deepspeed._fit_loop import DeepSpeedFitLoop
from det.pytorch.deepspeed._trial import DeepSpeedTrial
from det.pytorch.trainer import trainer


@contextlib.contextmanager
def init(
    *,
    hparams: JsonObject | None = None,
    exp_conf: JsonObject | None = None,
    distributed: core.DistributedContext | None = None,
    enable_tensorboard_logging: bool = True,
    checkpoint_storage: CheckpointStorage | None = None,
) -> Iterator[DeepSpeedTrialContext]:
    """Opens the context of a DeepSpeedTrial, for a with-statement.

    det.launch.deepspeed starts one process for each rank, and every rank calls it.

    Args:
        hparams: The hyperparameters by name. None: those of the trial on the cluster; off the
            cluster `hyperparameters` of exp_conf.
        exp_conf: The experiment config. None: that of the trial on the cluster, and {} off it.
        distributed: The ranks. None: those of the launcher's environment, or one rank.
        enable_tensorboard_logging: Whether reported metrics are written for TensorBoard.
        checkpoint_storage: Where checkpoints are stored; see det.core.init(). None: as the config
            says; off the cluster, ./checkpoints.

    Yields:
        The context.

    Raises:
        TypeError: If hparams or exp_conf is not a dict.
        ValueError: If `optimizations` of the config sets what DeepSpeed's configuration determines.
        RuntimeError: If the slots are GPUs, and torch sees none.
    """
    with trainer.open_context(
        DeepSpeedTrialContext,
        hparams=hparams,
        exp_conf=exp_conf,
        distributed=distributed,
        checkpoint_storage=checkpoint_storage,
        enable_tensorboard_logging=enable_tensorboard_logging,
    ) as context:
        yield context


class Trainer(trainer.Trainer):
    """Trains a DeepSpeedTrial.

    fit() has the arguments of det.pytorch.Trainer.fit(); a batch is a step of the engines.

    Example:
        >>> with det.pytorch.deepspeed.init() as context:
        ...     trainer = det.pytorch.deepspeed.Trainer(MyTrial(context), context)
        ...     trainer.fit(max_length=det.pytorch.Batch(1000))
    """

    _fit_loop_class = DeepSpeedFitLoop

    def __init__(self, trial: DeepSpeedTrial, context: DeepSpeedTrialContext) -> None:
        """Creates a trainer.

        Args:
            trial: The DeepSpeedTrial.
            context: The context with which it was created.
        """
        super().__init__(trial, context)

    def _get_global_batch_size(self) -> int | None:
        context = self._context
        assert isinstance(context, DeepSpeedTrialContext)
        return context.get_global_batch_size() if context.engines else None


def run_trial_class(cls: type[DeepSpeedTrial]) -> None:
    """Trains a DeepSpeedTrial as the experiment config says, for an entrypoint `module:Class`.

    If the Trial raises det.InvalidHP, it is reported to the master, and the process exits with 0.

    Args:
        cls: The DeepSpeedTrial's class.

    Raises:
        RuntimeError: If this process is not a task of a trial.
    """
    config = trainer.get_trial_config()
    with init() as context:
        trainer.fit_from_config(Trainer(cls(context), context), config)
