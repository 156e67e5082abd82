"""One process per slot, started by mpirun on one node.

python3 -m det.launch.mpi python3 train.py
"""

from __future__ import annotations

import sys

from det.launch._engine import Engine, main

ENGINE = Engine(
    name="mpi",
    program="mpirun",
    options=["--oversubscribe"],
    options_of_root=["--allow-run-as-root"],
    variables={
        "RANK": "OMPI_COMM_WORLD_RANK",
        "WORLD_SIZE": "OMPI_COMM_WORLD_SIZE",
        "LOCAL_RANK": "OMPI_COMM_WORLD_LOCAL_RANK",
        "LOCAL_WORLD_SIZE": "OMPI_COMM_WORLD_LOCAL_SIZE",
    },
)

if __name__ == "__main__":
    sys.exit(main(ENGINE, sys.argv[1:]))
