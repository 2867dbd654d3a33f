"""Tables as CSV, streamed: a batch of rows at a time, each in a transaction of its own, so that a slow reader holds
no connection. A spreadsheet runs a cell that begins like a formula: such texts get an apostrophe in front.
"""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, tuple_
from sqlalchemy.orm import InstrumentedAttribute

from eitr.server.db.connection import Database

BATCH = 1000
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table: its query, and the columns that tell rows apart, which come first and in this order."""

    query: "Select[*tuple[Any, ...]]"
    keys: Sequence[InstrumentedAttribute[Any]]


def cell(value: Any) -> str:
    """Return a value as the text of a cell.

    >>> cell("=1+1"), cell(-1.5), cell(None), cell({"a": 1})
    ("'=1+1", '-1.5', '', '{"a": 1}')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    text = value if isinstance(value, str) else json.dumps(value)
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA) else text


def rows_of(database: Database, sheet: Sheet) -> Iterator[str]:
    """Yield a table as CSV."""
    yield _lines([[column["name"] for column in sheet.query.column_descriptions]])
    after: tuple[Any, ...] | None = None
    while True:
        query = sheet.query.order_by(*sheet.keys).limit(BATCH)
        if after is not None:
            query = query.where(tuple_(*sheet.keys) > after)
        with database.reading() as session:
            rows = session.execute(query).all()
        if rows:
            after = tuple(rows[-1][: len(sheet.keys)])
            yield _lines([[cell(value) for value in row] for row in rows])
        if len(rows) < BATCH:
            return


def csv_text(rows: Sequence[Sequence[Any]]) -> str:
    """Return a small table as CSV.

    >>> csv_text([("url", "finished"), ("=evil", True)])
    "url,finished\\r\\n'=evil,yes\\r\\n"
    """
    return _lines([[cell(value) for value in row] for row in rows])


def _lines(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
