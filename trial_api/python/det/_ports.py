"""TCP ports of this machine for ranks that are yet to start."""

from __future__ import annotations

import random
import socket

_LOWEST = 10240
_USUAL = 32768
_TRIES = 1000


def free_ports(count: int) -> list[int]:
    """So many that follow each other and that nobody has on any address now.

    Below those that the system gives out of itself: importing torch takes seconds, in which one of
    those would soon be some connection's.

    Raises:
        OSError: none were found.
    """
    end = max(_first_ephemeral(), _LOWEST + count + 1)
    for _ in range(_TRIES):
        first = random.SystemRandom().randrange(_LOWEST, end - count)
        if all(_is_free(first + i) for i in range(count)):
            return [first + i for i in range(count)]
    raise OSError(f"no {count} free ports that follow each other in {_LOWEST}..{end - 1}")


def _first_ephemeral() -> int:
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return _USUAL


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("", port))
        except OSError:
            return False
    return True
