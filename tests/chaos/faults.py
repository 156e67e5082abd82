"""What goes wrong in a chaos run, at random but by a seed."""

import contextlib
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable

from cluster import Cluster


class Faults:
    """One fault after the other, each healed before the next but two, until `stop`."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._dice = random.Random(seed)
        self._stop = threading.Event()
        self.counts: Counter[str] = Counter()
        self._kinds: list[tuple[str, Callable[[], None]]] = [
            ("master killed", self._master_killed),
            ("master stopped", self._master_stopped),
            ("agent killed", self._agent_killed),
            ("agent stopped", self._agent_stopped),
            ("network cut", self._network_cut),
            ("network silent", self._network_silent),
            ("database killed", self._database_killed),
            ("rank killed", self._rank_killed),
        ]

    def run(self, seconds: float) -> None:
        """Injects faults for so long, then leaves everything healed."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            # Each kind comes up equally often, in a random order.
            for name, act in self._dice.sample(self._kinds, len(self._kinds)):
                self._wait(0.5, 4)
                if time.monotonic() >= end:
                    break
                print(f"chaos: {name}", flush=True)
                self.counts[name] += 1
                act()

    def _wait(self, least: float, most: float) -> None:
        time.sleep(self._dice.uniform(least, most))

    def _agent(self) -> str:
        return self._dice.choice(self._cluster.names)

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
        proxy = self._cluster.proxies[self._agent()]
        proxy.cut()
        self._wait(0.5, 8)
        proxy.heal()

    def _network_silent(self) -> None:
        proxy = self._cluster.proxies[self._agent()]
        proxy.cut(silent=True)
        self._wait(0.5, 8)
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
                os.kill(self._dice.choice(ranks), signal.SIGKILL)
