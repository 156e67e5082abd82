"""What `optimizations` of a configuration says of how gradients travel between the slots."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Mapping, Optional

FORMATS = ("none", "float16", "bfloat16", "int8")
STRATEGIES = ("allreduce", "local_sgd", "async", "parameter_server")
_FUSION = 64  # Megabytes, the configuration's default: torch's own way.


@dataclasses.dataclass(frozen=True)
class Optimizations:
    """aggregation_frequency: batches of one step. average_aggregated_gradients: over them; else
    their sum. compression: one of FORMATS. tensor_fusion_threshold: megabytes of gradients that
    travel together; 64, which every configuration has that says nothing, leaves it to torch.
    strategy: one of STRATEGIES. local_sgd_steps: of the optimizers, between two averages.
    shard_optimizer: each rank keeps a part of their state."""

    aggregation_frequency: int = 1
    average_aggregated_gradients: bool = True
    compression: str = "none"
    tensor_fusion_threshold: int = _FUSION
    strategy: str = "allreduce"
    local_sgd_steps: int = 8
    shard_optimizer: bool = False

    @property
    def bucket_megabytes(self) -> Optional[int]:
        """None: as torch has it."""
        if self.tensor_fusion_threshold == _FUSION:
            return None
        return max(1, self.tensor_fusion_threshold)


def read(config: Mapping[str, Any]) -> Optimizations:
    """Of a whole configuration; what is not said has its default. Raises ValueError for what makes
    no sense, or is not there."""
    told: Dict[str, Any] = config.get("optimizations") or {}
    average = told.get("average_aggregated_gradients")
    read = Optimizations(
        aggregation_frequency=_number(told, "aggregation_frequency", 1, 1),
        average_aggregated_gradients=True if average is None else bool(average),
        compression=_compression(told.get("gradient_compression")),
        tensor_fusion_threshold=_number(told, "tensor_fusion_threshold", _FUSION, 0),
        strategy=_strategy(told.get("strategy")),
        local_sgd_steps=_number(told, "local_sgd_steps", 8, 1),
        shard_optimizer=bool(told.get("shard_optimizer")),
    )
    if read.strategy != "allreduce":
        for name, set_ in (
            ("gradient_compression", read.compression != "none"),
            ("shard_optimizer", read.shard_optimizer),
        ):
            if set_:
                raise ValueError(
                    f"optimizations.{name} goes with the strategy allreduce, not {read.strategy}"
                )
    return read


def _strategy(value: Any) -> str:
    if value is not None and value not in STRATEGIES:
        names = ", ".join(STRATEGIES)
        raise ValueError(f"optimizations.strategy is {value!r}: give one of {names}")
    return str(value or "allreduce")


def _number(told: Mapping[str, Any], name: str, default: int, least: int) -> int:
    value = told.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"optimizations.{name} is {value!r}: must be an integer >= {least}")
    return value


def _compression(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "float16" if value else "none"
    if value not in FORMATS:
        names = ", ".join(FORMATS)
        raise ValueError(
            f"optimizations.gradient_compression is {value!r}: give true, false or one of {names}"
        )
    return str(value)
