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
import sys
import types

# One module imports it for a check of Amazon's limits; current setuptools no longer have it.
sys.modules.setdefault("pkg_resources", types.ModuleType("pkg_resources"))

import determined
from determined.cli import _declarative_argparse, cli
from determined.deploy import cli as deploy

# Modules whose names are read by import, and packages of which only the source is read: they need
# libraries such as torch.
IMPORTED = ("determined.experimental.client", "determined.core", "determined.experimental.core_v2")
PARSED = ("pytorch", "pytorch/deepspeed", "keras", "transformers", "lightning")


def read_commands():
    """The options of each command, and the other names of commands and groups."""
    commands = {}
    aliases = set()

    def walk(node, path):
        groups = [a for a in node._actions if isinstance(a, argparse._SubParsersAction)]
        if not groups and path[-1] != "help":
            commands[" ".join(path)] = [a.option_strings for a in node._actions
                                        if a.option_strings and "--help" not in a.option_strings]
        for group in groups:
            parsers = {id(child): (name, child) for name, child in reversed(group.choices.items())}
            for name, child in parsers.values():
                walk(child, [*path, name])
            first = {name for name, _ in parsers.values()}
            aliases.update(" ".join([*path, name]) for name in group.choices if name not in first)

    # The client reads the commands of `deploy` only when they are used.
    for description in (cli.all_args_description, deploy.args_description):
        parser = cli.make_parser()
        _declarative_argparse.add_args(parser, description if isinstance(description, list) else [description])
        walk(parser, [])
    commands.pop("deploy", None)
    return dict(sorted(commands.items())), sorted(aliases)


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
        commands, aliases = read_commands()
        json.dump({"commands": commands, "aliases": aliases, "names": names}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
