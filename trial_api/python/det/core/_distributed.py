"""How the ranks of a trial exchange objects, independent of their training library."""

from __future__ import annotations

import json
import os
from types import ModuleType
from typing import TypeVar, overload

from det.core import _star

DEFAULT_PORT = 12360
_TIMEOUT = 600.0  # Seconds for which ranks wait for each other at the start.
_T = TypeVar("_T")


class _Group:
    """A group of ranks around the first of them. Collective; one thread at a time."""

    def __init__(self, rank: int, peers: list[_star.Peer]) -> None:
        self.rank = rank
        self.peers = peers  # On the chief all others in order, elsewhere the chief.

    def gather(self, value: _T) -> list[_T] | None:
        if self.rank != 0:
            self.peers[0].send(_star.pack(value))
            return None
        return [value] + [_star.unpack(peer.receive()) for peer in self.peers]

    def broadcast(self, value: _T) -> _T:
        if self.rank != 0:
            received: _T = _star.unpack(self.peers[0].receive())
            return received
        if self.peers:
            data = _star.pack(value)
            for peer in self.peers:
                peer.send(data)
        return value

    def allgather(self, value: _T) -> list[_T]:
        values = self.broadcast(self.gather(value))
        assert values is not None  # The first rank has them.
        return list(values)

    def close(self) -> None:
        for peer in self.peers:
            peer.close()


