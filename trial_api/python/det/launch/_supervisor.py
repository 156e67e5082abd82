"""Runs the ranks of a node together and passes on what they write, each line with its rank.

One that fails takes the others down: what it wrote is passed on first, then the others get SIGTERM,
and SIGKILL after a grace period. SIGTERM and SIGINT to the launcher are passed on as SIGTERM; after
that nobody is killed here.
"""

from __future__ import annotations

import dataclasses
import os
import selectors
import signal
import subprocess
import sys
import time
from typing import IO, Any, Dict, List, Optional

GRACE = 2.0  # Seconds between SIGTERM and SIGKILL.
_BLOCK = 1 << 16
_LONGEST_LINE = 1 << 20
_LAST_BLOCKS = 64  # More than a pipe holds: what a rank has left behind.


@dataclasses.dataclass
class Rank:
    """One process to be: its number, command, and all of its environment. Without a number it is a
    program that starts ranks, whose lines are passed on as they are."""

    rank: Optional[int]
    command: List[str]
    env: Dict[str, str]


@dataclasses.dataclass
class Outcome:
    """code: for our own exit. failure: in words, which rank failed first; empty if none did."""

    code: int = 0
    failure: str = ""


class _Pipe:
    """Copies lines of one rank to one of our outputs."""

    def __init__(self, source: IO[bytes], target: IO[bytes], rank: Optional[int]) -> None:
        self.source, self._target = source, target
        self._prefix = b"" if rank is None else f"[rank={rank}] ".encode()
        self._rest = b""
        self.last = b""  # The last line that says something.
        os.set_blocking(source.fileno(), False)

    def copy(self) -> bool:
        """A block of what there is, so that no rank's output keeps us from the others; False at
        its end."""
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

    def words(self, code: int) -> str:
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        last = self.pipes[1].last.decode(errors="replace").strip()
        return f"{self.name} failed: {how}" + (f": {last}" if last else "")


def run(ranks: List[Rank], grace: float = GRACE) -> Outcome:
    """Returns when all have ended. Raises OSError when one cannot be started; none is left then."""
    running: List[_Running] = []
    stopped: List[int] = []

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
        outcome = _watch(running, grace, stopped)
    finally:
        for one in running:
            one.signal(signal.SIGKILL)
        for number, handler in before.items():
            signal.signal(number, handler)
    if stopped:
        return Outcome(128 + stopped[0])
    return outcome


def _watch(running: List[_Running], grace: float, stopped: List[int]) -> Outcome:
    """stopped: gets the signal that we pass on, when it comes."""
    outcome = Outcome()
    deadline: Optional[float] = None
    with selectors.DefaultSelector() as selector:
        for one in running:
            selector.register(one.pidfd, selectors.EVENT_READ, one)
            for pipe in one.pipes:
                selector.register(pipe.source, selectors.EVENT_READ, pipe)
        while any(one.alive for one in running):
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            events = selector.select(left)
            # Output first: of a rank that has ended it belongs before its end.
            for key, _ in events:
                if isinstance(key.data, _Pipe) and not key.data.copy():
                    selector.unregister(key.fileobj)
            for key, _ in events:
                if isinstance(key.data, _Running):
                    selector.unregister(key.fileobj)
                    code = key.data.end()
                    if code != 0 and not outcome.failure:
                        outcome = Outcome(code if code > 0 else 128 - code, key.data.words(code))
                        if stopped:  # The others are saving, for as long as the agent lets us.
                            continue
                        deadline = time.monotonic() + grace
                        for other in running:
                            other.signal(signal.SIGTERM)
            if deadline is not None and time.monotonic() >= deadline:
                deadline = None
                for other in running:
                    other.signal(signal.SIGKILL)
    return outcome
