"""DeepSpeed's configuration from hyperparameters."""

from __future__ import annotations

import copy
import json
import pathlib
from collections.abc import Mapping

from det._types import JsonMapping, JsonObject


def overwrite_deepspeed_config(
    base_ds_config: str | JsonMapping, source_ds_dict: JsonMapping
) -> JsonObject:
    """Merges values into a DeepSpeed configuration.

    Args:
        base_ds_config: The configuration, or the path of a JSON file with it.
        source_ds_dict: The values that replace those of the configuration, recursively.

    Returns:
        A new configuration.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If it is not JSON.
    """
    if isinstance(base_ds_config, Mapping):
        base = copy.deepcopy(dict(base_ds_config))
    else:
        base = json.loads(pathlib.Path(base_ds_config).read_text(encoding="utf-8"))
    return _merge(base, source_ds_dict)


def _merge(base: JsonObject, source: JsonMapping) -> JsonObject:
    for name, value in source.items():
        known = base.get(name)
        both = isinstance(known, dict) and isinstance(value, Mapping)
        base[name] = _merge(known, value) if both and known is not None else copy.deepcopy(value)
    return base


def get_ds_config_from_hparams(hparams: JsonMapping, base_dir: str = ".") -> JsonObject:
    """Returns the DeepSpeed configuration that hyperparameters select.

    Args:
        hparams: The hyperparameters: deepspeed_config is the path of a JSON file, and
            overwrite_deepspeed_args, if present, has values that replace those of the file.
        base_dir: The folder that the path is relative to.

    Raises:
        ValueError: If deepspeed_config is missing, or the file is not JSON.
        OSError: If the file cannot be read.
    """
    if "deepspeed_config" not in hparams:
        raise ValueError(
            "the hyperparameter deepspeed_config is missing: set it to the path of a JSON file"
        )
    path = pathlib.Path(base_dir, str(hparams["deepspeed_config"]))
    return overwrite_deepspeed_config(str(path), hparams.get("overwrite_deepspeed_args") or {})
