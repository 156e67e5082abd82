"""The subpackages of det.pytorch import only those before them, as its README.md says."""

import ast
import pathlib
import unittest

from det import pytorch as dp

ROOT = pathlib.Path(dp.__file__).parent
PACKAGES = (
    "utilities",
    "distributed",
    "data",
    "metrics",
    "strategies",
    "trial",
    "state",
    "trainer",
    "deepspeed",
    "experimental",
)
PREFIX = "det.pytorch."


def imported_packages(path):
    """Yields the subpackages of det.pytorch that a module imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PREFIX):
            yield node.module[len(PREFIX) :].partition(".")[0]


class LayeringTest(unittest.TestCase):
    def test_subpackages_import_only_earlier_ones(self):
        for index, package in enumerate(PACKAGES):
            paths = list((ROOT / package).glob("*.py"))
            self.assertTrue(paths, package)
            for path in paths:
                with self.subTest(path.name):
                    later = set(imported_packages(path)) - set(PACKAGES[: index + 1])
                    self.assertEqual(set(), later)

    def test_every_subpackage_has_a_layer(self):
        folders = {path.parent.name for path in ROOT.glob("*/__init__.py")}
        self.assertEqual(set(PACKAGES), folders)


if __name__ == "__main__":
    unittest.main()
