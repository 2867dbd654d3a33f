"""Pools of cover pages: each belongs to a vocabulary, and to all versions of the model that use it."""

import hashlib
from importlib.resources import files
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session, defer

from eitr.pages.pool import Pool
from eitr.pages.vocabulary import Vocabulary
from eitr.server.db.connection import Database
from eitr.server.db.tables import PoolRow, VocabularyRow
from eitr.server.domain.clock import now

FILE = "pool.bin"


def add_first(database: Database, folder: Path | None = None) -> None:
    """Store the pool of the package, and that of a folder, if it has one.

    A pool is stored if a model of this server uses its vocabulary and it is not stored yet.
    """
    add(database, files("eitr").joinpath("assets", FILE).read_bytes())
    if folder is not None and (folder / FILE).is_file():
        add(database, (folder / FILE).read_bytes())


def add(database: Database, content: bytes) -> None:
    """Store a pool file for the vocabulary that it names, unless it is stored already or the vocabulary is unknown."""
    sha256, vocabulary = hashlib.sha256(content).hexdigest(), Pool.vocabulary_of(content).hex()
    with database.writing() as session:
        if not database.sqlite:
            session.connection().exec_driver_sql("LOCK TABLE pools IN EXCLUSIVE MODE")
        known = session.get(VocabularyRow, vocabulary)
        if known is None or session.get(PoolRow, sha256, options=[defer(PoolRow.content)]) is not None:
            return
        pages = len(Pool.from_bytes(content, width=len(Vocabulary.from_json(known.content.decode()))))
        session.add(PoolRow(sha256=sha256, vocabulary=vocabulary, added=now(), pages=pages, content=content))


def of_vocabulary(session: Session, sha256: str) -> PoolRow | None:
    """Return the pool of a vocabulary, its content not loaded yet; None if there is none."""
    query = select(PoolRow).where(PoolRow.vocabulary == sha256).order_by(PoolRow.added.desc()).limit(1)
    return session.scalar(query.options(defer(PoolRow.content)))


def content_of(database: Database, sha256: str) -> bytes | None:
    """Return a pool file; None if there is no such one."""
    with database.reading() as session:
        return session.scalar(select(PoolRow.content).where(PoolRow.sha256 == sha256))
