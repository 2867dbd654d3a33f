"""Sending a message to every node and collecting the replies, with an end.

Flower's own `send_and_receive` pulls all replies in one call, in which one damaged reply raises and loses the others,
and a node that restarts after it took its message is lost for the round. Here each reply is pulled by itself, and a
node that comes back is sent the message again.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from logging import INFO, WARNING
from typing import Any, Final, TypeAlias

from flwr.app import ConfigRecord, Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid
from flwr.supercore import log
from google.protobuf.message import DecodeError

from eitr.errors import InputError

POLL_SECONDS = 1.0
EXPIRES_AFTER: Final = 60.0
"""Seconds after a round during which the SuperLink keeps its messages: clocks of machines differ."""
FINGERPRINT_DIGITS: Final = 32
LOST: Final = (ErrorCode.MESSAGE_UNAVAILABLE, ErrorCode.REPLY_MESSAGE_UNAVAILABLE, ErrorCode.NODE_UNAVAILABLE)
"""What the SuperLink answers in place of a node that has disconnected."""
DAMAGED: Final = (ValueError, TypeError, LookupError, AttributeError, RecursionError, DecodeError)
"""What Flower raises on a reply that it cannot put together. Trouble with the SuperLink, or a run that was stopped, is
none of these, and no evidence against a node."""

Answer: TypeAlias = RecordDict | str
"""The content of a reply, or why there is none that could be read."""


@dataclass(frozen=True, slots=True, order=True)
class Member:
    """A node that is connected."""

    id: str
    """Whose reputation it is: the fingerprint of its public key, which stays when node or SuperLink restarts."""
    node: int
    """Flower's number of the node."""
    name: str = ""
    activated: str = ""
    """When it connected: another time than before means that it restarted."""


def fingerprint(public_key: bytes) -> str:
    """Return what reputations are stored under: the first digits of the SHA-256 of a node's public key."""
    return hashlib.sha256(public_key).hexdigest()[:FINGERPRINT_DIGITS]


def members(grid: Grid) -> list[Member]:
    """Return the connected nodes, in the order of their ids."""
    return sorted(
        Member(
            fingerprint(node.public_key) if node.public_key else f"node-{node.node_id}",
            node.node_id,
            node.name,
            node.last_activated_at,
        )
        for node in grid.get_nodes()
    )


def wait_for_members(grid: Grid, wanted: int, seconds: float) -> list[Member]:
    """Return the connected nodes as soon as there are enough of them, or those that are there after so many seconds."""
    end = time.monotonic() + seconds
    told = False
    while len(found := members(grid)) < wanted and time.monotonic() < end:
        if not told:
            log(INFO, "%s of %s nodes are connected; waiting at most %.0f seconds", len(found), wanted, seconds)
            told = True
        time.sleep(POLL_SECONDS)
    return found


def ask(
    grid: Grid, chosen: Iterable[Member], make: Callable[[Member], Message], *, seconds: float, patience: float
) -> Mapping[str, Answer]:
    """Send each node a message; return the replies by the node's id, when all are there or the time is over.

    A node that disconnects is waited for `patience` seconds at most. Who does not answer, or answers that it failed, is
    not in the result. A reply that cannot be read is a string.
    """
    return _Exchange(grid, list(chosen), make, patience).collect(seconds)


class _Exchange:
    def __init__(self, grid: Grid, chosen: list[Member], make: Callable[[Member], Message], patience: float) -> None:
        self._grid, self._make, self._patience = grid, make, patience
        self._waiting = {member.id: member for member in chosen}
        self._gone: dict[str, float] = {}
        """Until when we wait for a node that has disconnected."""
        self._sent: dict[str, str] = {}
        """Whose reply to a message id would be."""
        self._answers: dict[str, Answer] = {}

    def collect(self, seconds: float) -> Mapping[str, Answer]:
        end = time.monotonic() + seconds
        for member in list(self._waiting.values()):
            self._send(member)
        while self._waiting:
            self._pull()
            self._give_up()
            if not self._waiting or time.monotonic() >= end:
                break
            time.sleep(POLL_SECONDS)
            self._send_again()
        for id in self._waiting:
            log(WARNING, "node %s did not answer in time", id)
        return dict(sorted(self._answers.items()))

    def _send(self, member: Member) -> None:
        for message in self._grid.push_messages([self._make(member)]):
            if message is not None:
                self._sent[message] = member.id

    def _send_again(self) -> None:
        """Send to nodes that have restarted since: what they had been sent is lost."""
        for member in members(self._grid):
            before = self._waiting.get(member.id)
            if before is not None and before.activated != member.activated:
                log(INFO, "node %s has restarted and is sent the message again", member.id)
                self._waiting[member.id] = member
                self._gone.pop(member.id, None)
                self._send(member)

    def _give_up(self) -> None:
        """Wait no longer for nodes that have been gone for too long."""
        for id, until in list(self._gone.items()):
            if time.monotonic() >= until:
                log(WARNING, "node %s has disconnected and does not come back", id)
                del self._gone[id], self._waiting[id]

    def _pull(self) -> None:
        for message, id in list(self._sent.items()):
            if id not in self._waiting:
                del self._sent[message]
                continue
            try:
                replies = list(self._grid.pull_messages([message]))
            except DAMAGED as error:
                replies = [f"sent a message that cannot be read: {type(error).__name__}"]
            for reply in replies:
                del self._sent[message]
                self._take(id, reply)

    def _take(self, id: str, reply: Any) -> None:
        if isinstance(reply, str):
            self._answers[id] = reply
        elif not reply.has_error():
            self._answers[id] = reply.content
        elif reply.error.code in LOST:
            if id not in self._sent.values():  # else it has restarted, and was sent another message
                self._gone.setdefault(id, time.monotonic() + self._patience)
            return
        else:
            log(WARNING, "node %s failed: %s", id, str(reply.error.reason)[:200])
        del self._waiting[id]
        self._gone.pop(id, None)


def instruction(content: RecordDict, kind: str, member: Member, number: int, seconds: float) -> Message:
    """Return the message of a round to a node; it expires a while after nobody waits for its answer any more."""
    return Message(content, member.node, kind, ttl=seconds + EXPIRES_AFTER, group_id=str(number))


def config_of(content: RecordDict, name: str) -> ConfigRecord:
    """Return a config record of a message; refuse a message without it."""
    found = content.get(name)
    if not isinstance(found, ConfigRecord):
        raise InputError(f"the message has no config record {name!r}")
    return found
