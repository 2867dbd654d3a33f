"""Limits on connections: descriptors are few, and one address must not take all of them.

Each connection takes a descriptor, and so does each file of the database. Without limits, one address with a thousand
idle connections would leave none for anybody else.
"""

import ipaddress
import resource
from collections import Counter
from typing import Protocol

from eitr.server.domain.limits import network_of

MOST_DESCRIPTORS = 65_536
"""More are not asked for; each costs memory of the kernel."""
RESERVED = 128
"""Descriptors for everything but connections: the database, threads, files."""
LONGEST_BACKLOG = 2048
MOST_OF_ADDRESS = 256


class Connection(Protocol):
    """A connection that can be closed."""

    def drop(self) -> None:
        """Close it."""


class ConnectionLimit:
    """Counts the connections of a process.

    An address may have so many, unless it is that of a reverse proxy, which speaks for many people. When all places are
    taken, whoever has waited longest without a request gives theirs to the next one.
    """

    def __init__(self, most: int, of_address: int, backlog: int, proxies: str = "") -> None:
        self.most, self.of_address, self.backlog = most, of_address, backlog
        self._proxies = _Proxies(proxies)
        self._open: Counter[str] = Counter()
        self._idle: dict[Connection, None] = {}

    def opened(self, address: str) -> bool:
        """Count a connection, and make room for it; say whether it may stay. `closed` must follow in any case."""
        network = network_of(address)
        self._open[network] += 1
        if self._open[network] > self.of_address and address not in self._proxies:
            return False
        if self._open.total() <= self.most:
            return True
        oldest = next(iter(self._idle), None)
        if oldest is None:
            return False
        del self._idle[oldest]
        oldest.drop()
        return True

    def closed(self, address: str, connection: Connection) -> None:
        """Count one less."""
        network = network_of(address)
        self._open[network] -= 1
        if not self._open[network]:
            del self._open[network]
        self._idle.pop(connection, None)

    def waits(self, connection: Connection) -> None:
        """Note that nothing is done for a connection: it can be closed without harm."""
        self._idle.pop(connection, None)
        self._idle[connection] = None

    def works(self, connection: Connection) -> None:
        """Note that a request of a connection is being answered."""
        self._idle.pop(connection, None)


class _Proxies:
    """The addresses of reverse proxies, as the setting lists them."""

    def __init__(self, listed: str) -> None:
        self._networks = []
        parts = [part.strip() for part in listed.split(",")]
        self._all = "*" in parts
        for part in parts:
            try:
                self._networks.append(ipaddress.ip_network(part, strict=False))
            except ValueError:
                continue  # the name of a host or of a socket, which no connection has as its address

    def __contains__(self, address: str) -> bool:
        if self._all:
            return True
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._networks)


def raise_descriptor_limit() -> int:
    """Let this process have as many descriptors as it may ask for; return how many these are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        return allowed
    return MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


def for_descriptors(descriptors: int, proxies: str) -> ConnectionLimit:
    """Return limits that so many descriptors are enough for.

    >>> limit = for_descriptors(1024, "127.0.0.1")
    >>> limit.most, limit.of_address, limit.backlog
    (640, 160, 128)
    """
    backlog = max(16, min(LONGEST_BACKLOG, descriptors // 8))
    # All that wait are accepted at once, and before those that are refused are closed, as many again may come.
    most = max(16, descriptors - 2 * backlog - RESERVED)
    return ConnectionLimit(most, min(MOST_OF_ADDRESS, most // 4), backlog, proxies)
