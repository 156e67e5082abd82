"""One process per slot, with what DeepSpeed reads from the environment. DeepSpeed's own launcher,
with its remote shells, is not needed: each node's agent starts its ranks.

python3 -m det.launch.deepspeed train.py --deepspeed ...
"""

from __future__ import annotations

import sys

from det.launch._layout import Layout
from det.launch._run import launch


def extra(layout: Layout, local_rank: int) -> dict[str, str]:
    """Besides what all launchers set: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT."""
    return {
        "USE_DEEPSPEED": "1",
        "LOCAL_SIZE": str(layout.processes[layout.node]),
        "CROSS_RANK": str(layout.node),
        "CROSS_SIZE": str(len(layout.slots)),
    }


if __name__ == "__main__":
    sys.exit(launch("deepspeed", sys.argv[1:], extra))
