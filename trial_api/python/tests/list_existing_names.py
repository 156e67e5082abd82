#!/usr/bin/env -S python3 -B
"""Writes existing_names.py: the public names of the package `determined` that users have installed.

Usage: list_existing_names.py FOLDER > existing_names.py

FOLDER is the folder of the package, in the site-packages of an environment with determined==0.38.1. Its
files are parsed, not imported, because some need libraries that are not installed.
"""

import ast
import pathlib
import sys

# The command line, what runs inside of a task, and generated code: no script imports them.
LEFT_OUT = ("cli", "deploy", "exec", "common/api/bindings.py", "__main__.py")


def list_names(path):
    """Returns what a module defines, and what a package imports from its own modules."""
    is_package = path.name == "__init__.py"
    names = set()
    for node in _statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom) and is_package:
            if (node.module or "").partition(".")[0] == "determined":
                names |= {alias.asname or alias.name for alias in node.names}
    return sorted(name for name in names if not name.startswith("_") and name not in IGNORED)


IGNORED = {"logger", "T", "U", "C", "TYPE_CHECKING"}


def _statements(node):
    """Yields the statements of a module, also those inside of `if`, `try` and `with`."""
    for child in ast.iter_child_nodes(node):
        yield child
        if isinstance(child, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
            yield from _statements(child)


def main():
    root = pathlib.Path(sys.argv[1])
    print(
        '"""The public names of determined==0.38.1 by module; list_existing_names.py wrote it."""\n'
    )
    print("NAMES = {")
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        inner = [part for part in relative.parts if part.startswith("_") and part != "__init__.py"]
        if inner or relative.as_posix().startswith(LEFT_OUT):
            continue
        module = ".".join(["determined", *relative.with_suffix("").parts]).removesuffix(".__init__")
        names = list_names(path)
        if not names:
            print(f'    "{module}": [],')
            continue
        print(f'    "{module}": [')
        for name in names:
            print(f'        "{name}",')
        print("    ],")
    print("}")


if __name__ == "__main__":
    main()
