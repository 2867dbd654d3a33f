"""What time it is: one place, so that tests can move it."""

from datetime import UTC, datetime


def now() -> datetime:
    """Return the present moment, in UTC."""
    return datetime.now(UTC)
