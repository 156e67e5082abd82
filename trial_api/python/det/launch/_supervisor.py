"""Runs the ranks of a node and forwards their output, each line with its rank.

If a rank fails, the supervisor forwards its output first, then sends SIGTERM to the other ranks
and, after a grace period, SIGKILL. A rank that fails because it lost another rank may exit before
that rank does: the supervisor waits a moment for the cause, to report it instead. SIGTERM and
SIGINT are forwarded as SIGTERM; after that the supervisor kills no rank.
"""

from __future__ import annotations

import dataclasses
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import IO, Protocol

GRACE = 2.0  # Seconds between SIGTERM and SIGKILL.
_CAUSE = 5.0  # Seconds to wait for the rank that another rank has lost.
_BLOCK = 1 << 16
_MAX_LINE = 1 << 20
_RETURN_DELAY = 0.1  # Seconds to wait for the rest of a \r\n.
_LAST_BLOCKS = 64  # More than a pipe can contain after a rank has exited.
# Errors of a rank that lost another: those of this package, Gloo, NCCL, Horovod and sockets.
_OTHER_GONE = re.compile(
    rb"rank \d+ was lost \(|[Cc]onnection closed by|[Cc]onnection reset by peer|Broken pipe"
    rb"|remote process exited|ncclRemoteError|HorovodInternalError"
)


# _engine.py prints such a line when a rank that another program has started fails.
_RANK_FAILED = re.compile(rb"ERROR: (rank \d+ failed: .*)")


@dataclasses.dataclass
class Rank:
    """A process to start.

    Attributes:
        rank: The rank; None for a program that starts ranks, whose output is forwarded unchanged.
        command: The command.
        env: Its complete environment.
    """

    rank: int | None
    command: list[str]
    env: dict[str, str]


@dataclasses.dataclass
class Outcome:
    """How the ranks ended.

    Attributes:
        code: The exit code of the launcher.
        failure: Which rank failed first, and how; empty if none failed.
    """

    code: int = 0
    failure: str = ""


class _Pipe:
    """Copies the lines of one rank to stdout or stderr."""

    def __init__(self, source: IO[bytes], target: IO[bytes], rank: int | None) -> None:
        self.source, self._target = source, target
        self._prefix = b"" if rank is None else f"[rank={rank}] ".encode()
        self._rest = b""
        self._read_at = 0.0
        self._flushed = b""  # The line that flush_return() has forwarded, if only \r followed.
        self.last = b""  # The last line that is not empty.
        self.failed: list[bytes] = []  # Failures of ranks that another program has started.
        os.set_blocking(source.fileno(), False)

    def copy(self) -> bool:
        """Copies one block, so that no rank's output delays the others; returns False at the end."""
        return self._copy(1)

    def _copy(self, blocks: int) -> bool:
        for _ in range(blocks):
            try:
                block = os.read(self.source.fileno(), _BLOCK)
            except BlockingIOError:
                return True
            self._read_at = time.monotonic()
            self._write(block)
            if not block:
                return False
        return True

    def flush_when_idle(self) -> float | None:
        """Calls flush_return() if the rank is idle; returns the seconds until the next call is due."""
        if not self._has_return():
            return None
        left = self._read_at + _RETURN_DELAY - time.monotonic()
        if left > 0:
            return left
        self.flush_return()
        return None

    def flush_return(self) -> None:
        r"""Forwards a line that ends in a \r, which may be the last state of a progress bar for long.

        If a \n follows, the line is forwarded again with it, because nothing overwrites it.
        """
        if self._has_return():
            self._flushed, self._rest = self._rest, b""
            self._forward([self._flushed])

    def _has_return(self) -> bool:
        return len(self._rest) > 1 and self._rest.endswith(b"\r")

    def _write(self, block: bytes) -> None:
        if self._flushed and block:
            block = block.lstrip(b"\r")
            if not block:
                return
            if block.startswith(b"\n"):
                self._rest = self._flushed[:-1]
            self._flushed = b""
        # A progress bar ends its lines by \r, which are lines of this rank, too.
        lines = (self._rest + block).splitlines(keepends=True)
        # The last line is not complete; a \r at its end may be the half of a \r\n.
        self._rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        if not block or len(self._rest) > _MAX_LINE:
            if self._rest:
                lines.append(self._rest.rstrip(b"\r") + b"\n")
            self._rest = b""
        self._forward([line for line in lines if line != b"\r"])

    def _forward(self, lines: list[bytes]) -> None:
        if lines:
            self._target.write(b"".join(self._prefix + line for line in lines))
            self._target.flush()
            self.last = next((line for line in reversed(lines) if line.strip()), self.last)
            if not self._prefix:
                found = map(_RANK_FAILED.search, lines)
                self.failed += [match.group(1) for match in found if match]

    def finish(self) -> None:
        """Copies what a rank that has exited has left; its children may keep the pipe open forever."""
        self._copy(_LAST_BLOCKS)
        self._write(b"")


