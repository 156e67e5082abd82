"""Between what state_dict() functions return and JSON with tensors beside it.

JSON has no tuples, NaN, numbers as keys and such: {"$": kind, ...} stands for them. Reading makes
nothing but the kinds listed here, so a file can do no harm.
"""

from __future__ import annotations

import base64
import collections
import math
import sys
import types
from typing import Any, Callable, Dict, List, Mapping, Tuple

import torch

_FUNCTIONS = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.BuiltinMethodType,
)
# Sequences by the name that stands for them.
_SEQUENCES: Dict[str, Callable[[List[Any]], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": collections.deque,
    "size": torch.Size,
}
_SEQUENCE_NAMES = {
    tuple: "tuple",
    set: "set",
    frozenset: "frozenset",
    collections.deque: "deque",
    torch.Size: "size",
}
_MAPPINGS: Dict[str, Callable[[List[Any]], Any]] = {
    "dict": dict,
    "ordered_dict": collections.OrderedDict,
    "counter": lambda pairs: collections.Counter(dict(pairs)),
}
_MAPPING_NAMES = {
    dict: "dict",
    collections.OrderedDict: "ordered_dict",
    collections.Counter: "counter",
    collections.defaultdict: "dict",
}


class NotSavable(TypeError):
    """An object that is neither data nor a tensor; the message says where."""


def encode(value: Any, place: str, tensors: Dict[str, torch.Tensor]) -> Any:
    """JSON for `value`, which is found at `place`; its tensors go into `tensors`, named by
    their places.

    Raises:
        NotSavable: for an object of another kind.
    """
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$": "float", "value": repr(value)}
    if isinstance(value, torch.Tensor) and value.layout is torch.sparse_coo:
        # As it is: what is added up at an index has an order, and the sum other last bits.
        parts = [list(value.shape), value._indices(), value._values(), value.is_coalesced()]
        return {"$": "sparse", "parts": encode(parts, place, tensors)}
    if isinstance(value, torch.Tensor):
        return {"$": "tensor", "name": _put(value.detach(), place, tensors)}
    if kind is list:
        return [encode(item, f"{place}.{i}", tensors) for i, item in enumerate(value)]
    if kind in _SEQUENCE_NAMES:
        items = [encode(item, f"{place}.{i}", tensors) for i, item in enumerate(value)]
        return {"$": _SEQUENCE_NAMES[kind], "items": items}
    if kind in _MAPPING_NAMES:
        return _encode_mapping(value, _MAPPING_NAMES[kind], place, tensors)
    return _encode_other(value, place, tensors)


def _put(tensor: torch.Tensor, place: str, tensors: Dict[str, torch.Tensor]) -> str:
    """Its name: the place, and a number where another's has the same words (1 and "1" are keys)."""
    name, number = place, 1
    while name in tensors:
        number += 1
        name = f"{place}~{number}"
    tensors[name] = tensor
    return name


def _encode_mapping(
    value: Mapping[Any, Any], name: str, place: str, tensors: Dict[str, torch.Tensor]
) -> Any:
    kept = [(key, item) for key, item in value.items() if not isinstance(item, _FUNCTIONS)]
    if name == "dict" and all(type(key) is str and key != "$" for key, _ in kept):
        return {key: encode(item, f"{place}.{key}", tensors) for key, item in kept}
    pairs = [
        [encode(key, f"{place}.key", tensors), encode(item, f"{place}.{key}", tensors)]
        for key, item in kept
    ]
    return {"$": name, "pairs": pairs}


def _encode_other(value: Any, place: str, tensors: Dict[str, torch.Tensor]) -> Any:
    if isinstance(value, bytes):
        return {"$": "bytes", "base64": base64.b64encode(value).decode()}
    if isinstance(value, complex):
        return {"$": "complex", "parts": [repr(value.real), repr(value.imag)]}
    if isinstance(value, torch.dtype):
        return {"$": "dtype", "name": str(value).rpartition(".")[2]}
    if isinstance(value, torch.device):
        return {"$": "device", "name": str(value)}
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):  # type: ignore[attr-defined]
        return encode(value.item(), place, tensors)
    if numpy is not None and isinstance(value, numpy.ndarray):  # type: ignore[attr-defined]
        return {"$": "array", "name": _put(torch.from_numpy(value), place, tensors)}
    # Numbers and strings of a class of their own: enumerations, say.
    for plain in (bool, int, float, str):
        if isinstance(value, plain):
            return encode(plain(value), place, tensors)
    raise NotSavable(
        f"{place} is a {type(value).__module__}.{type(value).__qualname__}, which a checkpoint "
        "cannot hold: save numbers, strings, containers and tensors instead"
    )


def decode(node: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    """What encode() was given."""
    if isinstance(node, list):
        return [decode(item, tensors) for item in node]
    if not isinstance(node, dict):
        return node
    kind = node.get("$")
    if kind is None:
        return {key: decode(item, tensors) for key, item in node.items()}
    if kind in _SEQUENCES:
        return _SEQUENCES[kind]([decode(item, tensors) for item in node["items"]])
    if kind in _MAPPINGS:
        pairs = [(decode(key, tensors), decode(item, tensors)) for key, item in node["pairs"]]
        return _MAPPINGS[kind](pairs)
    return _decode_other(kind, node, tensors)


def _decode_other(kind: str, node: Dict[str, Any], tensors: Mapping[str, torch.Tensor]) -> Any:
    if kind == "tensor":
        return tensors[node["name"]]
    if kind == "sparse":
        shape, indices, values, coalesced = decode(node["parts"], tensors)
        return torch.sparse_coo_tensor(indices, values, shape)._coalesced_(coalesced)
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
    raise ValueError(f"a checkpoint holds a {kind!r}, which this version does not know")


def split(value: Any, place: str) -> Tuple[Any, Dict[str, torch.Tensor]]:
    """The JSON of `value`, and its tensors."""
    tensors: Dict[str, torch.Tensor] = {}
    return encode(value, place, tensors), tensors
