"""Runs the ranks of a node together and passes on what they write, each line with its rank.

One that fails takes the others down: what it wrote is passed on first, then the others get SIGTERM,
and SIGKILL after a grace period. One that says it failed because another has gone may end before
that other: it is waited for a moment, to be named in its place. SIGTERM and SIGINT to the launcher
are passed on as SIGTERM; after that nobody is killed here.
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
from typing import IO, Any, Protocol

GRACE = 2.0  # Seconds between SIGTERM and SIGKILL.
_CAUSE = 5.0  # Seconds for the end of a rank that another has lost.
_BLOCK = 1 << 16
_LONGEST_LINE = 1 << 20
_LAST_BLOCKS = 64  # More than a pipe holds: what a rank has left behind.
# The last words of a rank that lost another: ours, gloo's, NCCL's, Horovod's, the sockets'.
_OTHER_GONE = re.compile(
    rb"rank \d+ has gone \(|[Cc]onnection closed by|[Cc]onnection reset by peer|Broken pipe"
    rb"|remote process exited|ncclRemoteError|HorovodInternalError"
)


# What wraps a rank that a program has started says of its end (_engine.py), in one of that program's lines.
_RANK_FAILED = re.compile(rb"ERROR: (rank \d+ failed: .*)")


@dataclasses.dataclass
class Rank:
    """One process to be: its number, command, and all of its environment. Without a number it is a
    program that starts ranks, whose lines are passed on as they are.
    """

    rank: int | None
    command: list[str]
    env: dict[str, str]


@dataclasses.dataclass
class Outcome:
    """code: for our own exit. failure: in words, which rank failed first; empty if none did."""

    code: int = 0
    failure: str = ""


class _Pipe:
    """Copies lines of one rank to one of our outputs."""

    def __init__(self, source: IO[bytes], target: IO[bytes], rank: int | None) -> None:
        self.source, self._target = source, target
        self._prefix = b"" if rank is None else f"[rank={rank}] ".encode()
        self._rest = b""
        self.last = b""  # The last line that says something.
        self.failed: list[bytes] = []  # What ranks that a program has started died of.
        os.set_blocking(source.fileno(), False)

    def copy(self) -> bool:
        """A block of what there is, so that no rank's output keeps us from the others; False at
        its end.
        """
        return self._copy(1)

    def _copy(self, blocks: int) -> bool:
        for _ in range(blocks):
            try:
                block = os.read(self.source.fileno(), _BLOCK)
            except BlockingIOError:
                return True
            self._write(block)
            if not block:
                return False
        return True

    def _write(self, block: bytes) -> None:
        lines = (self._rest + block).split(b"\n")
        self._rest = lines.pop()
        if not block or len(self._rest) > _LONGEST_LINE:
            if self._rest:
                lines.append(self._rest)
            self._rest = b""
        if lines:
            self._target.write(b"".join(self._prefix + line + b"\n" for line in lines))
            self._target.flush()
            self.last = next((line for line in reversed(lines) if line.strip()), self.last)
            if not self._prefix:
                found = map(_RANK_FAILED.search, lines)
                self.failed += [match.group(1) for match in found if match]

    def finish(self) -> None:
        """What is left of a rank that has ended; its children may go on writing for ever."""
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
        """It has ended: the rest of its output, and its exit code."""
        code = self.process.wait()
        for pipe in self.pipes:
            pipe.finish()
        os.close(self.pidfd)
        self.alive = False
        return code

    def lost_another(self, code: int) -> bool:
        """Whether it failed only because another rank has gone, as far as its last line tells."""
        return code > 0 and _OTHER_GONE.search(self.pipes[1].last) is not None

    def words(self, code: int) -> str:
        ranks = [words for pipe in self.pipes for words in pipe.failed]
        if ranks:
            cause = next((words for words in ranks if not _OTHER_GONE.search(words)), ranks[0])
            return cause.decode(errors="replace").strip()
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        last = self.pipes[1].last.decode(errors="replace").strip()
        return f"{self.name} failed: {how}" + (f": {last}" if last else "")


class Watched(Protocol):
    """What the ranks cannot do without: once its fileno() can be read it has gone."""

    def fileno(self) -> int: ...

    def words(self) -> str:
        """What is said then."""


def run(ranks: list[Rank], grace: float = GRACE, watched: Sequence[Watched] = ()) -> Outcome:
    """Returns when all have ended. Raises OSError when one cannot be started; none is left then."""
    running: list[_Running] = []
    stopped: list[int] = []

    def stop(number: int, _: Any) -> None:
        stopped.append(number)
        for other in running:
            other.signal(signal.SIGTERM)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        for rank in ranks:
            running.append(_Running(rank))
        if stopped:  # One that has come meanwhile missed those that were not there yet.
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
    """Which rank is named, and what becomes of the others."""

    def __init__(self, running: list[_Running], grace: float) -> None:
        self._running, self._grace = running, grace
        self._next: signal.Signals | None = None  # What the others get at the deadline.
        self._deadline = 0.0
        self.outcome = Outcome()

    def left(self) -> float | None:
        """Seconds until something is to be done; None: nothing is."""
        return None if self._next is None else max(self._deadline - time.monotonic(), 0)

    def add(self, one: _Running, code: int, stopped: bool) -> None:
        """One failed. stopped: the others are saving, for as long as the agent lets them."""
        first = not self.outcome.failure
        if not first and self._next != signal.SIGTERM:
            return
        consequence = one.lost_another(code)
        if first or not consequence:
            self.outcome = Outcome(code if code > 0 else 128 - code, one.words(code))
        if stopped:
            return
        if not consequence:
            self._signal(signal.SIGTERM)
        elif first:
            self._after(_CAUSE, signal.SIGTERM)

    def lose(self, one: Watched) -> None:
        """Without which the ranks are of no use."""
        if not self.outcome.failure:
            self.outcome = Outcome(1, one.words())
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
    """stopped: gets the signal that we pass on, when it comes."""
    failure = _Failure(running, grace)
    with selectors.DefaultSelector() as selector:
        for other in watched:
            selector.register(other.fileno(), selectors.EVENT_READ, other)
        for one in running:
            selector.register(one.pidfd, selectors.EVENT_READ, one)
            for pipe in one.pipes:
                selector.register(pipe.source, selectors.EVENT_READ, pipe)
        while any(one.alive for one in running):
            events = selector.select(failure.left())
            # Output first: of a rank that has ended it belongs before its end.
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