class DistributedContext:
    """The ranks of a trial, and the exchange of small objects between them.

    gather, allgather, broadcast and their `_local` variants are collective: all ranks (of the node)
    call them in the same order, from one thread. Values are pickled. If a rank exits, the others
    get ConnectionError.

    Args:
        rank: The rank of this process.
        size: The number of ranks of the trial.
        local_rank: The rank of this process on its node. Default: rank.
        local_size: The number of ranks on this node. Default: size.
        cross_rank: The index of this node. Default: 0.
        cross_size: The number of nodes. Default: 1.
        chief_ip: The address of rank 0; needed if ranks are on several nodes.
        port: The port of rank 0. Default: INTER_TRAIN_PROCESS_COMM_PORT_1 of the environment.

    Raises:
        ValueError: The numbers contradict each other.
        ConnectionError: The ranks cannot reach each other.
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
            self._key = _star.get_secret()
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
        """Connects the ranks of a node around the first of them.

        The ports are free ones, exchanged over the existing connections.
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
        """Returns a context of the same ranks with its own connections, for another thread.

        Collective.
        """
        if self.size == 1:
            return self
        other = object.__new__(DistributedContext)
        other.__dict__.update(self.__dict__)
        listener = _star.Chief(self._bind_host, 0) if self.rank == 0 else None
        port = self.broadcast(listener.port if listener else 0)
        if listener:
            other._all = _Group(0, listener.accept(self.size, self._key, _TIMEOUT))
            listener.close()
        else:
            other._all = other._connect(port)
        other._local = other._connect_local()
        return other

    def get_rank(self) -> int:
        """Returns the rank of this process."""
        return self.rank

    def get_size(self) -> int:
        """Returns the number of ranks."""
        return self.size

    def get_local_rank(self) -> int:
        """Returns the rank of this process on its node."""
        return self.local_rank

    def get_num_agents(self) -> int:
        """Returns the number of nodes."""
        return self.cross_size

    @property
    def is_chief(self) -> bool:
        """Whether this is rank 0."""
        return self.rank == 0

    @property
    def is_local_chief(self) -> bool:
        """Whether this is the first rank of its node."""
        return self.local_rank == 0

    def gather(self, stuff: _T) -> list[_T] | None:
        """Collects a value from each rank.

        Args:
            stuff: The value of this rank. It must be picklable.

        Returns:
            The values in the order of ranks on rank 0, None on the others.

        Raises:
            ConnectionError: A rank is lost.
        """
        return self._all.gather(stuff)

    def gather_local(self, stuff: _T) -> list[_T] | None:
        """Collects a value from each rank of this node. See gather().

        Args:
            stuff: The value of this rank. It must be picklable.

        Returns:
            The values in the order of local ranks on the first rank of the node, None on the
            others.

        Raises:
            ConnectionError: A rank is lost.
        """
        return self._local.gather(stuff)

    def allgather(self, stuff: _T) -> list[_T]:
        """Collects a value from each rank.

        Args:
            stuff: The value of this rank. It must be picklable.

        Returns:
            The values in the order of ranks, on every rank.

        Raises:
            ConnectionError: A rank is lost.
        """
        return self._all.allgather(stuff)

    def allgather_local(self, stuff: _T) -> list[_T]:
        """Collects a value from each rank of this node. See allgather().

        Args:
            stuff: The value of this rank. It must be picklable.

        Returns:
            The values in the order of local ranks, on every rank of the node.

        Raises:
            ConnectionError: A rank is lost.
        """
        return self._local.allgather(stuff)

    def broadcast(self, stuff: _T) -> _T:
        """Returns the value of rank 0 on every rank.

        Args:
            stuff: The value on rank 0; it must be picklable. Ignored on the others.

        Returns:
            The value of rank 0.

        Raises:
            ConnectionError: A rank is lost.
        """
        return self._all.broadcast(stuff)

    @overload
    def broadcast_local(self, stuff: _T) -> _T: ...

    @overload
    def broadcast_local(self) -> None: ...

    def broadcast_local(self, stuff: _T | None = None) -> _T | None:
        """Returns the value of the first rank of this node on every rank of it.

        Args:
            stuff: The value on the first rank of the node; it must be picklable. Ignored on the
                others.

        Returns:
            The value of the first rank of the node.

        Raises:
            ConnectionError: A rank is lost.
        """
        return self._local.broadcast(stuff)

    def close(self) -> None:
        """Closes the connections."""
        self._all.close()
        self._local.close()

    @classmethod
    def single(cls) -> DistributedContext:
        """Returns the context of a single rank."""
        return cls(rank=0, size=1)

    @classmethod
    def from_torch_distributed(cls, chief_ip: str | None = None) -> DistributedContext:
        """Reads the environment that torch's launcher or det.launch.torch_distributed sets.

        Args:
            chief_ip: The address of rank 0. Default: DET_CHIEF_IP or MASTER_ADDR of the
                environment.

        Returns:
            The ranks, one for each process.

        Raises:
            ValueError: A launcher has not started this process.
        """
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
        """Reads the environment that DeepSpeed's launcher or det.launch.deepspeed sets.

        Args:
            chief_ip: The address of rank 0. Default: DET_CHIEF_IP or MASTER_ADDR of the
                environment.

        Returns:
            The ranks, one for each process.

        Raises:
            ValueError: A launcher has not started this process.
        """
        return cls.from_torch_distributed(chief_ip)

    @classmethod
    def from_horovod(
        cls, hvd: ModuleType | None = None, chief_ip: str | None = None
    ) -> DistributedContext:
        """Asks Horovod for the ranks.

        Args:
            hvd: Horovod's module after hvd.init(); None: the environment of its launcher is used.
            chief_ip: The address of rank 0. Default: DET_CHIEF_IP of the environment.

        Returns:
            The ranks, one for each process.

        Raises:
            ValueError: `hvd` is None and a launcher has not started this process.
        """

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
        """Reads TF_CONFIG, with one worker per node; a single rank if it is not set.

        Args:
            chief_ip: The address of rank 0. Default: that of the first worker.

        Returns:
            The ranks, one for each node.
        """
        config = json.loads(os.environ.get("TF_CONFIG") or "{}")
        workers = (config.get("cluster") or {}).get("worker") or []
        if not workers:
            return cls.single()
        rank = int(config["task"]["index"])
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
            f"${name} is {value!r}, but must be a number; start this program with its launcher, "
            "for example python3 -m det.launch.torch_distributed"
        )
    return int(value)


def _port() -> int:
    config = os.environ.get("INTER_TRAIN_PROCESS_COMM_PORT_1")
    if config:
        return int(config)
    # Two runs on one machine differ in the port of their training library, and so in this one.
    return int(os.environ.get("MASTER_PORT", DEFAULT_PORT - 1)) + 1
