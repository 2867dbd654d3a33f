"""Limits on what one network address may do.

Enrolments are counted in the database, under a keyed hash of the address, so that several processes, and one
after a restart, count together. Other requests are counted in memory, which costs nothing.
"""

import ipaddress
import time
from collections import OrderedDict
from datetime import timedelta
from typing import Any

from sqlalchemy import delete
from sqlalchemy.dialects import postgresql, sqlite

from eitr.server.db.connection import Database
from eitr.server.db.tables import LimitRow
from eitr.server.domain.clock import now
from eitr.server.domain.errors import LimitReachedError
from eitr.server.domain.keys import Key

HOUR = 3600
MINUTE = 60.0
MOST_ADDRESSES = 100_000
WRONG_CODES = 100
"""Wrong invitation codes from one address in an hour."""


def network_of(address: str) -> str:
    """Return what counts as one address: an IPv4 address, or the /64 network of an IPv6 address.

    >>> network_of("2001:db8:1:2:3:4:5:6"), network_of("192.0.2.7"), network_of("?")
    ('2001:db8:1:2::/64', '192.0.2.7', '?')
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    if found.version == 6:
        mapped = found.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def prefix_of(address: str) -> str:
    """Return the network of an address, which one organisation or person may have all of: /24, or /48 with IPv6.

    >>> prefix_of("2001:db8:1:2:3:4:5:6"), prefix_of("192.0.2.7"), prefix_of("::ffff:192.0.2.7"), prefix_of("?")
    ('2001:db8:1::/48', '192.0.2.0/24', '192.0.2.0/24', '?')
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:100]
    if found.version == 6:
        if found.ipv4_mapped is None:
            return str(ipaddress.ip_network((found, 48), strict=False))
        found = found.ipv4_mapped
    return str(ipaddress.ip_network((found, 24), strict=False))


class EnrolmentLimit:
    """Limits what one address may do in an hour: enrol without an invitation, and try wrong codes.

    Whoever has a valid code is never refused: a school may be one address, and somebody there may type nonsense. Codes
    have 144 random bits, so that the limit on wrong ones only spares the server work.
    """

    def __init__(self, database: Database, key: Key, most: int) -> None:
        self._database, self._key, self._most = database, key, most

    def count(self, address: str) -> None:
        """Count an enrolment without an invitation; refuse it if there were too many in this hour."""
        told = f"One address may enrol {self._most} participants per hour. Try again later."
        self._count("enrolment", address, self._most, told)

    def count_wrong_code(self, address: str) -> None:
        """Count a wrong code; refuse it if there were too many in this hour."""
        self._count("wrong code", address, WRONG_CODES, "Too many wrong codes came from your address. Try again later.")

    def _count(self, purpose: str, address: str, most: int, told: str) -> None:
        moment = now()
        stretch = int(moment.timestamp()) // HOUR
        hashed = self._key.hash(purpose, network_of(address))
        with self._database.writing() as session:
            session.execute(delete(LimitRow).where(LimitRow.expires < moment))
            # One statement: many may come at once, and be the first.
            insert: Any = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[session.get_bind().dialect.name]
            expires = moment + timedelta(seconds=HOUR)
            first = insert(LimitRow).values(key=hashed, stretch=stretch, count=1, expires=expires)
            more = first.on_conflict_do_update(index_elements=["key", "stretch"], set_={"count": LimitRow.count + 1})
            if session.scalars(more.returning(LimitRow.count)).one() > most:
                raise LimitReachedError(told, retry_after=HOUR - int(moment.timestamp()) % HOUR)


class RequestLimit:
    """Limits the requests from one address in a minute, as a token bucket."""

    def __init__(self, most: int) -> None:
        self._most = float(most)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allowed(self, address: str) -> bool:
        """Count one; say whether it may be answered."""
        key, moment = network_of(address), time.monotonic()
        left, since = self._left.pop(key, (self._most, moment))
        left = min(self._most, left + (moment - since) * self._most / MINUTE)
        self._left[key] = (left - 1 if left >= 1 else left, moment)
        if len(self._left) > MOST_ADDRESSES:
            self._left.popitem(last=False)
        return left >= 1
