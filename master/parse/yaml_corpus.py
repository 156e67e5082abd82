#!/usr/bin/env python3
"""Writes yaml_corpus.json: YAML texts, and the values that existing clients read from them.

Existing clients read configurations with the package ruamel.yaml (safe and pure). The file is in the
repository, so that yaml_corpus_test needs no package:
    uv run --no-project --with ruamel.yaml==0.18.10 master/parse/yaml_corpus.py > master/parse/yaml_corpus.json
"""

import io
import json
import math
import sys
import warnings

from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor

SIGNS = ("", "-", "+")
DECIMALS = (
    "0",
    "7",
    "007",
    "0123",
    "60_000",
    "1_2__3",
    "12_",
    "_12",
    "08",
    "9223372036854775807",
    "9223372036854775808",
    "1_000_000_000_000_000_000_000",
)
BASES = (
    "0x1F",
    "0xff_ff",
    "0x",
    "0X1F",
    "0xfg",
    "0o17",
    "0o1_7",
    "0o8",
    "0O17",
    "0o",
    "0b101",
    "0b1_0",
    "0b2",
    "0B1",
    "0b",
    "017",
    "0o777777777777777777777777",
)
FLOATS = (
    "1.5",
    "5.",
    ".5",
    "1_000.5",
    "1.5_0",
    "1e3",
    "1E3",
    "1e-3",
    "1e+3",
    "1_0e2",
    "1e1_0",
    "1.5e3",
    "1.e2",
    "1.5e-3",
    ".5e+3",
    ".5e3",
    "0.1e1",
    "1e",
    "1.2.3",
    ".",
    "..",
    "1e400",
    "0e0",
    "._5",
    "123456789012345678.0",
)
SPECIAL = (
    ".inf",
    ".Inf",
    ".INF",
    ".iNf",
    ".infinity",
    "inf",
    "Infinity",
    ".nan",
    ".NaN",
    ".NAN",
    ".Nan",
    "nan",
)
WORDS = (
    "true",
    "True",
    "TRUE",
    "tRue",
    "false",
    "False",
    "FALSE",
    "yes",
    "Yes",
    "no",
    "No",
    "NO",
    "on",
    "off",
    "On",
    "OFF",
    "y",
    "n",
    "Y",
    "N",
    "null",
    "Null",
    "NULL",
    "nULL",
    "~",
    "None",
    "none",
    "a b",
    "a_b",
    "a-b",
    "-",
    "-a",
    "--",
    "---a",
    "=",
    "<",
    "/data",
    "s3://bucket",
    "model:Trial",
    "a#b",
    "a #b",
    "e3",
    "1a",
    "0.1.2",
    "1-2",
    "1/2",
    "5%",
    "10GB",
    "512m",
    "1,2",
    "é",
    "a\tb",
    "a:b",
    "it's",
)
TIMES = (
    "2024-01-31",
    "2024-1-3",
    "2024-01-31 10:00:00",
    "2024-01-31T10:00:00Z",
    "2024-01-31T10:00:00.5+02:00",
    "10:30",
    "1:30:00",
    "190:20:30.15",
    "12:30:45",
)
TAGGED = (
    "!!int 60_000",
    '!!int "3"',
    "!!int x",
    "!!int 3.5",
    "!!float 3",
    '!!float "1e3"',
    "!!float x",
    "!!str 60_000",
    "!!str true",
    "!!str null",
    "!!bool yes",
    '!!bool "off"',
    "!!bool true",
    "!!bool 3",
    "!!null x",
    "! 12",
    "!a 12",
    "!!binary aGk=",
    "!!timestamp 2024-01-31",
)
QUOTED = (
    "60_000",
    "1e-3",
    "0o17",
    "true",
    "null",
    "~",
    "",
    ".inf",
    "2024-01-31",
    "a: b",
    "# a",
    "-",
)

PLACES = ("x: {}\n", "[{}, z]\n", "x:\n- y: {}  # comment\n", "{}\n")

