"""Modules that existing scripts import by these names."""

import logging
import sys

from det.common import api, check, constants, util


def set_logger(debug_enabled: bool) -> None:
    """Writes the log of this process to stdout, in the form that the agent understands.

    Args:
        debug_enabled: Whether lines of level DEBUG are written, too.
    """
    from det import LOG_FORMAT

    level = logging.DEBUG if debug_enabled else logging.INFO
    logging.basicConfig(level=level, format=LOG_FORMAT, stream=sys.stdout, force=True)


__all__ = ["api", "check", "constants", "set_logger", "util"]
