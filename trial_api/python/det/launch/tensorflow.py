"""Starts one process on each node, which uses all slots of the node.

On several nodes it sets TF_CONFIG, which TensorFlow's MultiWorkerMirroredStrategy reads.

    python3 -m det.launch.tensorflow train.py ARGUMENT...
"""

from __future__ import annotations

import json
import os
import sys

from det.launch._layout import Layout
from det.launch._run import launch


def extra(layout: Layout, local_rank: int) -> dict[str, str]:
    """Returns TF_CONFIG if there are several nodes."""
    if len(layout.slots) == 1:
        return {}
    port = os.environ.get("C10D_PORT", "29400")
    workers = [f"{_bracketed(address)}:{port}" for address in layout.addresses]
    task = {"type": "worker", "index": layout.node}
    return {"TF_CONFIG": json.dumps({"cluster": {"worker": workers}, "task": task})}


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


if __name__ == "__main__":
    sys.exit(launch("tensorflow", sys.argv[1:], extra, one_process=True))
