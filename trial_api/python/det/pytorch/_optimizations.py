"""What `optimizations` of a configuration says of how gradients travel between the slots."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Mapping, Optional

FORMATS = ("none", "float16", "bfloat16", "int8")
_FUSION = 64  # Megabytes, the configuration's default: torch's own way.


@dataclasses.dataclass(frozen=True)
class Optimizations:
    """aggregation_frequency: batches of one step. average_aggregated_gradients: over them; else
    their sum. compression: one of FORMATS. tensor_fusion_threshold: megabytes of gradients that
    travel together; 64, which every configuration has that says nothing, leaves it to torch."""

    aggregation_frequency: int = 1
    average_aggregated_gradients: bool = True
    compression: str = "none"
    tensor_fusion_threshold: int = _FUSION

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
    strategy = told.get("strategy") or "allreduce"
    if strategy != "allreduce":
        raise ValueError(f"optimizations.strategy is {strategy!r}: PyTorchTrial has allreduce only")
    average = told.get("average_aggregated_gradients")
    return Optimizations(
        aggregation_frequency=_number(told, "aggregation_frequency", 1, 1),
        average_aggregated_gradients=True if average is None else bool(average),
        compression=_compression(told.get("gradient_compression")),
        tensor_fusion_threshold=_number(told, "tensor_fusion_threshold", _FUSION, 0),
    )


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