STRUCTURES = (
    "",
    "\n",
    "# only a comment\n",
    "---\n",
    "--- a\n",
    "a\n...\n",
    "--- \nx: 1\n...\n",
    "---\nx: 1\n---\ny: 2\n",
    "x:\n",
    "x:\ny: 1\n",
    "x: # c\n  y: 1\n",
    "x: 1\nx: 2\n",
    "{x: 1, x: 2}\n",
    "{x: 1, 'x': 2}\n",
    "x: {y: 1, y: 2}\n",
    "{}\n",
    "[]\n",
    "x: []\n",
    "x: {}\n",
    "[1, [2, [3]]]\n",
    "[1, 2,]\n",
    "[1, , 2]\n",
    "{a: 1,}\n",
    "{a, b: 1}\n",
    "{a:1}\n",
    '{"a":1}\n',
    "{'a':1}\n",
    "[a:1]\n",
    "[a: 1]\n",
    "[a: 1, b: 2]\n",
    "{a: [1, {b: c}]}\n",
    "x:\n- 1\n- 2\n",
    "x:\n  - 1\n  -   2\n",
    "- - 1\n  - 2\n- - 3\n",
    "- a: 1\n  b: 2\n- c: 3\n",
    "-\n  a: 1\n",
    "- \n- 1\n",
    "x: a\n  b\n",
    "x: a\n\n  b\n",
    "x: 'a\n  b'\n",
    'x: "a\\\n  b"\n',
    'x: "a\n\n  b"\n',
    "x: 1\n  2\n",
    "x: |\n  a\n  b\n",
    "x: |-\n  a\n  b\n",
    "x: |+\n  a\n\n",
    "x: >\n  a\n  b\n",
    "x: >-\n  a\n  b\n\n  c\n",
    "x: |2\n    a\n",
    "x: |\n  # no comment\n  y: 1\n",
    "x: >\n  1\n",
    "x: |\n 60_000\n",
    r'x: "\x41\u00e9\U0001F600\n\t\"\\\/\0"' + "\n",
    r'x: "\e\_\N"' + "\n",
    r'x: "\q"' + "\n",
    "x: 'it''s'\n",
    "x: 'a\\n'\n",
    "x: &a 1\ny: *a\n",
    "x: &a {b: 1}\ny: {<<: *a, c: 2}\n",
    "x: &a {b: 1}\ny:\n  <<: *a\n  b: 3\n",
    "a: &a {p: 1, q: 2}\nb: &b {p: 3, r: 4}\nc: {<<: [*a, *b], q: 5}\n",
    "x: *a\n",
    "x: &a [1, 2]\ny: [*a, *a]\n",
    "x: &a {b: 1}\ny: {b: 3, <<: *a}\n",
    "<<: {a: 1}\n",
    "x: {<<: 1}\n",
    "x: {<<: [1]}\n",
    "'<<': {a: 1}\n",
    "x: {<<: null}\n",
    "a: &a {p: 1}\nb: &b {<<: *a, q: 2}\nc: {<<: *b, r: 3}\n",
    "1: a\n",
    "1.5: a\n",
    "true: a\n",
    "null: a\n",
    "~: a\n",
    "60_000: a\n",
    "0x10: a\n",
    "1: a\n1: b\n",
    "1: a\n'1': b\n",
    "? a\n: b\n",
    "? a\n",
    "? [a]\n: b\n",
    "? {a: 1}\n: b\n",
    "{[a]: b}\n",
    "{a: b}: c\n",
    ": a\n",
    "x : 1\n",
    "'x' : 1\n",
    '"x": 1\n',
    "x: a: b\n",
    "x: a:b\n",
    "x: [a\n",
    "x: }\n",
    "x: @a\n",
    "x: `a\n",
    "x: %a\n",
    "x: a, b\n",
    "x: 'a\n",
    'x: "a\n',
    "x: *\n",
    "x: &\n",
    "x:1\n",
    "x:\ta\n",
    "x: a\t\n",
    "\tx: 1\n",
    "x:\n\ty: 1\n",
    "x: 1\n y: 2\n",
    " x: 1\ny: 2\n",
    "x:\n  y: 1\n z: 2\n",
    "x: -1\n",
    "x: - 1\n",
    "x: 1\r\ny: 2\r\n",
    "x: |\r\n  a\r\n  b\r\n",
    "\ufeffx: 1\n",
    "x: 1",
    "x: a\u2028b\n",
    "x: a\u0085b\n",
    "x: \u0001\n",
    "%YAML 1.2\n---\nx: 0o17\n",
    "%YAML 1.1\n---\nx: yes\ny: 017\nz: 1:30\n",
    "%TAG ! tag:a,2000:\n---\nx: 1\n",
    "%FOO\n---\nx: 1\n",
    "!!map {a: 1}\n",
    "!!seq [1]\n",
    "x: !!set {a, b}\n",
    "x: !!omap [a: 1]\n",
    "x: !a {b: 1}\n",
    "x: !a [1]\n",
    "x: !!str [a]\n",
    "x: !!python/tuple [1]\n",
    "x: !<tag:yaml.org,2002:int> '3'\n",
    ",\n",
    "x: ,\n",
    "x: [,]\n",
    "[\n",
    "]\n",
    "a\nb: 1\n",
)

