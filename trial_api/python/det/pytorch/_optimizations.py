"""What `optimizations` of a configuration says of how gradients travel between the slots."""

from __future__ import annotations

import dataclasses
import difflib
from typing import Any, Dict, Mapping, Optional, Tuple

import torch

FORMATS = ("none", "float16", "bfloat16", "int8")
STRATEGIES = ("allreduce", "local_sgd", "async", "parameter_server", "fsdp", "pipeline", "in_process")
PRECISIONS = ("O0", "O1", "O2", "O3", "float16", "bfloat16")
# Of the configuration; some are read by nobody, as the master says when it is submitted.
_NAMES = (
    "aggregation_frequency",
    "auto_tune_tensor_fusion",
    "average_aggregated_gradients",
    "average_training_metrics",
    "grad_updates_size_file",
    "gradient_compression",
    "hierarchical_allreduce",
    "local_sgd_steps",
    "mixed_precision",
    "pipeline_micro_batches",
    "shard_optimizer",
    "strategy",
    "tensor_fusion_cycle_time",
    "tensor_fusion_threshold",
)
_FUSION = 64  # Megabytes, the configuration's default: torch's own way.


@dataclasses.dataclass(frozen=True)
class Optimizations:
    """aggregation_frequency: batches of one step. average_aggregated_gradients: over them; else
    their sum. compression: one of FORMATS. tensor_fusion_threshold: megabytes of gradients that
    travel together; 64, which every configuration has that says nothing, leaves it to torch.
    strategy: one of STRATEGIES. local_sgd_steps: of the optimizers, between two averages.
    shard_optimizer: each rank keeps a part of their state. mixed_precision: one of PRECISIONS.
    auto_tune_tensor_fusion: that threshold is found by trying. hierarchical_allreduce: gradients are
    summed within nodes first. pipeline_micro_batches: parts of a batch that are under way at once."""

    aggregation_frequency: int = 1
    average_aggregated_gradients: bool = True
    compression: str = "none"
    tensor_fusion_threshold: int = _FUSION
    strategy: str = "allreduce"
    local_sgd_steps: int = 8
    shard_optimizer: bool = False
    mixed_precision: str = "O0"
    auto_tune_tensor_fusion: bool = False
    hierarchical_allreduce: bool = False
    pipeline_micro_batches: int = 4

    @property
    def bucket_megabytes(self) -> Optional[int]:
        """None: as torch has it."""
        if self.tensor_fusion_threshold == _FUSION:
            return None
        return max(1, self.tensor_fusion_threshold)

    def computes_in(self, device: torch.device) -> Optional[torch.dtype]:
        """What the forward pass is to compute in there; None: what the Trial says."""
        if self.mixed_precision == "O0":
            return None
        if self.mixed_precision in ("float16", "bfloat16"):
            return torch.float16 if self.mixed_precision == "float16" else torch.bfloat16
        return torch.float16 if device.type == "cuda" else torch.bfloat16

    def check(self, device: torch.device) -> None:
        """Before training. Raises ValueError for what slots of this kind cannot do."""
        if self.computes_in(device) is not torch.float16:
            return
        if device.type != "cuda":
            raise ValueError(
                "optimizations.mixed_precision is float16, whose loss scaling needs GPUs, and the "
                "slots are CPU cores: choose bfloat16 or O1"
            )
        if self.strategy == "parameter_server":
            raise ValueError(
                f"optimizations.mixed_precision {self.mixed_precision} is float16 on GPUs, whose "
                "loss scaling does not go with the strategy parameter_server: choose bfloat16"
            )


def read(config: Mapping[str, Any]) -> Optimizations:
    """Of a whole configuration; what is not said has its default. Raises ValueError for what makes
    no sense, or is not there."""
    told: Dict[str, Any] = config.get("optimizations") or {}
    for name in told:
        if name not in _NAMES:
            near = difflib.get_close_matches(name, _NAMES, 1, cutoff=0)[0]
            raise ValueError(f"there is no optimizations.{name}; there is {near}")
    average = told.get("average_aggregated_gradients")
    read = Optimizations(
        aggregation_frequency=_number(told, "aggregation_frequency", 1, 1),
        average_aggregated_gradients=True if average is None else bool(average),
        compression=_compression(told.get("gradient_compression")),
        tensor_fusion_threshold=_number(told, "tensor_fusion_threshold", _FUSION, 0),
        strategy=_one_of(told, "strategy", STRATEGIES),
        local_sgd_steps=_number(told, "local_sgd_steps", 8, 1),
        shard_optimizer=bool(told.get("shard_optimizer")),
        mixed_precision=_one_of(told, "mixed_precision", PRECISIONS),
        auto_tune_tensor_fusion=bool(told.get("auto_tune_tensor_fusion")),
        hierarchical_allreduce=bool(told.get("hierarchical_allreduce")),
        pipeline_micro_batches=_number(told, "pipeline_micro_batches", 4, 1),
    )
    _check_together(read)
    return read


def _check_together(read: Optimizations) -> None:
    if read.strategy != "allreduce":
        for name, set_ in (
            ("gradient_compression", read.compression != "none"),
            ("shard_optimizer", read.shard_optimizer),
            ("auto_tune_tensor_fusion", read.auto_tune_tensor_fusion),
            ("hierarchical_allreduce", read.hierarchical_allreduce),
        ):
            if set_:
                raise ValueError(
                    f"optimizations.{name} goes with the strategy allreduce, not {read.strategy}"
                )
    if read.auto_tune_tensor_fusion and read.compression == "int8":
        raise ValueError(
            "optimizations.auto_tune_tensor_fusion changes which gradients share a bucket, and with "
            "gradient_compression int8 their scale, so the mathematics: leave one of them out"
        )
    if read.hierarchical_allreduce and read.compression == "int8":
        raise ValueError(
            "optimizations.hierarchical_allreduce adds gradients on their way, and those of "
            "gradient_compression int8 have a scale of each slot's own: choose float16 or bfloat16"
        )


def _one_of(told: Mapping[str, Any], name: str, choices: Tuple[str, ...]) -> str:
    """The first is the default."""
    value = told.get(name)
    if value is not None and value not in choices:
        names = ", ".join(choices)
        raise ValueError(f"optimizations.{name} is {value!r}: give one of {names}")
    return str(value or choices[0])


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
