"""The ranks of a trial on this node, and the environment of each."""

from __future__ import annotations

import dataclasses
import json
import os
import secrets

from det._info import ClusterInfo, get_cluster_info
from det._ports import free_ports

DEFAULT_PORT = 29400
_LOOPBACK = "127.0.0.1"


@dataclasses.dataclass
class Layout:
    """The nodes of a trial and their ranks.

    Attributes:
        addresses: The address of each node, in the order of their ranks.
        slots: The number of slots of each node.
        node: The index of this node.
        local: Whether this process runs off the cluster.
        one_process: Whether all slots of a node belong to one rank.
    """

    addresses: list[str]
    slots: list[int]
    node: int
    local: bool = False
    one_process: bool = False

    @property
    def processes(self) -> list[int]:
        """The number of ranks of each node."""
        return [1] * len(self.slots) if self.one_process else self.slots

    @property
    def size(self) -> int:
        """The number of ranks of the trial."""
        return sum(self.processes)

    @property
    def first_rank(self) -> int:
        """The first rank of this node."""
        return sum(self.processes[: self.node])

    def environment(self, local_rank: int) -> dict[str, str]:
        """Returns the environment variables of one rank, with the names that libraries read."""
        local_size = self.processes[self.node]
        numbers = {
            "rank": self.first_rank + local_rank,
            "size": self.size,
            "local_rank": local_rank,
            "local_size": local_size,
            "cross_rank": self.node,
            "cross_size": len(self.slots),
        }
        env = {"DET_" + name.upper(): str(value) for name, value in numbers.items()}
        for name, same in (
            ("RANK", "rank"),
            ("WORLD_SIZE", "size"),
            ("LOCAL_RANK", "local_rank"),
            ("LOCAL_WORLD_SIZE", "local_size"),
            ("GROUP_RANK", "cross_rank"),
            ("GROUP_WORLD_SIZE", "cross_size"),
        ):
            env[name] = str(numbers[same])
        env["MASTER_ADDR"] = env["DET_CHIEF_IP"] = self.addresses[0]
        env["DET_RENDEZVOUS"] = json.dumps(
            {"addresses": self.addresses, "rank": self.node, "slots": self.slots}
        )
        return env


def find_layout(slots: int | None = None, one_process: bool = False) -> Layout:
    """Asks the master for the nodes, and waits until all of them have started.

    Args:
        slots: The number of ranks on this node; None: one for each slot. Off the cluster the
            default is 1.
        one_process: Whether each node has one rank, whatever the configuration says.

    Raises:
        ValueError: `slots` was given and the trial has several nodes.
    """
    info = get_cluster_info()
    if info is None:
        return Layout([_LOOPBACK], [slots or 1], 0, local=True, one_process=one_process)
    here = slots or max(len(info.slot_ids), 1)
    # An explicit number of processes has precedence over the strategy.
    one_process = one_process or (slots is None and _strategy(info) == "in_process")
    if _is_one_node(info):
        return Layout([_LOOPBACK], [here], 0, one_process=one_process)
    nodes = info.rendezvous()
    if slots and len(nodes.slots) > 1:
        raise ValueError("a trial on several nodes has one process per slot; remove --slots")
    counts = nodes.slots if not slots else [slots]
    counts = [max(count, 1) for count in counts]
    return Layout(nodes.addresses, counts, nodes.rank, one_process=one_process)


def common_environment(layout: Layout) -> dict[str, str]:
    """Returns the environment variables that all ranks have in common."""
    env = {"PYTHONUNBUFFERED": "1"}
    if layout.local:
        env["DET_RANK_KEY"] = secrets.token_hex(32)
        env["MASTER_PORT"], env["INTER_TRAIN_PROCESS_COMM_PORT_1"] = map(str, free_ports(2))
    else:
        env["MASTER_PORT"] = os.environ.get("C10D_PORT", str(DEFAULT_PORT))
    if layout.one_process:
        env["DET_SLOTS_OF_RANKS"] = json.dumps(layout.slots)
    if os.environ.get("DET_SLOT_TYPE", "cpu") == "cpu" and "OMP_NUM_THREADS" not in os.environ:
        env["OMP_NUM_THREADS"] = str(layout.slots[layout.node] if layout.one_process else 1)
    return env


def _is_one_node(info: ClusterInfo) -> bool:
    resources = (info.trial.config.get("resources") or {}) if info.trial else {}
    requested = resources.get("slots_per_trial")
    # Only the rendezvous knows how many slots an elastic trial ({"min": 1, "max": 8}) has.
    if not isinstance(requested, (int, float)):
        return False
    return int(requested) <= max(len(info.slot_ids), 1)


def _strategy(info: ClusterInfo) -> str | None:
    config = info.trial.config if info.trial else {}
    strategy: str | None = (config.get("optimizations") or {}).get("strategy")
    return strategy
