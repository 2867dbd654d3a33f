"""Conditional requests: an answer that the client has already is not sent again."""

from typing import Annotated, Any

from fastapi import Header

NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "As it was."}}
"""What OpenAPI says of it."""

IfNoneMatch = Annotated[str | None, Header(alias="If-None-Match", max_length=1000)]


def matches(seen: str | None, etag: str) -> bool:
    """Compare as If-None-Match does: any of a list, weak or not, or `*`."""
    if seen is None:
        return False
    return any(one.strip().removeprefix("W/") in (etag, "*") for one in seen.split(","))
