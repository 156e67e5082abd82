"""DeepSpeed's configuration, as hyperparameters say it."""

from __future__ import annotations

import copy
import json
import pathlib
from typing import Any, Dict, Mapping, Union


def overwrite_deepspeed_config(
    base_ds_config: Union[str, Mapping[str, Any]], source_ds_dict: Mapping[str, Any]
) -> Dict[str, Any]:
    """A configuration, or that of a JSON file, with what a mapping says in its place, member by
    member."""
    if isinstance(base_ds_config, Mapping):
        base = copy.deepcopy(dict(base_ds_config))
    else:
        base = json.loads(pathlib.Path(base_ds_config).read_text(encoding="utf-8"))
    return _merged(base, source_ds_dict)


def _merged(base: Dict[str, Any], source: Mapping[str, Any]) -> Dict[str, Any]:
    for name, value in source.items():
        known = base.get(name)
        both = isinstance(known, dict) and isinstance(value, Mapping)
        base[name] = _merged(known, value) if both and known is not None else copy.deepcopy(value)
    return base


def get_ds_config_from_hparams(hparams: Mapping[str, Any], base_dir: str = ".") -> Dict[str, Any]:
    """That of the file which the hyperparameter deepspeed_config names, below base_dir, with what
    overwrite_deepspeed_args says in its place.

    Raises:
        ValueError: there is no such hyperparameter.
    """
    if "deepspeed_config" not in hparams:
        raise ValueError("the hyperparameter deepspeed_config is missing: the path of a JSON file")
    path = pathlib.Path(base_dir, str(hparams["deepspeed_config"]))
    return overwrite_deepspeed_config(str(path), hparams.get("overwrite_deepspeed_args") or {})
