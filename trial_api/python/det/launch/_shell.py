"""A shell on another node of the trial, for engines that start ranks by one: to them it is ssh, and it
takes no daemon, no keys and no accounts. The launchers of all nodes but the first serve it; whoever asks
must prove that it knows the trial's secret (core/_star.py).

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
from typing import IO, Any

from det.core import _star
from det.launch._supervisor import GRACE, Outcome

# What a node has that is another's on other nodes: engines send the first node's along.
OWN = "DET_ENVIRONMENT_OF_NODE"
_OF_NODE = ("DET_", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "PYTHONPATH")
_PATIENCE = 600.0  # Seconds until the launchers of all nodes must have met.
_BLOCK = 1 << 16
_GONE = 255  # As ssh ends.
_WITH_VALUE = "BbcDEeFIiJLlmOopQRSWw"  # Options of ssh that take one.
_OUT, _ERR, _CODE = b"o", b"e", b"c"


def port() -> int:
    """The same on all nodes of the trial."""
    return int(os.environ.get("DTRAIN_SSH_PORT") or 12350)


# The node that asks.


class Node:
    """Another node, of which the first one's launcher sees whether it is still there. Raises
    ConnectionError where it does not come.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._peer = _join(address, {"watch": True})

    def fileno(self) -> int:
        """To be read once it has gone."""
        return self._peer.fileno()

    def words(self) -> str:
        return f"node {self._address} has gone; see its lines in the log for why"

    def end(self) -> None:
        """All is over; its launcher ends, and what it runs still."""
        try:
            self._peer.send(b"over")
        except ConnectionError:
            pass
        self._peer.close()


def _join(address: str, wish: dict[str, Any]) -> _star.Peer:
    try:
        peer = _star.join((address, port()), 0, _star.secret(), _PATIENCE)
        peer.send(json.dumps(wish).encode())
    except ConnectionError as error:
        cause = error.__cause__ or error
        raise ConnectionError(
            f"the launcher on node {address} was not reached at port {port()}: {cause}; see that node's "
            "lines in the log, and whether the port is open"
        ) from error
    return peer


def ask(arguments: list[str]) -> int:
    """Runs a command there; its exit code, 255 where that is not known."""
    host, command = _parse(arguments)
    try:
        peer = _join(host, {"command": command})
        while True:
            told = peer.receive()
            kind, data = told[:1], told[1:]
            if kind == _CODE:
                return int(data)
            target = sys.stdout.buffer if kind == _OUT else sys.stderr.buffer
            target.write(data)
            target.flush()
    except ConnectionError as error:
        print(f"ERROR: node {host}: {error}", file=sys.stderr, flush=True)
        return _GONE


def _parse(arguments: list[str]) -> tuple[str, str]:
    words = list(arguments)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if len(option) == 2 and option[1] in _WITH_VALUE and words:
            words.pop(0)
    if len(words) < 2:
        raise SystemExit("usage: python3 -m det.launch._shell HOST COMMAND...")
    return words[0].rpartition("@")[2], " ".join(words[1:])


# The nodes that serve.


def serve(env: Mapping[str, str]) -> Outcome:
    """On a node that is not the first: runs what the first one asks for until its launcher says that all
    is over; then what still runs is killed. env: of what is run.
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
    """accept() and what it starts run on threads of their own."""

    def __init__(self, env: dict[str, str]) -> None:
        self._env = env
        self._key = _star.secret()
        self._lock = threading.RLock()  # A signal may come while it is held.
        self._running: list[subprocess.Popen[bytes]] = []
        # None: the first node's launcher watches.
        self._events: queue.SimpleQueue[Outcome | None] = queue.SimpleQueue()

    def wait(self) -> Outcome:
        patience: float | None = _PATIENCE
        while True:
            try:
                outcome = self._events.get(timeout=patience)
            except queue.Empty:
                words = f"the first node's launcher did not come within {_PATIENCE:.0f} s"
                return Outcome(1, words)
            if outcome is not None:
                return outcome
            patience = None

    def stop(self, number: int, _: Any) -> None:
        """By a signal: the ranks may save what they have."""
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
                return  # It is closed: all is over.
            threading.Thread(target=self._meet, args=(connection,), daemon=True).start()

    def _meet(self, connection: socket.socket) -> None:
        try:
            peer = _star.admit(connection, self._key)
            wish = json.loads(peer.receive())
        except (OSError, ValueError):
            connection.close()  # Whoever it is, it does not know the secret.
            return
        if wish.get("watch"):
            self._watch(peer)
        else:
            self._run(peer, str(wish["command"]))
        peer.close()

    def _watch(self, peer: _star.Peer) -> None:
        self._events.put(None)
        try:
            peer.receive()
            self._events.put(Outcome())
        except ConnectionError:
            words = "the first node's launcher has gone; see its lines in the log for why"
            self._events.put(Outcome(1, words))

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
            return  # Who asked has gone, and the command goes with it.


def _end_with(peer: _star.Peer, process: subprocess.Popen[bytes]) -> None:
    """A command ends with who asked for it."""
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
    """To the command and what it has started."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


if __name__ == "__main__":
    sys.exit(ask(sys.argv[1:]))
