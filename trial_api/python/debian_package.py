"""Builds the Debian package python3-det: `python3 debian_package.py FOLDER`.

Needs dpkg-deb, which Debian has.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import wheel_backend

_PACKAGE = "python3-det"
_MODULES = pathlib.PurePosixPath("usr/lib/python3/dist-packages")
_EPOCH = "315532800"  # 1980: a fixed time makes builds reproducible.


def control(version: str) -> str:
    """Returns the control file of the package."""
    return (
        f"Package: {_PACKAGE}\n"
        f"Version: {version}\n"
        "Architecture: all\n"
        "Maintainer: Resolute <resolute@localhost>\n"
        "Section: python\n"
        "Priority: optional\n"
        "Depends: python3 (>= 3.9)\n"
        "Suggests: python3-torch\n"
        "Description: Resolute's package for training scripts\n"
        " The packages det and determined: Core API, PyTorchTrial, launchers and SDK.\n"
    )


def build(folder: str) -> str:
    """Writes the package into a directory; returns its name.

    Raises:
        CalledProcessError: dpkg-deb failed.
    """
    version = wheel_backend.version()
    name = f"{_PACKAGE}_{version}_all.deb"
    with tempfile.TemporaryDirectory() as tree:
        root = pathlib.Path(tree, "root")
        for source, path in wheel_backend.sources().items():
            target = root / _MODULES / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN" / "control").write_text(control(version), encoding="utf-8")
        for path in [root, *root.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "--build", str(root), os.path.join(folder, name)],
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "SOURCE_DATE_EPOCH": _EPOCH},
        )
    return name


if __name__ == "__main__":
    build(sys.argv[1])
