"""Connections between the ranks of a trial, in a star around rank 0.

When a connection opens, both ends prove that they know the secret of the trial (HMAC-SHA256 of a
random challenge of the other end); nothing is unpickled before that. A frame is a length and as
many bytes. One thread at a time may use a connection. If a peer exits, the ranks that wait for it
get ConnectionError.

This is not torch's TCPStore, nor a process group, because det.core must work without torch
(Horovod, TensorFlow, scripts of other languages' launchers), before and after the training library
has its process group, on several threads, and over networks that other users reach: a TCPStore
accepts any client, and these objects are pickled.
"""

from __future__ import annotations

import hmac
import os
import pickle
import secrets
import socket
import struct
import time
from typing import Any

_HANDSHAKE_SECONDS = 30.0
_CHALLENGE_BYTES = 32
_PAUSE = 0.05


class Peer:
    """A connection whose other end has proved that it knows the secret."""

    def __init__(self, connection: socket.socket, rank: int) -> None:
        self._connection = connection
        self.rank = rank
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def send(self, data: bytes) -> None:
        """Sends a frame.

        Raises:
            ConnectionError: The peer is lost.
        """
        try:
            self._connection.sendall(struct.pack("!Q", len(data)) + data)
        except OSError as error:
            raise self._gone(error) from None

    def receive(self) -> bytes:
        """Waits for a frame.

        Raises:
            ConnectionError: The peer is lost.
        """
        try:
            (size,) = struct.unpack("!Q", self._receive_exactly(8))
            return self._receive_exactly(size)
        except OSError as error:
            raise self._gone(error) from None

    def fileno(self) -> int:
        """Returns the file descriptor of the connection, to wait for it."""
        return self._connection.fileno()

    def close(self) -> None:
        self._connection.close()

    def _gone(self, error: OSError) -> ConnectionError:
        return ConnectionError(
            f"rank {self.rank} was lost ({error}); see its lines in the log for why"
        )

    def _receive_exactly(self, size: int) -> bytes:
        return _receive_exactly(self._connection, size)


class Chief:
    """The listening socket of rank 0."""

    def __init__(self, host: str, port: int) -> None:
        self._server = socket.create_server((host, port), backlog=1024)
        self.port: int = self._server.getsockname()[1]

    def accept(self, size: int, key: bytes, timeout: float) -> list[Peer]:
        """Waits for ranks 1 to size - 1.

        Connections that cannot prove that they know the secret are closed.

        Returns:
            The connections in the order of the ranks.

        Raises:
            ConnectionError: A rank did not connect in time.
        """
        peers: dict[int, Peer] = {}
        deadline = time.monotonic() + timeout
        while len(peers) < size - 1:
            self._server.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                connection, _ = self._server.accept()
            except socket.timeout:
                missing = sorted(set(range(1, size)) - set(peers))
                raise ConnectionError(
                    f"ranks {missing} did not connect within {timeout:.0f} s; have they started?"
                ) from None
            try:
                rank = _admit(connection, key)
            except (OSError, ValueError, struct.error):
                connection.close()
                continue
            if 0 < rank < size:
                peers[rank] = Peer(connection, rank)
        return [peers[rank] for rank in sorted(peers)]

    def close(self) -> None:
        self._server.close()


def join(address: tuple[str, int], rank: int, key: bytes, timeout: float) -> Peer:
    """Connects to rank 0.

    It may not listen yet, or may still listen for a context that is closing.

    Raises:
        ConnectionError: Rank 0 cannot be reached, or does not know the secret.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            connection = socket.create_connection(address, timeout=_HANDSHAKE_SECONDS)
            challenge = _receive_challenge(connection)
            break
        except OSError as error:
            if time.monotonic() > deadline:
                raise ConnectionError(
                    f"cannot reach rank 0 at {address[0]}:{address[1]} within {timeout:.0f} s: "
                    f"{error}; is it running, is the port open?"
                ) from error
            time.sleep(_PAUSE)
    try:
        _introduce(connection, rank, key, challenge)
    except (OSError, ValueError) as error:
        connection.close()
        raise ConnectionError(
            f"rank 0 at {address[0]}:{address[1]} does not know the secret of this trial: another "
            "program uses the port, or DET_RANK_KEY differs"
        ) from error
    return Peer(connection, 0)


def admit(connection: socket.socket, key: bytes) -> Peer:
    """Accepts a connection that join() has opened.

    Raises:
        OSError: The connection failed.
        ValueError: The other end does not know the secret.
    """
    return Peer(connection, _admit(connection, key))


def pack(value: object) -> bytes:
    """Pickles a value."""
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def unpack(data: bytes) -> Any:
    """Unpickles a value."""
    return pickle.loads(data)


def _proof(key: bytes, role: bytes, challenge: bytes, rank: int) -> bytes:
    return hmac.new(key, role + challenge + struct.pack("!I", rank), "sha256").digest()


def _admit(connection: socket.socket, key: bytes) -> int:
    connection.settimeout(_HANDSHAKE_SECONDS)
    challenge = secrets.token_bytes(_CHALLENGE_BYTES)
    connection.sendall(challenge)
    (rank,) = struct.unpack("!I", _receive_exactly(connection, 4))
    theirs = _receive_exactly(connection, _CHALLENGE_BYTES)
    proof = _receive_exactly(connection, 32)
    if not hmac.compare_digest(proof, _proof(key, b"rank", challenge, rank)):
        raise ValueError("wrong proof")
    connection.sendall(_proof(key, b"chief", theirs, rank))
    connection.settimeout(None)
    return int(rank)


def _receive_challenge(connection: socket.socket) -> bytes:
    try:
        return _receive_exactly(connection, _CHALLENGE_BYTES)
    except OSError:
        connection.close()
        raise


def _introduce(connection: socket.socket, rank: int, key: bytes, challenge: bytes) -> None:
    mine = secrets.token_bytes(_CHALLENGE_BYTES)
    connection.sendall(struct.pack("!I", rank) + mine + _proof(key, b"rank", challenge, rank))
    if not hmac.compare_digest(_receive_exactly(connection, 32), _proof(key, b"chief", mine, rank)):
        raise ValueError("wrong proof")
    connection.settimeout(None)


def _receive_exactly(connection: socket.socket, size: int) -> bytes:
    buffer = bytearray(size)
    view = memoryview(buffer)
    done = 0
    while done < size:
        count = connection.recv_into(view[done:])
        if count == 0:
            raise ConnectionError("closed")
        done += count
    return bytes(buffer)


def get_secret() -> bytes:
    """Returns a secret that only the ranks of a trial know.

    It is that of the launcher, of the task, or of the user.
    """
    value = os.environ.get("DET_RANK_KEY") or os.environ.get("DET_SESSION_TOKEN")
    return value.encode() if value else _get_user_secret()


def _get_user_secret() -> bytes:
    folder = os.path.join(os.path.expanduser("~"), ".cache", "resolute")
    path = os.path.join(folder, "rank_key")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if not os.path.exists(path):
        aside = f"{path}.{secrets.token_hex(8)}"
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_hex(32).encode())
        try:
            os.link(aside, path)  # The first process wins, and no process reads half of the file.
        except FileExistsError:
            pass
        os.unlink(aside)
    with open(path, "rb") as file:
        return file.read()
