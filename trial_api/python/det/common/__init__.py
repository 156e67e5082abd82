"""Modules that existing scripts import by these names."""

from det.common import api, util

__all__ = ["api", "util"]
