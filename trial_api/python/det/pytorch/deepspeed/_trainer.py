"""Training of a DeepSpeedTrial by a script: init() and Trainer."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, Optional

from det import core
from det.pytorch import _trainer
from det.pytorch.deepspeed._context import DeepSpeedTrialContext
from det.pytorch.deepspeed._controller import DeepSpeedController


@contextlib.contextmanager
def init(
    *,
    hparams: Optional[Dict[str, Any]] = None,
    exp_conf: Optional[Dict[str, Any]] = None,
    distributed: Optional[core.DistributedContext] = None,
    enable_tensorboard_logging: bool = True,
    checkpoint_storage: Any = None,
) -> Iterator[DeepSpeedTrialContext]:
    """As det.pytorch.init(). Every rank calls it: det.launch.deepspeed started them."""
    with _trainer.open_context(
        DeepSpeedTrialContext,
        hparams=hparams,
        exp_conf=exp_conf,
        distributed=distributed,
        checkpoint_storage=checkpoint_storage,
        enable_tensorboard_logging=enable_tensorboard_logging,
    ) as context:
        yield context


class Trainer(_trainer.Trainer):
    """Trains a Trial: `with init(...) as context: Trainer(MyTrial(context), context).fit(...)`; fit() has
    the arguments of det.pytorch.Trainer's. A batch is a step of the engines."""

    _controller = DeepSpeedController

    def __init__(self, trial: Any, context: DeepSpeedTrialContext) -> None:
        super().__init__(trial, context)

    def _global_batch_size(self) -> Optional[int]:
        context = self._context
        assert isinstance(context, DeepSpeedTrialContext)
        return context.get_global_batch_size() if context.engines else None


def run_trial_class(cls: Any) -> None:
    """As det.pytorch.run_trial_class(), of a DeepSpeedTrial."""
    config = _trainer.trial_config()
    with init() as context:
        _trainer.fit_as_configured(Trainer(cls(context), context), config)
