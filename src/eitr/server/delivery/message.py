"""What operators are told: the same words on every channel. No participant and no operator is named in them."""

import re
import textwrap
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

WIDTH = 76
LONGEST_SUBJECT = 120


class Event(StrEnum):
    """Why a message is sent."""

    RAISED = "raised"
    """A problem was found."""
    ENDED = "ended"
    """It has ended."""
    TEST = "test"
    """The operator wants to see whether messages arrive."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message about one problem."""

    id: str
    """The same if it is sent again because nobody knows whether it arrived."""
    event: Event
    kind: str
    """The name of this kind of problem, for programs."""
    what: str
    """What happened, in a sentence."""
    do: str
    """What to do about it."""
    raised: datetime
    ended: datetime | None = None
    severity: str = ""
    link: str = ""
    """Where the dashboard says more."""
    server: str = ""
    """The address of the server that sends it."""
    answers: str = ""
    """Of the end of a problem: the id of the message that it was raised with."""

    @property
    def subject(self) -> str:
        """One line: how the first sentence begins."""
        ahead = {Event.RAISED: "EITR: ", Event.ENDED: "EITR, ended: ", Event.TEST: "EITR, test: "}[self.event]
        first = re.split(r"[:.] ", self.what)[0].removesuffix(".")
        return textwrap.shorten(ahead + first, LONGEST_SUBJECT, placeholder=" ...")

    @property
    def text(self) -> str:
        """All of it, in lines that every mail program shows as they are."""
        parts = [self.what]
        if self.event is Event.ENDED:
            parts = [f"This problem has ended: {self.what}", "Nothing needs to be done."]
        elif self.do:
            parts.append(f"What to do: {self.do}")
        if self.link:
            parts.append(f"Details: {self.link}")
        times = f"Found at {written(self.raised)}."
        if self.ended is not None:
            times += f" Ended at {written(self.ended)}."
        parts.append(times)
        wrapped = [textwrap.fill(part, WIDTH, break_long_words=False, break_on_hyphens=False) for part in parts]
        return "\n\n".join(wrapped) + "\n"


class Channel(Protocol):
    """A way to operators."""

    @property
    def name(self) -> str:
        """Its name, as the dashboard shows it."""

    def send(self, message: Message) -> str:
        """Send a message within a time limit; return what went wrong for some recipients, or nothing.

        Raise a `DeliveryError` if it reached nobody.
        """


def written(moment: datetime) -> str:
    """Return a moment as people read it.

    >>> from datetime import UTC
    >>> written(datetime(2027, 3, 1, 9, 5, tzinfo=UTC))
    '1 Mar 2027, 09:05 UTC'
    """
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC"
