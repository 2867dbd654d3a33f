"""The six classes a page can have, in the order every vector of probabilities uses.

The five sensitive topics follow Article 9 of the GDPR. The order is part of the protocol: changing it changes
the meaning of every stored model.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """One class: its name in files and on the wire, its badge, and the words people read."""

    name: str
    letter: str
    """The letter on the browser's badge; empty for pages that are not sensitive."""
    colour: str
    """The badge colour; white text on it has a contrast of at least 4.5:1 (WCAG AA)."""
    title: str
    about: str
    """Completes the sentence "This page is about ..."."""


TOPICS: tuple[Topic, ...] = (
    Topic("health", "H", "#b3261e", "Health", "health, illness or medical care"),
    Topic("politics", "P", "#1f5fae", "Politics", "political opinions, parties or elections"),
    Topic("religion", "R", "#6b4fa0", "Religion", "religious or philosophical beliefs"),
    Topic("sexual-orientation", "S", "#a8327e", "Sexual orientation", "sexual orientation or sex life"),
    Topic("ethnicity", "E", "#8a5200", "Ethnicity", "racial or ethnic origin"),
    Topic("non-sensitive", "", "#5f6368", "Not sensitive", "nothing that the GDPR calls sensitive"),
)

NAMES: tuple[str, ...] = tuple(topic.name for topic in TOPICS)
NON_SENSITIVE: int = len(TOPICS) - 1


def index_of(name: str) -> int:
    """Return the position of a class in every probability vector.

    >>> index_of("religion")
    2
    """
    return NAMES.index(name)
