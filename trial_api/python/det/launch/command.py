"""Runs any command once per slot. DET_RANK, DET_SIZE and others identify each process.

python3 -m det.launch.command ./train --epochs 3
"""

from __future__ import annotations

import sys

from det.launch._layout import Layout
from det.launch._run import launch


def extra(layout: Layout, local_rank: int) -> dict[str, str]:
    """Returns no variables: all launchers set enough."""
    return {}


if __name__ == "__main__":
    sys.exit(launch("command", sys.argv[1:], extra))
