"""Builds the wheel, for pip (PEP 517) and for Bazel: `python3 wheel_backend.py FOLDER`.

The packages are pure Python, so a wheel is a zip file of them. pip needs no network, because this
needs no build tool.
"""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import runpy
import sys
import zipfile
from typing import Any

_NAME = "resolute"
_PACKAGES = ("det", "determined")
# The libraries of each kind of checkpoint storage; the same as in pyproject.toml, which Python 3.9
# has no reader for.
EXTRAS = {"s3": "s3fs>=2024.10.0", "gcs": "gcsfs>=2024.10.0", "azure": "adlfs>=2024.12.0"}
_EPOCH = (1980, 1, 1, 0, 0, 0)  # A fixed time makes builds reproducible.


def _root() -> pathlib.Path:
    return pathlib.Path(__file__).absolute().parent


def version() -> str:
    """Returns the version of the packages."""
    return str(runpy.run_path(str(_root() / "det" / "_version.py"))["__version__"])


def _metadata() -> dict[str, str]:
    return {
        "METADATA": f"Metadata-Version: 2.1\nName: {_NAME}\nVersion: {version()}\n"
        "Summary: Resolute's package for training scripts\nRequires-Python: >=3.9\n"
        + "".join(
            f'Provides-Extra: {extra}\nRequires-Dist: {library}; extra == "{extra}"\n'
            for extra, library in EXTRAS.items()
        ),
        "WHEEL": "Wheel-Version: 1.0\nGenerator: wheel_backend\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        "top_level.txt": "".join(f"{name}\n" for name in _PACKAGES),
    }


def sources() -> dict[pathlib.Path, str]:
    """Returns the files to install, with their paths below the directory of modules."""
    found = sorted(path for name in _PACKAGES for path in (_root() / name).rglob("*.py"))
    return {path: path.relative_to(_root()).as_posix() for path in found}


def _write(wheel: str, files: dict[str, bytes]) -> None:
    info = f"{_NAME}-{version()}.dist-info"
    files.update({f"{info}/{name}": text.encode() for name, text in _metadata().items()})
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Writes the wheel into a directory; returns its name."""
    name = f"{_NAME}-{version()}-py3-none-any.whl"
    files = {place: path.read_bytes() for path, place in sources().items()}
    _write(os.path.join(wheel_directory, name), files)
    return name


def build_editable(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Writes a wheel that points to this directory (pip install -e); returns its name."""
    name = f"{_NAME}-{version()}-py3-none-any.whl"
    pointer = {f"{_NAME}.pth": f"{_root()}\n".encode()}
    _write(os.path.join(wheel_directory, name), pointer)
    return name


if __name__ == "__main__":
    build_wheel(sys.argv[1])
