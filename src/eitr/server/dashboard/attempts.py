"""Limits on attempts to sign in, from one address and for one name.

They are counted in memory. A restart forgets them, which does not help anybody to guess a password of twelve
characters.
"""

import threading
import time
from collections import OrderedDict

from eitr.server.domain.errors import BusyError, LimitReachedError
from eitr.server.domain.limits import network_of

MOST = 10
SECONDS = 15 * 60.0
MOST_REMEMBERED = 10_000
AT_ONCE = 2
"""Passwords hashed at a time: each takes 64 MiB of memory on purpose."""
WAIT_SECONDS = 5.0


class Attempts:
    """Counts attempts by address and by name; those that succeed do not count."""

    def __init__(self, most: int = MOST, seconds: float = SECONDS) -> None:
        self._most, self._seconds = most, seconds
        self._made: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()
        self._hashing = threading.BoundedSemaphore(AT_ONCE)

    def count(self, address: str, name: str | None = None) -> None:
        """Count one attempt; if there were too many, refuse it without counting it."""
        keys, moment = _keys(address, name), time.monotonic()
        with self._lock:
            recent = {key: [at for at in self._made.get(key, ()) if at > moment - self._seconds] for key in keys}
            full = [made[0] for made in recent.values() if len(made) >= self._most]
            if full:
                wait = int(max(full) + self._seconds - moment) + 1
                raise LimitReachedError(
                    f"Too many attempts. Wait {max(1, round(wait / 60))} minutes, then try again.", retry_after=wait
                )
            for key, made in recent.items():
                self._made[key] = [*made, moment]
                self._made.move_to_end(key)
            while len(self._made) > MOST_REMEMBERED:
                self._made.popitem(last=False)

    def succeeded(self, address: str, name: str | None = None) -> None:
        """Forget the attempts of somebody who knew the password in the end."""
        with self._lock:
            for key in _keys(address, name):
                self._made.pop(key, None)

    def __enter__(self) -> None:
        """Wait for a turn to hash a password."""
        if not self._hashing.acquire(timeout=WAIT_SECONDS):
            raise BusyError("Too many people are signing in. Try again in a minute.")

    def __exit__(self, *_: object) -> None:
        """Let the next one hash."""
        self._hashing.release()


def _keys(address: str, name: str | None) -> list[str]:
    found = [f"address {network_of(address)}"]
    return found if name is None else [*found, f"name {name[:100]}"]
