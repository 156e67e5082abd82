"""The Python with torch that the benchmarks of training run, by the rule for Trial classes."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "trial_api/python"))
from det.launch import _python  # noqa: E402


def require_python():
    """Returns its path. Exits if there is none, with those that were tried."""
    python = _python.find_python()
    return python.path or sys.exit(f"this benchmark needs torch: {python.describe()}")
