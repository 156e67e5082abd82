"""Classes that existing scripts name in annotations and checks."""

from __future__ import annotations

from typing import Any

from det._types import JsonObject


class TrialContext:
    """The base class of PyTorchTrialContext and DeepSpeedTrialContext."""


class LegacyTrial:
    """The base class of PyTorchTrial and DeepSpeedTrial."""


class ExperimentConfig(dict[str, Any]):
    """An experiment config with methods for some of its fields.

    Example:
        >>> config = ExperimentConfig(det.get_cluster_info().trial.config)
        >>> config.get_searcher_metric()
        'validation_loss'
    """

    def debug_enabled(self) -> bool:
        """Returns the field debug; False if it is absent."""
        return bool(self.get("debug"))

    def scheduling_unit(self) -> int:
        """Returns the batches between two reports of training metrics; 100 by default."""
        return int(self.get("scheduling_unit") or 100)

    def slots_per_trial(self) -> int:
        """Returns resources.slots_per_trial; 1 by default."""
        return int(self._get_section("resources").get("slots_per_trial", 1))

    def experiment_seed(self) -> int:
        """Returns reproducibility.experiment_seed; 0 by default."""
        return int(self._get_section("reproducibility").get("experiment_seed") or 0)

    def profiling_enabled(self) -> bool:
        """Returns profiling.enabled; False by default."""
        return bool(self._get_section("profiling").get("enabled"))

    def get_records_per_epoch(self) -> int | None:
        """Returns records_per_epoch; None if it is absent."""
        records = self.get("records_per_epoch")
        return None if records is None else int(records)

    def get_min_validation_period(self) -> JsonObject:
        """Returns min_validation_period, such as {"batches": 100}; {} if it is absent."""
        return self._get_section("min_validation_period")

    def get_min_checkpoint_period(self) -> JsonObject:
        """Returns min_checkpoint_period, such as {"batches": 100}; {} if it is absent."""
        return self._get_section("min_checkpoint_period")

    def get_optimizations_config(self) -> JsonObject:
        """Returns the section optimizations; {} if it is absent."""
        return self._get_section("optimizations")

    def get_checkpoint_storage(self) -> JsonObject:
        """Returns the section checkpoint_storage; {} if it is absent."""
        return self._get_section("checkpoint_storage")

    def get_searcher_metric(self) -> str:
        """Returns searcher.metric.

        Raises:
            ValueError: It is absent or not a string.
        """
        metric = self._get_section("searcher").get("metric")
        if not isinstance(metric, str):
            raise ValueError(f"searcher.metric is {metric!r}; expected the name of a metric")
        return metric

    def get_entrypoint(self) -> str | list[str]:
        """Returns the field entrypoint.

        Raises:
            ValueError: It is absent.
        """
        entrypoint: str | list[str] | None = self.get("entrypoint")
        if entrypoint is None:
            raise ValueError("the experiment config has no entrypoint")
        return entrypoint

    def _get_section(self, name: str) -> JsonObject:
        return dict(self.get(name) or {})
