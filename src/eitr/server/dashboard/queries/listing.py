"""Long lists, a page at a time."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Query
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

PER_PAGE = 50
Page = Annotated[int, Query(alias="page", ge=1, le=1_000_000)]


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of a list."""

    rows: list[Any]
    page: int
    total: int

    @property
    def pages(self) -> int:
        """How many pages there are; an empty list has one."""
        return max(1, -(-self.total // PER_PAGE))

    @property
    def first(self) -> int:
        """The number of the first row of this page, from 1."""
        return (self.page - 1) * PER_PAGE + 1

    @property
    def last(self) -> int:
        """The number of the last row of this page."""
        return min(self.total, self.page * PER_PAGE)


def paged(session: Session, query: "Select[*tuple[Any, ...]]", page: int, *, rows: bool = False) -> Listing:
    """Run a query for one page; after the last comes the last again. `rows`: whole rows, not their first column."""
    total = session.scalar(select(func.count()).select_from(query.order_by(None).subquery())) or 0
    page = min(page, Listing([], 1, total).pages)
    wanted = query.limit(PER_PAGE).offset((page - 1) * PER_PAGE)
    found = session.execute(wanted).all() if rows else session.scalars(wanted).all()
    return Listing(list(found), page, total)


def cut(rows: list[Any], page: int) -> Listing:
    """Return one page of rows that are all there; after the last comes the last again."""
    page = min(page, Listing([], 1, len(rows)).pages)
    return Listing(rows[(page - 1) * PER_PAGE : page * PER_PAGE], page, len(rows))
