"""How the package is installed, and on which Pythons it runs."""

import ast
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import debian_package
import det
import wheel_backend

ROOT = pathlib.Path(debian_package.__file__).parent
OLDEST = (3, 9)


class DebianPackageTest(unittest.TestCase):
    def test_package_imports_under_both_names(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, debian_package.build(folder))
            result = subprocess.run(
                ["dpkg-deb", "--field", path, "Package", "Version"],
                check=True,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            ).stdout
            self.assertEqual(
                ["Package: python3-det", f"Version: {det.__version__}"], result.splitlines()
            )
            root = os.path.join(folder, "root")
            subprocess.run(["dpkg-deb", "-x", path, root], check=True)
            modules = os.path.join(root, "usr/lib/python3/dist-packages")
            code = (
                "import det.core, determined.core, determined.experimental.client as c; "
                "assert det.core is determined.core; print(det.__file__)"
            )
            result = subprocess.run(
                [sys.executable, "-B", "-c", code],
                check=True,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": modules},
                stdout=subprocess.PIPE,
                encoding="utf-8",
            ).stdout
            self.assertTrue(result.startswith(modules), result)


class WheelTest(unittest.TestCase):
    def test_wheel_has_the_extras_of_pyproject(self):
        try:
            import tomllib
        except ImportError:
            self.skipTest("this Python has no tomllib")
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        expected = {extra: [library] for extra, library in wheel_backend.EXTRAS.items()}
        self.assertEqual(expected, project["optional-dependencies"])
        with tempfile.TemporaryDirectory() as folder:
            name = wheel_backend.build_wheel(folder)
            with zipfile.ZipFile(os.path.join(folder, name)) as wheel:
                metadata = wheel.read(f"resolute-{det.__version__}.dist-info/METADATA").decode()
        self.assertIn(
            'Provides-Extra: s3\nRequires-Dist: s3fs>=2024.10.0; extra == "s3"\n', metadata
        )


class OldestPythonTest(unittest.TestCase):
    def test_files_have_no_newer_syntax(self):
        files = [path for name in ("det", "determined") for path in (ROOT / name).rglob("*.py")]
        self.assertTrue(files)
        for path in files:
            with self.subTest(path=path.name):
                tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=OLDEST)
                self.assertEqual([], [node.lineno for node in ast.walk(tree) if later(node)])


def later(node):
    """Finds syntax and arguments that are newer than Python 3.9.

    feature_version does not reject match statements, exception groups, and newer arguments of
    functions.
    """
    if type(node).__name__ in ("Match", "TryStar", "TypeAlias"):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    words = {word.arg for word in node.keywords}
    return (name == "zip" and "strict" in words) or (
        name == "dataclass" and words & {"slots", "kw_only"}
    )


if __name__ == "__main__":
    unittest.main()
