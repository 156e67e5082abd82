"""A remote shell for engines that start ranks through ssh, such as mpirun and horovodrun.

The launchers of all nodes but the first serve it. A client must prove that it knows the trial's
secret (core/_star.py), so no sshd, keys or accounts are needed. torch has no replacement for it:
its stores and elastic agent start torch's ranks only, while mpirun and horovodrun start their
daemons with a program that takes the arguments of ssh.

    python3 -m det.launch._shell [options of ssh] HOST COMMAND...
"""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import IO

from det.core import _star
from det.launch._supervisor import GRACE, Outcome

# Variables whose values differ between nodes. Engines send the values of the first node.
OWN = "DET_ENVIRONMENT_OF_NODE"
_OF_NODE = ("DET_", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "PYTHONPATH")
_START_TIMEOUT = 600.0  # Seconds until the launchers of all nodes must be connected.
_BLOCK = 1 << 16
_LOST = 255  # The exit code of ssh for a lost connection.
_WITH_VALUE = "BbcDEeFIiJLlmOopQRSWw"  # Options of ssh that take a value.
_OUT, _ERR, _CODE = b"o", b"e", b"c"


def port() -> int:
    """Returns the port, which is the same on all nodes of the trial."""
    return int(os.environ.get("DTRAIN_SSH_PORT") or 12350)


# The client.


class Node:
    """Another node, watched by the launcher of the first node.

    Raises:
        ConnectionError: Its launcher cannot be reached.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._peer = _join(address, {"watch": True})

    def fileno(self) -> int:
        """Returns the file descriptor that becomes readable when the node is lost."""
        return self._peer.fileno()

    def describe(self) -> str:
        """Returns the error to report when the node is lost."""
        return f"node {self._address} was lost; see its lines in the log for why"

    def end(self) -> None:
        """Ends the launcher of the node, and what it still runs."""
        try:
            self._peer.send(b"over")
        except ConnectionError:
            pass
        self._peer.close()


def _join(address: str, request: dict[str, object]) -> _star.Peer:
    try:
        peer = _star.join((address, port()), 0, _star.get_secret(), _START_TIMEOUT)
        peer.send(json.dumps(request).encode())
    except ConnectionError as error:
        cause = error.__cause__ or error
        raise ConnectionError(
            f"cannot reach the launcher on node {address} at port {port()}: {cause}; check that node's "
            "lines in the log, and that the port is open"
        ) from error
    return peer


def run(arguments: list[str]) -> int:
    """Runs a command on another node.

    Returns:
        The exit code of the command; 255 if it is not known.
    """
    host, command = _parse(arguments)
    try:
        peer = _join(host, {"command": command})
        while True:
            message = peer.receive()
            kind, data = message[:1], message[1:]
            if kind == _CODE:
                return int(data)
            target = sys.stdout.buffer if kind == _OUT else sys.stderr.buffer
            target.write(data)
            target.flush()
    except ConnectionError as error:
        print(f"ERROR: node {host}: {error}", file=sys.stderr, flush=True)
        return _LOST


def _parse(arguments: list[str]) -> tuple[str, str]:
    words = list(arguments)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if len(option) == 2 and option[1] in _WITH_VALUE and words:
            words.pop(0)
    if len(words) < 2:
        raise SystemExit("usage: python3 -m det.launch._shell HOST COMMAND...")
    return words[0].rpartition("@")[2], " ".join(words[1:])


# The server.


def serve(env: Mapping[str, str]) -> Outcome:
    """Serves commands for the first node until its launcher ends; then kills what still runs.

    Args:
        env: The environment of the commands.
    """
    own = {name: value for name, value in env.items() if name.startswith(_OF_NODE)}
    served = _Served({**env, OWN: json.dumps(own)})
    before = signal.signal(signal.SIGTERM, served.stop)
    try:
        with socket.create_server(("", port()), backlog=128) as server:
            threading.Thread(target=served.accept, args=(server,), daemon=True).start()
            return served.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
        served.kill()


class _Served:
    """The commands that this node runs. accept() and what it starts run on their own threads."""

    def __init__(self, env: dict[str, str]) -> None:
        self._env = env
        self._key = _star.get_secret()
        self._lock = threading.RLock()  # A signal handler may take it while it is held.
        self._running: list[subprocess.Popen[bytes]] = []
        # None means that the launcher of the first node has connected.
        self._events: queue.SimpleQueue[Outcome | None] = queue.SimpleQueue()

    def wait(self) -> Outcome:
        timeout: float | None = _START_TIMEOUT
        while True:
            try:
                outcome = self._events.get(timeout=timeout)
            except queue.Empty:
                message = (
                    f"the launcher of the first node did not connect within {_START_TIMEOUT:.0f} s"
                )
                return Outcome(1, message)
            if outcome is not None:
                return outcome
            timeout = None

    def stop(self, number: int, _: object) -> None:
        """Handles a signal: the ranks get SIGTERM and may save a checkpoint."""
        for process in self._alive():
            _signal(process, signal.SIGTERM)
        self._events.put(Outcome(128 + number))

    def kill(self) -> None:
        for process in self._alive():
            _signal(process, signal.SIGTERM)
        for process in self._alive():
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                pass
            _signal(process, signal.SIGKILL)

    def _alive(self) -> list[subprocess.Popen[bytes]]:
        with self._lock:
            return list(self._running)

    def accept(self, server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return  # The server is closed.
            threading.Thread(target=self._meet, args=(connection,), daemon=True).start()

    def _meet(self, connection: socket.socket) -> None:
        try:
            peer = _star.admit(connection, self._key)
            request = json.loads(peer.receive())
        except (OSError, ValueError):
            connection.close()  # The client does not know the secret.
            return
        if request.get("watch"):
            self._watch(peer)
        else:
            self._run(peer, str(request["command"]))
        peer.close()

    def _watch(self, peer: _star.Peer) -> None:
        self._events.put(None)
        try:
            peer.receive()
            self._events.put(Outcome())
        except ConnectionError:
            message = "the first node's launcher was lost; see its lines in the log for why"
            self._events.put(Outcome(1, message))

    def _run(self, peer: _star.Peer, command: str) -> None:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        with self._lock:
            self._running.append(process)
        threading.Thread(target=_end_with, args=(peer, process), daemon=True).start()
        sending = threading.Lock()
        pumps = [
            threading.Thread(target=_pump, args=(peer, sending, kind, source), daemon=True)
            for kind, source in ((_OUT, process.stdout), (_ERR, process.stderr))
        ]
        for pump in pumps:
            pump.start()
        for pump in pumps:
            pump.join()
        code = process.wait()
        with self._lock:
            self._running.remove(process)
        try:
            peer.send(_CODE + str(code if code >= 0 else 128 - code).encode())
        except ConnectionError:
            pass


def _pump(peer: _star.Peer, sending: threading.Lock, kind: bytes, source: IO[bytes]) -> None:
    while True:
        block = os.read(source.fileno(), _BLOCK)
        if not block:
            return
        try:
            with sending:
                peer.send(kind + block)
        except ConnectionError:
            return  # The client is lost; _end_with() ends the command.


def _end_with(peer: _star.Peer, process: subprocess.Popen[bytes]) -> None:
    """Ends a command when its client disconnects."""
    try:
        peer.receive()
    except ConnectionError:
        if process.poll() is None:
            _signal(process, signal.SIGTERM)
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                _signal(process, signal.SIGKILL)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Sends a signal to the process group of a command."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
