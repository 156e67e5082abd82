"""Starts one process per slot, with the environment that DeepSpeed reads.

DeepSpeed's own launcher and its remote shells are not needed: the agent of each node starts its
ranks.

    python3 -m det.launch.deepspeed train.py --deepspeed ...
"""

from __future__ import annotations

import sys

from det.launch._layout import Layout
from det.launch._run import launch


def extra(layout: Layout, local_rank: int) -> dict[str, str]:
    """Returns the variables that DeepSpeed reads in addition to those that all launchers set."""
    return {
        "USE_DEEPSPEED": "1",
        "LOCAL_SIZE": str(layout.processes[layout.node]),
        "CROSS_RANK": str(layout.node),
        "CROSS_SIZE": str(len(layout.slots)),
    }


if __name__ == "__main__":
    sys.exit(launch("deepspeed", sys.argv[1:], extra))
