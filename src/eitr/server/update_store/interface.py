"""What every store of updates does, and the names of its objects."""

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from eitr.errors import InputError

NAME = re.compile(r"([0-9a-f]{16})/([1-9][0-9]{0,9})/([0-9a-f]{32})")
"""The name of an object: the store that has it, the round, and random digits."""
MARKER = "store"
"""The object that says whose store this is."""
Range = tuple[int, int]
"""Where the bytes of an update are in an object: their offset and their number."""


class StoreUnavailableError(Exception):
    """The store does not answer, is full, or is not the one that has the object: to try again may help."""


class MissingObjectError(Exception):
    """The store has no such object."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object that a store has."""

    name: str
    round: int
    written: datetime


class UpdateStore(Protocol):
    """Keeps objects, which are written once. All calls may be made from several threads and processes at a time."""

    id: str
    """Which store this is: 16 hexadecimal digits, in the names of its objects."""

    def put(self, name: str, parts: Sequence[bytes | bytearray]) -> None:
        """Write an object; when this returns, it survives a crash of the machine."""

    def get(self, name: str) -> bytes:
        """Return an object; raise a `MissingObjectError` if there is none."""

    def overwrite(self, name: str, ranges: Sequence[Range]) -> None:
        """Overwrite parts of an object with zeros; one that is not there any more is fine.

        Not by two callers at a time on one object.
        """

    def delete(self, name: str) -> None:
        """Delete an object; one that is not there any more is fine."""

    def objects(self) -> Iterator[StoredObject]:
        """Yield all objects."""


def new_name(store: UpdateStore, round: int) -> str:
    """Return a name for a new object of a round."""
    return f"{store.id}/{round}/{secrets.token_hex(16)}"


def path_of(name: str, store: str) -> str:
    """Return the path of an object within a store: what the database says is checked before it becomes a path.

    >>> path_of("0123456789abcdef/7/" + "a" * 32, "0123456789abcdef")
    '7/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
    """
    found = NAME.fullmatch(name)
    if found is None:
        raise MissingObjectError(f"{name[:80]!r} is not the name of an object")
    if found[1] != store:
        raise StoreUnavailableError(
            "updates of the open round are in another store than this process uses: set EITR_UPDATE_STORE to the same "
            "folder or bucket for all processes"
        )
    return f"{found[2]}/{found[3]}"


def object_at(path: str, store: str, written: datetime) -> StoredObject | None:
    """Return the object at a path within a store; None if the path is not one of an object."""
    name = f"{store}/{path}"
    found = NAME.fullmatch(name)
    return None if found is None else StoredObject(name, int(found[2]), written)


def new_marker(owner: str) -> str:
    """Return the content of a new store's marker: whose store it is, and its id."""
    return f"{owner} {secrets.token_hex(8)}\n"


def id_in(marker: str, owner: str, place: str) -> str:
    """Return the id in a store's marker; refuse a store of another server, whose sweeps would delete our updates."""
    found = re.fullmatch(r"([0-9a-f]+) ([0-9a-f]{16})\n", marker)
    if found is None:
        raise InputError(f"{place}: the object {MARKER!r} is damaged; choose an empty place with EITR_UPDATE_STORE")
    if found[1] != owner:
        raise InputError(
            f"{place} keeps the updates of a server with another key: copy server.key from its folder if this is to be "
            "the same server, else choose another place with EITR_UPDATE_STORE"
        )
    return found[2]
