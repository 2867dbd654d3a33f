"""The current time, in one place, so that tests can change it."""

from datetime import UTC, datetime


def now() -> datetime:
    """Return the current time, in UTC."""
    return datetime.now(UTC)
