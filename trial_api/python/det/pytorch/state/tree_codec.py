"""Converts what state_dict() functions return to JSON and tensors, and back.

JSON lacks tuples, NaN, numbers as keys and more: {"$": kind, ...} stands for them. Decoding creates
only the kinds that are listed here, so a file cannot execute code.
"""

from __future__ import annotations

import base64
import collections
import math
import sys
import types
from collections.abc import Mapping
from types import ModuleType
from typing import Callable, cast

import torch

from det._types import Json, JsonObject
from det.pytorch.utilities.types import StateTree

_FUNCTIONS = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.BuiltinMethodType,
)
_SEQUENCES: dict[str, Callable[[list[StateTree]], StateTree]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": collections.deque,
    "size": torch.Size,
}
_SEQUENCE_NAMES: dict[type, str] = {
    tuple: "tuple",
    set: "set",
    frozenset: "frozenset",
    collections.deque: "deque",
    torch.Size: "size",
}
_MAPPINGS: dict[str, Callable[[list[StateTree]], StateTree]] = {
    "dict": dict,
    "ordered_dict": collections.OrderedDict,
    "counter": lambda pairs: collections.Counter(dict(pairs)),
}
_MAPPING_NAMES: dict[type, str] = {
    dict: "dict",
    collections.OrderedDict: "ordered_dict",
    collections.Counter: "counter",
    collections.defaultdict: "dict",
}


class NotSavableError(TypeError):
    """A checkpoint cannot contain an object; the message names its place and type."""


def encode_into(value: StateTree, place: str, tensors: dict[str, torch.Tensor]) -> Json:
    """Returns JSON for a value, as encode_tree() does.

    Args:
        value: The value.
        place: Where it is in the tree, such as "training.callbacks.mine".
        tensors: Gets the tensors within, by their places.

    Raises:
        NotSavableError: If the value contains an object of another type.
    """
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return cast(Json, value)
    if kind is float:
        return value if math.isfinite(value) else {"$": "float", "value": repr(value)}
    if isinstance(value, torch.Tensor) and value.layout is torch.sparse_coo:
        # Not coalesced: the order of the summands at an index determines the last bits of the sum.
        parts = [list(value.shape), value._indices(), value._values(), value.is_coalesced()]
        return {"$": "sparse", "parts": encode_into(parts, place, tensors)}
    if isinstance(value, torch.Tensor):
        return {"$": "tensor", "name": _add_tensor(value.detach(), place, tensors)}
    if kind is list:
        return [encode_into(item, f"{place}.{i}", tensors) for i, item in enumerate(value)]
    if kind in _SEQUENCE_NAMES:
        items = [encode_into(item, f"{place}.{i}", tensors) for i, item in enumerate(value)]
        return {"$": _SEQUENCE_NAMES[kind], "items": items}
    if kind in _MAPPING_NAMES:
        return _encode_mapping(value, _MAPPING_NAMES[kind], place, tensors)
    return _encode_other(value, place, tensors)


def _add_tensor(tensor: torch.Tensor, place: str, tensors: dict[str, torch.Tensor]) -> str:
    """Returns its name: the place, and a number if the keys 1 and "1" make the same place."""
    name, number = place, 1
    while name in tensors:
        number += 1
        name = f"{place}~{number}"
    tensors[name] = tensor
    return name


def _encode_mapping(
    value: Mapping[StateTree, StateTree], name: str, place: str, tensors: dict[str, torch.Tensor]
) -> Json:
    kept = [(key, item) for key, item in value.items() if not isinstance(item, _FUNCTIONS)]
    if name == "dict" and all(type(key) is str and key != "$" for key, _ in kept):
        return {key: encode_into(item, f"{place}.{key}", tensors) for key, item in kept}
    pairs = [
        [encode_into(key, f"{place}.key", tensors), encode_into(item, f"{place}.{key}", tensors)]
        for key, item in kept
    ]
    return {"$": name, "pairs": pairs}


def _encode_other(value: object, place: str, tensors: dict[str, torch.Tensor]) -> Json:
    if isinstance(value, bytes):
        return {"$": "bytes", "base64": base64.b64encode(value).decode()}
    if isinstance(value, complex):
        return {"$": "complex", "parts": [repr(value.real), repr(value.imag)]}
    if isinstance(value, torch.dtype):
        return {"$": "dtype", "name": str(value).rpartition(".")[2]}
    if isinstance(value, torch.device):
        return {"$": "device", "name": str(value)}
    numpy: ModuleType | None = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return encode_into(value.item(), place, tensors)
    if numpy is not None and isinstance(value, numpy.ndarray):
        return {"$": "array", "name": _add_tensor(torch.from_numpy(value), place, tensors)}
    # Subclasses of numbers and strings, such as enumerations.
    for plain in (bool, int, float, str):
        if isinstance(value, plain):
            return encode_into(plain(value), place, tensors)
    raise NotSavableError(
        f"{place} is a {type(value).__module__}.{type(value).__qualname__}, which a checkpoint "
        "cannot contain: save numbers, strings, containers and tensors instead"
    )


def decode_tree(node: object, tensors: Mapping[str, torch.Tensor]) -> StateTree:
    """Reverses encode_tree().

    Args:
        node: The JSON.
        tensors: The tensors by name.

    Raises:
        ValueError: If the JSON has a kind that this version does not know.
    """
    if isinstance(node, list):
        return [decode_tree(item, tensors) for item in node]
    if not isinstance(node, dict):
        return node
    kind = node.get("$")
    if kind is None:
        return {key: decode_tree(item, tensors) for key, item in node.items()}
    if kind in _SEQUENCES:
        return _SEQUENCES[kind]([decode_tree(item, tensors) for item in node["items"]])
    if kind in _MAPPINGS:
        pairs = [
            (decode_tree(key, tensors), decode_tree(item, tensors)) for key, item in node["pairs"]
        ]
        return _MAPPINGS[kind](pairs)
    return _decode_other(kind, node, tensors)


def _decode_other(kind: str, node: JsonObject, tensors: Mapping[str, torch.Tensor]) -> StateTree:
    if kind == "tensor":
        return tensors[node["name"]]
    if kind == "sparse":
        shape, indices, values, coalesced = decode_tree(node["parts"], tensors)
        sparse = torch.sparse_coo_tensor(indices, values, shape)
        return sparse._coalesced_(coalesced)
    if kind == "array":
        return tensors[node["name"]].numpy()
    if kind == "float":
        return float(node["value"])
    if kind == "bytes":
        return base64.b64decode(node["base64"])
    if kind == "complex":
        return complex(float(node["parts"][0]), float(node["parts"][1]))
    if kind == "dtype":
        return getattr(torch, node["name"])
    if kind == "device":
        return torch.device(node["name"])
    raise ValueError(f"a checkpoint contains a {kind!r}, which this version does not support")


def encode_tree(value: StateTree, place: str) -> tuple[Json, dict[str, torch.Tensor]]:
    """Converts a value to JSON and tensors.

    Args:
        value: Numbers, strings, containers, tensors and arrays, nested at will. Functions in
            dictionaries are left out.
        place: The name of the value, with which the names of its tensors begin.

    Returns:
        The JSON, and the tensors by name.

    Raises:
        NotSavableError: If the value contains an object of another type.
    """
    tensors: dict[str, torch.Tensor] = {}
    return encode_into(value, place, tensors), tensors
