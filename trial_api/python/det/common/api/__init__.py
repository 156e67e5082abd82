"""The addresses of masters and the errors of calls, for existing scripts."""

from __future__ import annotations

import os

from det.common.api import errors
from det.experimental._session import canonical_url


def canonicalize_master_url(url: str) -> str:
    """Returns a URL with its scheme and port.

    Args:
        url: The URL, or a host with or without a port.
    """
    return canonical_url(url)


def get_default_master_url() -> str:
    """Returns the URL of DET_MASTER, or of a master on this machine."""
    return canonical_url(os.environ.get("DET_MASTER") or "http://localhost:8080")


__all__ = ["canonicalize_master_url", "errors", "get_default_master_url"]
