"""Starts one process per slot with horovodrun, on one node or several.

    python3 -m det.launch.horovod [--autohorovod] [OPTIONS OF HOROVODRUN --] python3 train.py

With --autohorovod, a single rank is started without horovodrun.
"""

from __future__ import annotations

import sys

from det.launch._engine import Engine, main

ENGINE = Engine(
    name="horovod",
    program="horovodrun",
    options=[],
    options_of_root=[],
    hosts="-H",
    variables={
        "RANK": "HOROVOD_RANK",
        "WORLD_SIZE": "HOROVOD_SIZE",
        "LOCAL_RANK": "HOROVOD_LOCAL_RANK",
        "LOCAL_WORLD_SIZE": "HOROVOD_LOCAL_SIZE",
    },
    without="--autohorovod",
)

if __name__ == "__main__":
    sys.exit(main(ENGINE, sys.argv[1:]))
