"""Starts one process per slot of this node; all processes connect to a port of the first node."""
import os
import subprocess
import sys

from determined.info import ClusterInfo


def command(arguments):
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    if arguments[0] == "--trial":
        return [sys.executable, "-m", "determined.exec.harness", *arguments[1:]]
    return arguments


def main():
    info = ClusterInfo()
    counts = info.container_slot_counts
    assert counts[info.container_rank] == len(info.slot_ids), counts
    first = sum(counts[:info.container_rank])
    ranks = []
    for local in range(len(info.slot_ids)):
        env = dict(os.environ, USE_TORCH_DISTRIBUTED="True", DET_CHIEF_IP=info.container_addrs[0],
                   MASTER_ADDR=info.container_addrs[0], MASTER_PORT=os.environ["C10D_PORT"],
                   RANK=str(first + local), WORLD_SIZE=str(sum(counts)), LOCAL_RANK=str(local))
        ranks.append(subprocess.Popen(command(sys.argv[1:]), env=env))
    sys.exit(max([abs(rank.wait()) for rank in ranks]))


main()
