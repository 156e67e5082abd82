"""Any command, once per slot: DET_RANK, DET_SIZE and the like say which one a process is.

python3 -m det.launch.command ./train --epochs 3
"""

from __future__ import annotations

import sys

from det.launch._layout import Layout
from det.launch._run import launch


def extra(layout: Layout, local_rank: int) -> dict[str, str]:
    """Nothing besides what all launchers set."""
    return {}


if __name__ == "__main__":
    sys.exit(launch("command", sys.argv[1:], extra))
