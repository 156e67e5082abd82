"""The types of values that this package exchanges with scripts, the master and files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

# A JSON value that this package encodes.
Json = Union[None, bool, int, float, str, Sequence["Json"], Mapping[str, "Json"]]

# A JSON object that this package has decoded, such as hyperparameters, a configuration or an answer
# of the master. Its values have no static type, as those of json.loads(): a script reads
# hparams["lr"] as the number that its configuration contains.
JsonObject = dict[str, Any]
# A JSON object that the receiver only reads.
JsonMapping = Mapping[str, Any]

# Metrics by name: numbers, also of NumPy and torch, strings, or lists and dicts of them.
Metrics = Mapping[str, object]

# Where checkpoints are stored: a directory, or the section checkpoint_storage of a configuration.
CheckpointStorage = Union[str, "os.PathLike[str]", JsonMapping]
