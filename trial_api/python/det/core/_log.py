"""Lines in the trial's log about what the Core API does."""

from __future__ import annotations

import logging
import os

# The name that existing scripts configure.
_logger = logging.getLogger("determined.core")


def log(level: int, text: str, *values: object) -> None:
    """Writes a line to the log.

    The script's own configuration of logging decides about it. If there is none, the line is printed
    if its level is that of DET_LOG_LEVEL or a higher one; without the variable, that of INFO.

    Args:
        level: The level, such as logging.INFO.
        text: The text, with a %s for each value.
        *values: The values.
    """
    if _logger.hasHandlers():
        _logger.log(level, text, *values)
    elif level >= (_logger.level or _get_default_level()):
        print(f"{logging.getLevelName(level)}: {_logger.name}: {text % values}", flush=True)


def _get_default_level() -> int:
    level: object = logging.getLevelName((os.environ.get("DET_LOG_LEVEL") or "INFO").upper())
    return level if isinstance(level, int) else logging.INFO
