"""What is known of whether a page can still be read."""

from enum import StrEnum


class PageState(StrEnum):
    """As the last check found it."""

    UNKNOWN = "unknown"
    LIVE = "live"
    DEAD = "dead"
