"""How the ranks of a trial talk to each other, outside of what their training library does."""

from __future__ import annotations

import json
import os
from typing import Any

from det.core import _star

DEFAULT_PORT = 12360
_TIMEOUT = 600.0  # Seconds that ranks wait for each other to start.


class _Group:
    """Some ranks around the first of them. Collective; one thread at a time."""

    def __init__(self, rank: int, peers: list[_star.Peer]) -> None:
        self.rank = rank
        self.peers = peers  # Of the chief: all others in order; of another rank: the chief.

    def gather(self, value: Any) -> list[Any] | None:
        if self.rank != 0:
            self.peers[0].send(_star.pack(value))
            return None
        return [value] + [_star.unpack(peer.receive()) for peer in self.peers]

    def broadcast(self, value: Any) -> Any:
        if self.rank != 0:
            return _star.unpack(self.peers[0].receive())
        if self.peers:
            data = _star.pack(value)
            for peer in self.peers:
                peer.send(data)
        return value

    def close(self) -> None:
        for peer in self.peers:
            peer.close()


class DistributedContext:
    """Ranks and how they exchange small objects.

    All of gather, allgather, broadcast and their `_local` forms are collective: every rank (of the
    node) calls them, in the same order, from one thread. Values are pickled. A rank that has died
    raises ConnectionError on the others.

    Args:
        rank, size: of this process among all of the trial.
        local_rank, local_size: among those of this node.
        cross_rank, cross_size: of this node among all.
        chief_ip: where rank 0 is; needed if size > 1 and ranks are on several nodes.
        port: on which rank 0 listens; else $INTER_TRAIN_PROCESS_COMM_PORT_1.
    """

    def __init__(
        self,
        *,
        rank: int,
        size: int,
        local_rank: int | None = None,
        local_size: int | None = None,
        cross_rank: int | None = None,
        cross_size: int | None = None,
        chief_ip: str | None = None,
        port: int | None = None,
    ) -> None:
        self.rank = rank
        self.size = size
        self.local_rank = rank if local_rank is None else local_rank
        self.local_size = size if local_size is None else local_size
        self.cross_rank = 0 if cross_rank is None else cross_rank
        self.cross_size = 1 if cross_size is None else cross_size
        self._check()
        self._chief_ip = chief_ip or "127.0.0.1"
        self._key = b""
        self._all = _Group(0, [])
        self._local = _Group(0, [])
        if size > 1:
            self._key = _star.secret()
            self._all = self._connect(port or _port())
            self._local = self._connect_local()

    def _check(self) -> None:
        for name, rank, size in (
            ("rank", self.rank, self.size),
            ("local_rank", self.local_rank, self.local_size),
            ("cross_rank", self.cross_rank, self.cross_size),
        ):
            if not 0 <= rank < size:
                raise ValueError(f"{name} is {rank}, but must be from 0 to {size - 1}")
        if self.local_size > self.size or self.cross_size > self.size:
            raise ValueError(
                f"{self.size} ranks are fewer than local_size {self.local_size} or cross_size "
                f"{self.cross_size}"
            )

    @property
    def _bind_host(self) -> str:
        return "127.0.0.1" if self.cross_size == 1 else ""

    def _connect(self, port: int) -> _Group:
        if self.rank != 0:
            peer = _star.join((self._chief_ip, port), self.rank, self._key, _TIMEOUT)
            return _Group(self.rank, [peer])
        chief = _star.Chief(self._bind_host, port)
        try:
            return _Group(0, chief.accept(self.size, self._key, _TIMEOUT))
        finally:
            chief.close()

    def _connect_local(self) -> _Group:
        """The ranks of a node, around the first of them. Ports are told over the connections that
        there are already, so that they are free ones.
        """
        if self.cross_size == 1:
            return self._all
        first = self.local_rank == 0
        listener = _star.Chief("127.0.0.1", 0) if first and self.local_size > 1 else None
        ports = self.allgather((self.cross_rank, listener.port if listener else 0))
        if self.local_size == 1:
            return _Group(0, [])
        if listener:
            peers = listener.accept(self.local_size, self._key, _TIMEOUT)
            listener.close()
            return _Group(0, peers)
        port = max(port for node, port in ports if node == self.cross_rank)
        return _Group(
            self.local_rank,
            [_star.join(("127.0.0.1", port), self.local_rank, self._key, _TIMEOUT)],
        )

    def fork(self) -> DistributedContext:
        """Collective. The same ranks with connections of their own, for another thread."""
        if self.size == 1:
            return self
        other = object.__new__(DistributedContext)
        other.__dict__.update(self.__dict__)
        listener = _star.Chief(self._bind_host, 0) if self.rank == 0 else None
        port = self.broadcast(listener.port if listener else None)
        if listener:
            other._all = _Group(0, listener.accept(self.size, self._key, _TIMEOUT))
            listener.close()
        else:
            other._all = other._connect(port)
        other._local = other._connect_local()
        return other

    def get_rank(self) -> int:
        return self.rank

    def get_size(self) -> int:
        return self.size

    def get_local_rank(self) -> int:
        return self.local_rank

    def get_num_agents(self) -> int:
        return self.cross_size

    @property
    def is_chief(self) -> bool:
        return self.rank == 0

    @property
    def is_local_chief(self) -> bool:
        return self.local_rank == 0

    def gather(self, stuff: Any) -> list[Any] | None:
        """What each rank gives, in the order of ranks, on rank 0; None on the others."""
        return self._all.gather(stuff)

    def gather_local(self, stuff: Any) -> list[Any] | None:
        return self._local.gather(stuff)

    def allgather(self, stuff: Any) -> list[Any]:
        """What each rank gives, in the order of ranks, on every rank."""
        return list(self._all.broadcast(self._all.gather(stuff)))

    def allgather_local(self, stuff: Any) -> list[Any]:
        return list(self._local.broadcast(self._local.gather(stuff)))

    def broadcast(self, stuff: Any) -> Any:
        """What rank 0 gives, on every rank."""
        return self._all.broadcast(stuff)

    def broadcast_local(self, stuff: Any = None) -> Any:
        return self._local.broadcast(stuff)

    def close(self) -> None:
        self._all.close()
        self._local.close()

    @classmethod
    def single(cls) -> DistributedContext:
        """One rank."""
        return cls(rank=0, size=1)

    @classmethod
    def from_torch_distributed(cls, chief_ip: str | None = None) -> DistributedContext:
        """Of a process that torch's launcher, or ours, has started. Reads the environment."""
        size, local_size = _env_int("WORLD_SIZE"), _env_int("LOCAL_WORLD_SIZE")
        rank = _env_int("RANK")
        return cls(
            rank=rank,
            size=size,
            local_rank=_env_int("LOCAL_RANK"),
            local_size=local_size,
            cross_rank=int(os.environ.get("GROUP_RANK") or rank // local_size),
            cross_size=int(os.environ.get("GROUP_WORLD_SIZE") or size // local_size),
            chief_ip=chief_ip or os.environ.get("DET_CHIEF_IP") or os.environ.get("MASTER_ADDR"),
        )

    @classmethod
    def from_deepspeed(cls, chief_ip: str | None = None) -> DistributedContext:
        """Of a process that DeepSpeed's launcher, or ours, has started: torch's variables."""
        return cls.from_torch_distributed(chief_ip)

    @classmethod
    def from_horovod(cls, hvd: Any = None, chief_ip: str | None = None) -> DistributedContext:
        """Of Horovod's module after hvd.init(), or without it of the launcher's environment."""

        def read(name: str) -> int:
            return int(getattr(hvd, name)()) if hvd else _env_int("HOROVOD_" + name.upper())

        return cls(
            rank=read("rank"),
            size=read("size"),
            local_rank=read("local_rank"),
            local_size=read("local_size"),
            cross_rank=read("cross_rank"),
            cross_size=read("cross_size"),
            chief_ip=chief_ip or os.environ.get("DET_CHIEF_IP"),
        )

    @classmethod
    def from_tf_config(cls, chief_ip: str | None = None) -> DistributedContext:
        """Of $TF_CONFIG, one worker a node; without it one rank."""
        told = json.loads(os.environ.get("TF_CONFIG") or "{}")
        workers = (told.get("cluster") or {}).get("worker") or []
        if not workers:
            return cls.single()
        rank = int(told["task"]["index"])
        return cls(
            rank=rank,
            size=len(workers),
            local_rank=0,
            local_size=1,
            cross_rank=rank,
            cross_size=len(workers),
            chief_ip=chief_ip or workers[0].rpartition(":")[0],
        )


def _env_int(name: str) -> int:
    value = os.environ.get(name)
    if value is None or not value.lstrip("-").isdigit():
        raise ValueError(
            f"${name} is {value!r} and should be a number; start this program with its launcher, "
            "such as python3 -m det.launch.torch_distributed"
        )
    return int(value)


def _port() -> int:
    told = os.environ.get("INTER_TRAIN_PROCESS_COMM_PORT_1")
    if told:
        return int(told)
    # Another run on this machine has another one, if its own library's port is another.
    return int(os.environ.get("MASTER_PORT", DEFAULT_PORT - 1)) + 1
