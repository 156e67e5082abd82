#!/usr/bin/env python3
"""Makes client_interface.json: the commands, options and SDK names of the existing client.

Run it with the Python of the existing client's environment (tools/python/requirements-existing-client.txt):
    $(tools/python/venv_path tools/python/requirements-existing-client.txt)/bin/python derive_interface.py
"""
import argparse
import ast
import importlib
import inspect
import json
import os

import determined
from determined.cli import _declarative_argparse, cli

# Modules whose names are read by import, and packages of which only the source is read: they need
# libraries such as torch.
IMPORTED = ("determined.experimental.client", "determined.core", "determined.experimental.core_v2")
PARSED = ("pytorch", "pytorch/deepspeed", "keras", "transformers", "lightning")


def read_commands():
    parser = cli.make_parser()
    _declarative_argparse.add_args(parser, cli.all_args_description)
    commands = {}

    def walk(node, path):
        groups = [a for a in node._actions if isinstance(a, argparse._SubParsersAction)]
        if not groups and path[-1] != "help":
            commands[" ".join(path)] = [a.option_strings for a in node._actions
                                        if a.option_strings and "--help" not in a.option_strings]
        for group in groups:
            parsers = {id(child): (name, child) for name, child in reversed(group.choices.items())}
            for name, child in parsers.values():
                walk(child, [*path, name])

    walk(parser, [])
    return dict(sorted(commands.items()))


def is_public(name):
    return not name.startswith("_")


def read_module(name):
    """The public functions and classes of a module, and the public members of its classes."""
    module = importlib.import_module(name)
    names = []
    for key, value in vars(module).items():
        own = getattr(value, "__module__", "") or ""
        if not is_public(key) or not own.startswith("determined"):
            continue
        if inspect.isclass(value):
            names.append(key)
            names += [f"{key}.{member}" for member in vars(value) if is_public(member)]
        elif callable(value):
            names.append(key)
    return sorted(names)


def read_package(name):
    """The public names that the source of a package imports from its modules."""
    path = os.path.join(os.path.dirname(determined.__file__), name, "__init__.py")
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    return sorted({alias.asname or alias.name for node in ast.walk(tree)
                   if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("determined")
                   for alias in node.names if is_public(alias.asname or alias.name)})


def main():
    names = {name: read_module(name) for name in IMPORTED}
    names.update({f"determined.{name.replace('/', '.')}": read_package(name) for name in PARSED})
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "client_interface.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"commands": read_commands(), "names": names}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
