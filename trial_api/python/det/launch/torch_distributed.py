"""Starts one process per slot, with the environment that torch.distributed reads.

python3 -m det.launch.torch_distributed train.py ARGUMENT...
"""

from __future__ import annotations

import sys

from det.launch._layout import Layout
from det.launch._run import launch


def extra(layout: Layout, local_rank: int) -> dict[str, str]:
    """Returns the variables of torch's launcher in addition to those that all launchers set."""
    return {
        "USE_TORCH_DISTRIBUTED": "True",
        "ROLE_RANK": str(layout.first_rank + local_rank),
        "ROLE_WORLD_SIZE": str(layout.size),
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "TORCHELASTIC_RUN_ID": "none",
    }


if __name__ == "__main__":
    sys.exit(launch("torch_distributed", sys.argv[1:], extra))
