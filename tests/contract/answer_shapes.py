"""The shapes of JSON answers, and the differences between two shapes.

A shape states what is compared of an answer: which members it has, the JSON types of each member, the
names of enumerations, and the numbers and reasons of errors. All elements of a list have one shape, and
members whose names are IDs have one shape, with the name "{id}".

A shape is written as JSON:
  "string"                        a value of this type
  "null|string"                   a value of one of these types
  "string:STATE_PAUSED"           an enumeration, with the names that the answer contains
  "number=[5]"                    a value that has to be equal
  {"name": SHAPE, ...}            an object
  [SHAPE] or []                   a list
  {"?": "null|object", ...}       an object or null; "[]" is then the shape of the elements of a list
"""
import json
import re

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)
_ENUMERATION = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_ERROR_MEMBERS = {"code", "reason", "grpcCode", "httpCode", "httpStatus"}
# What the recording has in place of a path: a text, not the name of an enumeration.
_REMOVED_PATH = "MACHINE_PATH"
# A task can pass through these states between two calls.
_PASSING = {"STATE_QUEUED", "STATE_PULLING", "STATE_STARTING"}


class _Node:
    """The union of all values at one place of an answer."""

    def __init__(self):
        self.kinds, self.enumerations, self.exact = set(), set(), set()
        self.members, self.element = {}, None


def _kind(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "string", list: "array", dict: "object"}[type(value)]


def _add(node, value, name, in_error):
    node.kinds.add(_kind(value))
    if isinstance(value, dict):
        for key, each in value.items():
            label = "{id}" if _UUID.search(key) or key.isdigit() else key
            _add(node.members.setdefault(label, _Node()), each, label, in_error or label == "error")
    elif isinstance(value, list):
        for each in value:
            node.element = node.element or _Node()
            _add(node.element, each, name, in_error)
    else:
        if isinstance(value, str) and _ENUMERATION.fullmatch(value) and value != _REMOVED_PATH:
            node.enumerations.add(value)
        if in_error and name in _ERROR_MEMBERS:
            node.exact.add(json.dumps(value))


def _write(node):
    kinds = "|".join(sorted(node.kinds))
    if node.exact:
        return f"{kinds}=[{', '.join(sorted(node.exact))}]"
    if node.enumerations:
        kinds += ":" + ",".join(sorted(node.enumerations))
    if node.kinds == {"array"}:
        return [_write(node.element)] if node.element else []
    if not node.members and not node.element and node.kinds != {"object"}:
        return kinds
    members = {name: _write(node.members[name]) for name in sorted(node.members)}
    if node.element:
        members["[]"] = _write(node.element)
    return members if node.kinds == {"object"} else {"?": kinds, **members}


def shape_of(answer):
    node = _Node()
    _add(node, answer, "", False)
    return _write(node)


class _Parts:
    """A written shape, taken apart."""

    def __init__(self, shape):
        self.enumerations, self.exact, self.members = set(), None, {}
        if isinstance(shape, list):
            self.kinds = {"array"}
            if shape:
                self.members["[]"] = shape[0]
        elif isinstance(shape, dict):
            self.members = {k: v for k, v in shape.items() if k != "?"}
            self._read_kinds(shape.get("?", "object"))
        else:
            self._read_kinds(shape)

    def _read_kinds(self, text):
        text, _, exact = text.partition("=")
        if exact:
            self.exact = {json.dumps(each) for each in json.loads(exact)}
        text, _, names = text.partition(":")
        self.kinds = set(text.split("|"))
        self.enumerations = set(names.split(",")) - {""}


def _short(items):
    items = sorted(items)
    return ", ".join(items[:4]) + (f" and {len(items) - 4} more" if len(items) > 4 else "")


def differences(expected, actual, path=""):
    """What of the expected shape the actual shape lacks or has differently; ignores additional members."""
    left, right = _Parts(expected), _Parts(actual)
    where = path or "the answer"
    found = []
    if left.kinds != right.kinds:
        found.append(f"{where} is {'/'.join(sorted(right.kinds))}, not {'/'.join(sorted(left.kinds))}")
    names = left.enumerations ^ right.enumerations
    both = left.enumerations and right.enumerations
    if names and not (both and names <= _PASSING):
        found.append(f"{where} has {_short(right.enumerations) or 'no enumeration'}, "
                     f"not {_short(left.enumerations) or 'no enumeration'}")
    if left.exact is not None and right.exact is not None and left.exact != right.exact:
        found.append(f"{where} is {_short(right.exact)}, not {_short(left.exact)}")
    missing = []
    for name, member in left.members.items():
        below = path + (name if name == "[]" else "." + name)
        if name in right.members:
            found += differences(member, right.members[name], below)
        else:
            missing.append(below)
    if missing:
        found.append("left out: " + _short(missing))
    return found
