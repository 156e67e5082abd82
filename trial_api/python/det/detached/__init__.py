"""Runs that this cluster records although they run elsewhere: `det.init()`."""

from det.detached._run import Run, init

__all__ = ["Run", "init"]