class _Running:
    def __init__(self, rank: Rank) -> None:
        self.name = rank.command[0] if rank.rank is None else f"rank {rank.rank}"
        self.process = subprocess.Popen(
            rank.command, env=rank.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        self.pipes = [
            _Pipe(self.process.stdout, sys.stdout.buffer, rank.rank),
            _Pipe(self.process.stderr, sys.stderr.buffer, rank.rank),
        ]
        self.pidfd = os.pidfd_open(self.process.pid)
        self.alive = True

    def signal(self, number: int) -> None:
        if self.alive:
            self.process.send_signal(number)

    def end(self) -> int:
        """Copies the rest of the output of a process that has exited; returns its exit code."""
        code = self.process.wait()
        for pipe in self.pipes:
            pipe.finish()
        os.close(self.pidfd)
        self.alive = False
        return code

    def lost_another(self, code: int) -> bool:
        """Returns whether the last line shows that the rank failed because it lost another rank."""
        return code > 0 and _OTHER_GONE.search(self.pipes[1].last) is not None

    def describe(self, code: int) -> str:
        ranks = [line for pipe in self.pipes for line in pipe.failed]
        if ranks:
            cause = next((line for line in ranks if not _OTHER_GONE.search(line)), ranks[0])
            return cause.decode(errors="replace").strip()
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        last = self.pipes[1].last.decode(errors="replace").strip()
        return f"{self.name} failed: {how}" + (f": {last}" if last else "")


class Watched(Protocol):
    """Something that the ranks depend on. It is lost when its file descriptor becomes readable."""

    def fileno(self) -> int: ...

    def describe(self) -> str:
        """Returns the error to report when it is lost."""


def run(ranks: list[Rank], grace: float = GRACE, watched: Sequence[Watched] = ()) -> Outcome:
    """Runs processes until all have exited.

    Args:
        ranks: The processes to start.
        grace: The seconds between SIGTERM and SIGKILL.
        watched: What the ranks depend on: if one of these is lost, the ranks are ended.

    Raises:
        OSError: A process cannot be started. Those that had started are killed.
    """
    running: list[_Running] = []
    stopped: list[int] = []

    def stop(number: int, _: object) -> None:
        stopped.append(number)
        for other in running:
            other.signal(signal.SIGTERM)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        for rank in ranks:
            running.append(_Running(rank))
        if stopped:  # A signal that arrived meanwhile has not reached all of them.
            stop(stopped[0], None)
        outcome = _watch(running, grace, stopped, watched)
    finally:
        for one in running:
            one.signal(signal.SIGKILL)
        for number, handler in before.items():
            signal.signal(number, handler)
    if stopped:
        return Outcome(128 + stopped[0])
    return outcome


class _Failure:
    """Decides which failure to report, and ends the other ranks."""

    def __init__(self, running: list[_Running], grace: float) -> None:
        self._running, self._grace = running, grace
        self._next: signal.Signals | None = (
            None  # The signal to send to the others at the deadline.
        )
        self._deadline = 0.0
        self.outcome = Outcome()

    def left(self) -> float | None:
        """Returns the seconds until the deadline; None if there is none."""
        return None if self._next is None else max(self._deadline - time.monotonic(), 0)

    def add(self, one: _Running, code: int, stopped: bool) -> None:
        """Records a rank that failed.

        If `stopped`, the others are saving: the agent limits their time.
        """
        first = not self.outcome.failure
        if not first and self._next != signal.SIGTERM:
            return
        consequence = one.lost_another(code)
        if first or not consequence:
            self.outcome = Outcome(code if code > 0 else 128 - code, one.describe(code))
        if stopped:
            return
        if not consequence:
            self._signal(signal.SIGTERM)
        elif first:
            self._after(_CAUSE, signal.SIGTERM)

    def lose(self, one: Watched) -> None:
        """Records the loss of something that the ranks depend on."""
        if not self.outcome.failure:
            self.outcome = Outcome(1, one.describe())
        self._signal(signal.SIGTERM)

    def proceed(self) -> None:
        if self._next is not None and self.left() == 0:
            self._signal(self._next)

    def _signal(self, number: signal.Signals) -> None:
        for one in self._running:
            one.signal(number)
        self._next = None
        if number == signal.SIGTERM:
            self._after(self._grace, signal.SIGKILL)

    def _after(self, seconds: float, number: signal.Signals) -> None:
        self._next, self._deadline = number, time.monotonic() + seconds


def _watch(
    running: list[_Running], grace: float, stopped: list[int], watched: Sequence[Watched]
) -> Outcome:
    """Waits until all processes have exited. `stopped` receives the signal that is forwarded."""
    failure = _Failure(running, grace)
    with selectors.DefaultSelector() as selector:
        for other in watched:
            selector.register(other.fileno(), selectors.EVENT_READ, other)
        for one in running:
            selector.register(one.pidfd, selectors.EVENT_READ, one)
            for pipe in one.pipes:
                selector.register(pipe.source, selectors.EVENT_READ, pipe)
        while any(one.alive for one in running):
            pauses = [pipe.flush_when_idle() for one in running for pipe in one.pipes]
            pauses.append(failure.left())
            events = selector.select(min((p for p in pauses if p is not None), default=None))
            # Output comes first: that of a rank belongs before the message about its failure.
            for key, _ in events:
                if isinstance(key.data, _Pipe) and not key.data.copy():
                    selector.unregister(key.fileobj)
            for key, _ in events:
                if isinstance(key.data, _Running):
                    selector.unregister(key.fileobj)
                    code = key.data.end()
                    if code != 0:
                        failure.add(key.data, code, bool(stopped))
                elif not isinstance(key.data, _Pipe):
                    selector.unregister(key.fileobj)
                    failure.lose(key.data)
            failure.proceed()
    return failure.outcome
