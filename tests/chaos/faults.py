"""The faults of a chaos run, in a random order that a seed determines."""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable

from cluster import Cluster, eventually
from standby import MASTERS, StandbyCluster


class Faults:
    """Injects faults one after the other, and heals each before the next."""

    def __init__(self, cluster: Cluster, seed: int, outage: float) -> None:
        self._cluster = cluster
        self._random = random.Random(seed)
        self._outage = outage
        self.counts: Counter[str] = Counter()
        # Allocations whose keeper was killed; their last lines may be lost.
        self.keepers_killed: set[str] = set()
        self._kinds: list[tuple[str, Callable[[], None]]] = [
            ("agent killed", self._agent_killed),
            ("agent stopped", self._agent_stopped),
            ("network cut", self._network_cut),
            ("network silent", self._network_silent),
            ("database unreachable", self._database_unreachable),
            ("rank killed", self._rank_killed),
            ("keeper killed", self._keeper_killed),
            *self._master_faults(),
        ]

    def _master_faults(self) -> list[tuple[str, Callable[[], None]]]:
        return [
            ("master killed", self._master_killed),
            ("master stopped", self._master_stopped),
            ("database killed", self._database_killed),
        ]

    def run(self, seconds: float) -> None:
        """Injects faults for `seconds`; all are healed at the end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            # Each kind occurs equally often, in a random order.
            for name, act in self._random.sample(self._kinds, len(self._kinds)):
                self._wait(0.5, 4)
                if time.monotonic() >= end:
                    break
                print(f"chaos: {name}", flush=True)
                self.counts[name] += 1
                act()

    def _wait(self, minimum: float, maximum: float) -> None:
        time.sleep(self._random.uniform(minimum, maximum))

    def _agent(self) -> str:
        return self._random.choice(self._cluster.names)

    def _master_killed(self) -> None:
        self._cluster.kill("master")
        self._wait(0, 5)
        self._cluster.start_master()

    def _master_stopped(self) -> None:
        self._cluster.signal("master", signal.SIGSTOP)
        self._wait(0.5, 5)
        self._cluster.signal("master", signal.SIGCONT)

    def _agent_killed(self) -> None:
        agent = self._agent()
        self._cluster.kill(agent)
        self._wait(0, 3)
        self._cluster.start_agent(agent)

    def _agent_stopped(self) -> None:
        agent = self._agent()
        self._cluster.signal(agent, signal.SIGSTOP)
        self._wait(0.5, 5)
        self._cluster.signal(agent, signal.SIGCONT)

    def _network_cut(self) -> None:
        self._cut(silent=False)

    def _network_silent(self) -> None:
        self._cut(silent=True)

    def _cut(self, silent: bool) -> None:
        proxies = self._cluster.proxies[self._agent()]
        for proxy in proxies:
            proxy.cut(silent)
        self._wait(0.5, 8)
        for proxy in proxies:
            proxy.heal()

    def _database_killed(self) -> None:
        pid = self._cluster.database_pid()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _rank_killed(self) -> None:
        ranks = self._cluster.ranks()
        if ranks:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._random.choice(ranks), signal.SIGKILL)

    def _database_unreachable(self) -> None:
        self._cluster.stop_database()
        self._wait(0.5 * self._outage, self._outage)
        self._cluster.continue_database()
        eventually(self._cluster.agents, "a response of the master")

    def _keeper_killed(self) -> None:
        keepers = self._cluster.keepers()
        if keepers:
            pid, allocation = self._random.choice(sorted(keepers))
            self.keepers_killed.add(allocation)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class StandbyFaults(Faults):
    """Faults with two masters; after each fault of the leader, the other one takes over."""

    def __init__(self, cluster: StandbyCluster, seed: int, outage: float) -> None:
        super().__init__(cluster, seed, outage)
        self._pair = cluster

    def _master_faults(self) -> list[tuple[str, Callable[[], None]]]:
        return [
            ("leader killed", self._leader_killed),
            ("leader stopped longer than its lease", self._leader_stopped),
            ("leader disconnected from the database", self._leader_disconnected),
            ("standby killed", self._standby_killed),
        ]

    def _leader(self) -> tuple[str, str]:
        """The names of the leader and of the standby."""
        leader = eventually(self._pair.leader, "a leader")
        return leader, next(name for name in MASTERS if name != leader)

    def _wait_for_takeover(self, leader: str, standby: str) -> None:
        """Waits until the standby leads and the previous leader has exited, then restarts the latter."""
        eventually(lambda: self._pair.is_leader(standby), f"the takeover by {standby}")
        eventually(lambda: not self._pair.is_running(leader), f"the exit of {leader}, which was replaced")
        self._pair.start_master()

    def _leader_killed(self) -> None:
        leader, standby = self._leader()
        self._pair.kill(leader)
        self._wait_for_takeover(leader, standby)

    def _leader_stopped(self) -> None:
        leader, standby = self._leader()
        self._pair.signal(leader, signal.SIGSTOP)
        eventually(lambda: self._pair.is_leader(standby), f"the takeover by {standby}")
        self._wait(0, 2)
        self._pair.signal(leader, signal.SIGCONT)
        self._wait_for_takeover(leader, standby)

    def _leader_disconnected(self) -> None:
        leader, standby = self._leader()
        self._pair.database_proxies[leader].cut(silent=self._random.random() < 0.5)
        eventually(lambda: self._pair.is_leader(standby), f"the takeover by {standby}")
        self._wait(0, 2)
        self._pair.database_proxies[leader].heal()
        self._wait_for_takeover(leader, standby)

    def _standby_killed(self) -> None:
        _, standby = self._leader()
        self._pair.kill(standby)
        self._wait(0, 2)
        self._pair.start_master()
