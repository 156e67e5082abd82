"""Starts one process per slot with Open MPI's mpirun, on one node or several.

python3 -m det.launch.mpi [OPTIONS OF MPIRUN --] python3 train.py
"""

from __future__ import annotations

import sys

from det.launch._engine import Engine, main

ENGINE = Engine(
    name="mpi",
    program="mpirun",
    options=["--oversubscribe"],
    options_of_root=["--allow-run-as-root"],
    hosts="--host",
    variables={
        "RANK": "OMPI_COMM_WORLD_RANK",
        "WORLD_SIZE": "OMPI_COMM_WORLD_SIZE",
        "LOCAL_RANK": "OMPI_COMM_WORLD_LOCAL_RANK",
        "LOCAL_WORLD_SIZE": "OMPI_COMM_WORLD_LOCAL_SIZE",
    },
    # Variables of Open MPI 4, then 5. The first node starts the daemon of each node itself, and the
    # daemon stays attached to its remote shell.
    shell={
        "OMPI_MCA_plm_rsh_agent": "{shell}",
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
        "OMPI_MCA_orte_leave_session_attached": "1",
        "PRTE_MCA_plm_ssh_agent": "{shell}",
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        "PRTE_MCA_prte_leave_session_attached": "1",
    },
)

if __name__ == "__main__":
    sys.exit(main(ENGINE, sys.argv[1:]))
