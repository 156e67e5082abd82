"""Free TCP ports of this machine, for ranks that have not started yet."""

from __future__ import annotations

import random
import socket

_MIN_PORT = 10240
_DEFAULT_EPHEMERAL = 32768
_MAX_ATTEMPTS = 1000


def free_ports(count: int) -> list[int]:
    """Returns consecutive ports that are free on all addresses.

    They are below the ephemeral range: importing torch takes seconds, in which the system might
    give an ephemeral port to another connection.

    Raises:
        OSError: There are no such ports.
    """
    end = max(_first_ephemeral(), _MIN_PORT + count + 1)
    for _ in range(_MAX_ATTEMPTS):
        first = random.SystemRandom().randrange(_MIN_PORT, end - count)
        if all(_is_free(first + i) for i in range(count)):
            return [first + i for i in range(count)]
    raise OSError(f"no {count} consecutive free ports in {_MIN_PORT}..{end - 1}")


def _first_ephemeral() -> int:
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
            return int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return _DEFAULT_EPHEMERAL


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("", port))
        except OSError:
            return False
    return True
