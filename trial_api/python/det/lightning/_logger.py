"""Reports what a Lightning module logs. Needs the package lightning or pytorch_lightning."""

from __future__ import annotations

from collections.abc import Mapping

from det import core
from det.core._report import ReportedMetrics

try:
    from lightning.pytorch.loggers import Logger
except ImportError:
    from pytorch_lightning.loggers import Logger

_VALIDATION = ("val", "test")


class DetLogger(Logger):  # type: ignore[misc]
    """A logger for `logger=` of a Trainer.

    Metrics whose names begin with "val" or "test" are reported as validation metrics, others as
    training metrics.

    Args:
        core_context: The context of det.core.init().
    """

    def __init__(self, core_context: core.Context) -> None:
        super().__init__()
        self._core = core_context
        self._reported = ReportedMetrics()

    @property
    def name(self) -> str:
        """The name of the logger."""
        return "det"

    @property
    def version(self) -> str:
        """The ID of the trial; "0" off the cluster."""
        info = self._core.info
        return str(info.trial.trial_id if info and info.trial else 0)

    def log_hyperparams(self, params: object, *args: object, **kwargs: object) -> None:
        """Does nothing: the master knows the hyperparameters."""

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Reports metrics. Those of other ranks than the chief are ignored.

        Args:
            metrics: The metrics by name.
            step: The index of the batch, from 0; None: 0 steps are reported.
        """
        if self._core.distributed.rank != 0:
            return
        by_group: dict[str, dict[str, float]] = {}
        for name, value in metrics.items():
            group = "validation" if name.startswith(_VALIDATION) else "training"
            by_group.setdefault(group, {})[name] = value
        steps = 0 if step is None else step + 1  # Lightning counts from 0.
        for group, numbers in by_group.items():
            new = self._reported.select_new(group, steps, numbers)
            if new and set(new) != {"epoch"}:
                self._core.train.report_metrics(group, steps, new)
