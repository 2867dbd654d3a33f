"""The raw bytes of a database's files: what somebody finds who steals the disk."""

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import text

from eitr.server.db.connection import Database

PIECE = 64
"""Bytes that are looked for together: no page or chunk of a database is so short that it splits every piece."""


def found_in(database: Database, data: bytes, folder: Path | None = None) -> int:
    """Return how many pieces of some bytes are in the files of a database, and of a server's folder."""
    pieces = [data[start : start + PIECE] for start in range(0, len(data) - PIECE, len(data) // 20)]
    files = [*_files(database), *(() if folder is None else folder.rglob("*"))]
    contents = [_content(path) for path in files if path.is_file()]
    return sum(any(piece in content for content in contents) for piece in pieces)


def _files(database: Database) -> Iterator[Path]:
    """Yield the files of SQLite's folder, or those of all tables of a database in PostgreSQL."""
    if database.file is not None:
        yield from database.file.parent.rglob("*")
        return
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("CHECKPOINT"))  # what is in memory goes to the files
        root = Path(connection.execute(text("SHOW data_directory")).scalar_one())
        table = connection.execute(text("SELECT pg_relation_filepath('participants')")).scalar_one()
    yield from (path for path in (root / table).parent.iterdir() if path.is_file())


def files_with(database: Database, data: bytes) -> list[str]:
    """Return the names of all files of a database, of any table, that hold some bytes."""
    own = "" if database.file is None else database.file.name
    paths = [path for path in _files(database) if path.is_file() and path.name.startswith(own)]
    return [path.name for path in paths if data in _content(path)]


def _content(path: Path) -> bytes:
    """Return what is in a file; nothing if PostgreSQL has deleted it meanwhile."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
