"""The section `optimizations` of an experiment config: how gradients are exchanged between slots."""

from __future__ import annotations

import dataclasses
import difflib

import torch

from det._types import JsonMapping, JsonObject

COMPRESSION_FORMATS = ("none", "float16", "bfloat16", "int8")
STRATEGIES = (
    "allreduce",
    "local_sgd",
    "async",
    "parameter_server",
    "fsdp",
    "pipeline",
    "in_process",
)
PRECISIONS = ("O0", "O1", "O2", "O3", "float16", "bfloat16")
# All fields of the section. The master warns about those that nothing reads when it gets the
# config.
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
_DEFAULT_FUSION_MB = 64  # The default of the config, which leaves the bucket size to torch.


@dataclasses.dataclass(frozen=True)
class Optimizations:
    """The parsed section.

    Attributes:
        aggregation_frequency: The number of batches whose gradients make one optimizer step.
        average_aggregated_gradients: Whether their gradients are averaged; otherwise summed.
        compression: One of COMPRESSION_FORMATS, in which gradients are sent.
        tensor_fusion_threshold: The bucket size in MB. 64, the config's default, leaves it to
            torch.
        strategy: One of STRATEGIES.
        local_sgd_steps: The number of optimizer steps between two averages.
        shard_optimizer: Whether each rank keeps a part of the optimizer state (ZeRO stage 1).
        mixed_precision: One of PRECISIONS.
        auto_tune_tensor_fusion: Whether the bucket size is measured.
        hierarchical_allreduce: Whether gradients are summed within nodes first.
        pipeline_micro_batches: The number of micro-batches of a batch.
    """

    aggregation_frequency: int = 1
    average_aggregated_gradients: bool = True
    compression: str = "none"
    tensor_fusion_threshold: int = _DEFAULT_FUSION_MB
    strategy: str = "allreduce"
    local_sgd_steps: int = 8
    shard_optimizer: bool = False
    mixed_precision: str = "O0"
    auto_tune_tensor_fusion: bool = False
    hierarchical_allreduce: bool = False
    pipeline_micro_batches: int = 4

    @property
    def bucket_megabytes(self) -> int | None:
        """The bucket size in MB, at least 1; None leaves it to torch."""
        if self.tensor_fusion_threshold == _DEFAULT_FUSION_MB:
            return None
        return max(1, self.tensor_fusion_threshold)

    def autocast_dtype(self, device: torch.device) -> torch.dtype | None:
        """Returns the dtype of the forward pass on the device; None leaves it to the Trial."""
        if self.mixed_precision == "O0":
            return None
        if self.mixed_precision in ("float16", "bfloat16"):
            return torch.float16 if self.mixed_precision == "float16" else torch.bfloat16
        return torch.float16 if device.type == "cuda" else torch.bfloat16

    def check(self, device: torch.device) -> None:
        """Checks the section against the kind of slots, before training.

        Raises:
            ValueError: If slots of this kind do not support it.
        """
        if self.autocast_dtype(device) is not torch.float16:
            return
        if device.type != "cuda":
            raise ValueError(
                "optimizations.mixed_precision is float16, whose loss scaling needs GPUs, and the "
                "slots are CPU cores: choose bfloat16 or O1"
            )
        if self.strategy == "parameter_server":
            raise ValueError(
                f"optimizations.mixed_precision {self.mixed_precision} is float16 on GPUs, and "
                "strategy parameter_server does not support its loss scaling: choose bfloat16"
            )


def parse_optimizations(config: JsonMapping) -> Optimizations:
    """Parses the section of an experiment config. Missing fields get their defaults.

    Raises:
        ValueError: If a field is unknown, a value is invalid, or two fields exclude each other.
    """
    section: JsonObject = config.get("optimizations") or {}
    for name in section:
        if name not in _NAMES:
            closest = difflib.get_close_matches(name, _NAMES, 1, cutoff=0)[0]
            raise ValueError(f"unknown field optimizations.{name}; did you mean {closest}?")
    average = section.get("average_aggregated_gradients")
    parsed = Optimizations(
        aggregation_frequency=_parse_int(section, "aggregation_frequency", 1, 1),
        average_aggregated_gradients=True if average is None else bool(average),
        compression=_parse_compression(section.get("gradient_compression")),
        tensor_fusion_threshold=_parse_int(
            section, "tensor_fusion_threshold", _DEFAULT_FUSION_MB, 0
        ),
        strategy=_parse_choice(section, "strategy", STRATEGIES),
        local_sgd_steps=_parse_int(section, "local_sgd_steps", 8, 1),
        shard_optimizer=bool(section.get("shard_optimizer")),
        mixed_precision=_parse_choice(section, "mixed_precision", PRECISIONS),
        auto_tune_tensor_fusion=bool(section.get("auto_tune_tensor_fusion")),
        hierarchical_allreduce=bool(section.get("hierarchical_allreduce")),
        pipeline_micro_batches=_parse_int(section, "pipeline_micro_batches", 4, 1),
    )
    _check_combination(parsed)
    return parsed


def _check_combination(parsed: Optimizations) -> None:
    if parsed.strategy != "allreduce":
        for name, is_set in (
            ("gradient_compression", parsed.compression != "none"),
            ("shard_optimizer", parsed.shard_optimizer),
            ("auto_tune_tensor_fusion", parsed.auto_tune_tensor_fusion),
            ("hierarchical_allreduce", parsed.hierarchical_allreduce),
        ):
            if is_set:
                raise ValueError(
                    f"optimizations.{name} requires strategy allreduce, and strategy is "
                    f"{parsed.strategy}"
                )
    if parsed.auto_tune_tensor_fusion and parsed.compression == "int8":
        raise ValueError(
            "optimizations.auto_tune_tensor_fusion changes which gradients share a bucket. With "
            "gradient_compression int8 a bucket has one scale, so it would change the result: remove "
            "one of them"
        )
    if parsed.hierarchical_allreduce and parsed.compression == "int8":
        raise ValueError(
            "optimizations.hierarchical_allreduce adds gradients in transit, and those of "
            "gradient_compression int8 have a different scale on each slot: choose float16 or bfloat16"
        )


def _parse_choice(section: JsonMapping, name: str, choices: tuple[str, ...]) -> str:
    """Returns the value; the first choice is the default."""
    value = section.get(name)
    if value is not None and value not in choices:
        names = ", ".join(choices)
        raise ValueError(f"optimizations.{name} is {value!r}: must be one of {names}")
    return str(value or choices[0])


def _parse_int(section: JsonMapping, name: str, default: int, minimum: int) -> int:
    value = section.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise ValueError(f"optimizations.{name} is {value!r}: must be an integer >= {minimum}")
    return value


def _parse_compression(value: object) -> str:
    if value is None or isinstance(value, bool):
        return "float16" if value else "none"
    if value not in COMPRESSION_FORMATS:
        names = ", ".join(COMPRESSION_FORMATS)
        raise ValueError(
            f"optimizations.gradient_compression is {value!r}: must be true, false or one of {names}"
        )
    return str(value)
