"""Copies of the lines that this process prints, for the log of its run."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any, Callable, TextIO

# Receives "stdout" or "stderr", and a line without its newline.
Receive = Callable[[str, str], None]
_MAX_LINE = 1 << 16  # Characters; a longer line is split.


class Output:
    """Passes on what is written to sys.stdout and sys.stderr, and gives each line to a function.

    Output of other programs that this process starts is not seen.
    """

    def __init__(self, receive: Receive) -> None:
        self._streams = [
            _Stream(name, getattr(sys, name), receive) for name in ("stdout", "stderr")
        ]
        for stream in self._streams:
            setattr(sys, stream.kind, stream)

    def close(self) -> None:
        """Restores sys.stdout and sys.stderr, unless others have replaced them since."""
        for stream in self._streams:
            stream.end()
            if getattr(sys, stream.kind) is stream:
                setattr(sys, stream.kind, stream.original)


class _Stream:
    """A text stream that also splits its text into lines."""

    def __init__(self, kind: str, original: TextIO, receive: Receive) -> None:
        self.kind, self.original = kind, original
        self._process = os.getpid()
        self._receive: Receive | None = receive
        self._lock = threading.RLock()
        self._rest = ""

    def write(self, text: str) -> int:
        written = self.original.write(text)
        if os.getpid() != self._process:  # Another thread may have held the lock at the fork.
            return written
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
            if len(self._rest) > _MAX_LINE:
                lines, self._rest = [*lines, self._rest], ""
        # Without the lock: who receives a line may wait for a thread that prints.
        for line in lines:
            self._give(line)
        return written

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def end(self) -> None:
        """Gives the text after the last newline; later text is only passed on."""
        with self._lock:
            rest, self._rest = self._rest, ""
        if rest:
            self._give(rest)
        self._receive = None

    def _give(self, line: str) -> None:
        receive = self._receive
        if receive is not None:
            # A progress bar overwrites its line; the last state is the one to keep.
            shown = line.rstrip("\r").rpartition("\r")[2]
            # The master accepts no lone surrogates, which stderr prints like this.
            receive(self.kind, shown.encode(errors="backslashreplace").decode())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)
