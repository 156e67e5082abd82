#!/usr/bin/python3 -B
"""Checks the style, the types and the imports of the Python code: ruff, mypy --strict, import cycles.

`tools/install_packages test` installs the tools. From the root of the tree: tools/python/lint_test.py
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

# Bazel starts this test through a symlink into the source tree; resolve it to check the real tree.
ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "trial_api/python"
sys.path.insert(0, str(ROOT / "tests/e2e"))
import harness

# Prints the modules of an import cycle in packages, including imports inside functions. The first
# argument is the prefix of modules that are not checked.
FIND_CYCLE = """
import graphlib, sys
import grimp

skipped, *packages = sys.argv[1:]
graph = grimp.build_graph(*packages, cache_dir=None)
checked = {name for name in graph.modules if not (skipped and name.startswith(skipped))}
imports = {name: graph.find_modules_directly_imported_by(name) & checked for name in checked}
try:
    graphlib.TopologicalSorter(imports).prepare()
except graphlib.CycleError as error:
    sys.exit("import cycle: " + " -> ".join(reversed(error.args[1])))
"""
NOT_CHECKED_FOR_CYCLES = ""


def virtual_environment():
    """Returns the virtual environment that tools/install_packages created."""
    requirements = ROOT / "tools/python/requirements-test.txt"
    command = [ROOT / "tools/python/venv_path", requirements]
    folder = pathlib.Path(subprocess.check_output(command, encoding="utf-8").strip())
    assert (folder / ".complete").exists(), f"{folder} is missing: run tools/install_packages test"
    return folder


def find_cycle(folder, packages, skipped=""):
    """Returns the error message about an import cycle; an empty string if there is none."""
    python = virtual_environment() / "bin/python"
    command = [python, "-B", "-c", FIND_CYCLE, skipped, *packages]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=environment, encoding="utf-8", stderr=subprocess.PIPE, check=False
    )
    return done.stderr


class LintTest(unittest.TestCase):
    def run_tool(self, *command, folder=ROOT):
        tool = virtual_environment() / "bin" / command[0]
        done = subprocess.run(
            [tool, *command[1:]],
            cwd=folder,
            encoding="utf-8",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        self.assertEqual(0, done.returncode, done.stdout)

    def test_passes_ruff(self):
        self.run_tool("ruff", "check", "--no-cache", "--output-format=concise", ".")

    def test_is_formatted(self):
        self.run_tool("ruff", "format", "--no-cache", "--check", ".")

    def test_passes_mypy_strict(self):
        self.run_tool("mypy", f"--cache-dir={os.devnull}", folder=PACKAGE)

    def test_has_no_import_cycle(self):
        self.assertEqual("", find_cycle(PACKAGE, ["det", "determined"], NOT_CHECKED_FOR_CYCLES))

    def test_reports_import_cycle(self):
        modules = {
            "__init__": "",
            "first": "from package.second import value",
            "second": """
                import typing
                if typing.TYPE_CHECKING:
                    from package import third
                """,
            "third": "def work():\n    import package.first",
        }
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder, "package")
            package.mkdir()
            for name, text in modules.items():
                (package / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
            found = find_cycle(folder, ["package"])
            self.assertRegex(found, "import cycle: package.* -> package.* -> package")
            (package / "third.py").write_text("", encoding="utf-8")
            self.assertEqual("", find_cycle(folder, ["package"]))


if __name__ == "__main__":
    harness.main()