# Scalars that this service reads like another scalar, although existing clients do not.
READ_LIKE = {
    ".5e3": (".5e+3", "a number in YAML 1.2"),
    "-.5e3": ("-.5e+3", "a number in YAML 1.2"),
    "+.5e3": (".5e+3", "a number in YAML 1.2"),
    "=": ("'='", "text in YAML 1.2; existing clients fail"),
    "a\tb": ('"a\\tb"', "YAML 1.2 allows a tab within text"),
    "! 12": ("'12'", "the tag makes it text in YAML 1.2"),
}

# Texts that this service reads like another text; None: it refuses them.
_EMPTY_ITEM = "the YAML library of this service reads an item that is not there as null"
_TAB = "the YAML library of this service takes a tab for a space, where this does no harm"
_OTHER_KEY = "a key is text, as in JSON"
TEXTS_READ_LIKE = {
    "[?a, z]\n": (None, "no character for the beginning of text"),
    "[1, , 2]\n": ("[1, null, 2]\n", _EMPTY_ITEM),
    "x: [,]\n": ("x: [null]\n", _EMPTY_ITEM),
    r'x: "\x41\u00e9\U0001F600\n\t\"\\\/\0"' + "\n": (None, "the database cannot store NUL"),
    r'x: "\e\_\N"' + "\n": (None, "the YAML library of this service makes no UTF-8 of it"),
    "null: a\n": (None, _OTHER_KEY),
    "~: a\n": (None, _OTHER_KEY),
    ": a\n": (None, _OTHER_KEY),
    "1: a\n'1': b\n": (None, "two keys that are equal in JSON"),
    "x:\ta\n": ("x: a\n", _TAB),
    "x: a\t\n": ("x: a\n", _TAB),
    "x: \u0001\n": ('x: "\\x01"\n', "a control character that JSON can hold"),
    "x: a\u0085b\n": ('x: "a\\u0085b"\n', "a line break only in YAML 1.1"),
    "%YAML 1.1\n---\nx: yes\ny: 017\nz: 1:30\n": (
        "x: yes\ny: 017\nz: 1:30\n",
        "all texts are read as YAML 1.2",
    ),
    "x: !!omap [a: 1]\n": (None, "a map of JSON has no order"),
}


class Constructor(SafeConstructor):
    """Leaves times as their text, which is what JSON can hold."""


Constructor.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: node.value)


def read(text):
    """Returns what existing clients read from a text."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = Constructor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return yaml.load(io.StringIO(text, newline=""))


def has_no_json(value):
    """Returns whether a value contains a number that JSON does not have."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(has_no_json(each) for each in value.values())
    return isinstance(value, list) and any(has_no_json(each) for each in value)


def describe(text, like=None):
    """An entry of the table; `like`: the text that this service takes it for, or None, and the reason."""
    entry = {"yaml": text}
    try:
        entry["value"] = read(text)
        json.dumps(entry)
        if has_no_json(entry["value"]):
            raise ValueError("JSON has no infinity")
    except Exception:  # many types, also those that are faults of the library
        entry.pop("value", None)
    if like and like[0] is None:
        entry["refused"] = like[1]
    elif like:
        entry["here"] = {"value": read(like[0]), "reason": like[1]}
    return entry


def describe_in(place, scalar):
    """Returns the entry of a scalar at a place of a document."""
    like = READ_LIKE.get(scalar)
    return describe(place.format(scalar), like and (place.format(like[0]), like[1]))


def main():
    """Writes the tables to the standard output."""
    scalars = [sign + number for sign in SIGNS for number in (*DECIMALS, *BASES, *FLOATS, *SPECIAL)]
    scalars += [*WORDS, *TIMES, *TAGGED]
    scalars += [mark + text + mark for text in QUOTED for mark in "'\""]
    tables = {
        "scalars": [describe_in("{}", scalar) for scalar in scalars],
        "documents": [describe_in(place, scalar) for place in PLACES for scalar in scalars]
        + [describe(text, TEXTS_READ_LIKE.get(text)) for text in STRUCTURES],
    }
    lines = [
        f'"{name}": [\n' + ",\n".join(json.dumps(entry) for entry in table) + "\n]"
        for name, table in tables.items()
    ]
    sys.stdout.write("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
