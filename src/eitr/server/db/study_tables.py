"""The tables of studies: pages, people, consents, tasks, and what raters say.

A person of a study and the participant of their browser have the keyed hash of the same invitation code; nothing else
joins them. The e-mail address for the reward is in a table of its own, encrypted.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from eitr.server.db.tables import Base, Number


class StudyRow(Base):
    """A study: who is asked to label which pages, and how."""

    __tablename__ = "studies"

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    slug: Mapped[str] = mapped_column(String(40), unique=True)
    """Its name in addresses."""
    title: Mapped[str]
    status: Mapped[str] = mapped_column(String(16))
    """`draft`, `open` or `closed`."""
    created: Mapped[datetime]
    closed: Mapped[datetime | None]
    seed: Mapped[int]
    """Which pages people get depends on it."""
    settings: Mapped[dict[str, Any]]
    batch: Mapped[int] = mapped_column(Number, ForeignKey("invitation_batches.id"))
    """The invitations of its people."""
    consent_version: Mapped[int]
    """Grows when the texts that people consent to change."""
    arrived: Mapped[int]
    """How many people ever began: the next one's number, which nobody gets again."""


class StudyPageRow(Base):
    """A page that people label."""

    __tablename__ = "study_pages"
    __table_args__ = (UniqueConstraint("study", "url"),)

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    study: Mapped[int] = mapped_column(Number, ForeignKey("studies.id", ondelete="CASCADE"))
    url: Mapped[str]
    topic: Mapped[str | None]
    truth: Mapped[str | None]
    """Its class, where the operator knows it."""
    state: Mapped[str] = mapped_column(String(16))
    """`unknown`, `live` or `dead`."""
    checked: Mapped[datetime | None]
    copy: Mapped[bytes | None] = mapped_column(deferred=True)
    """An archived copy: HTML without scripts."""


class StudyPersonRow(Base):
    """Somebody who takes part in a study. Their cookie holds a secret, of which the hash is kept."""

    __tablename__ = "study_people"
    __table_args__ = (UniqueConstraint("study", "number"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    study: Mapped[int] = mapped_column(Number, ForeignKey("studies.id", ondelete="CASCADE"))
    number: Mapped[int]
    """Which pages they get depends on it."""
    invitation: Mapped[bytes] = mapped_column(unique=True)
    """The keyed hash of the code, as that of their participant."""
    secret_hash: Mapped[bytes] = mapped_column(index=True)
    language: Mapped[str] = mapped_column(String(8))
    created: Mapped[datetime]
    consented: Mapped[datetime]
    installed: Mapped[datetime | None]
    """When their extension first asked for the study."""
    started: Mapped[datetime | None]
    """When they opened or ended their first task."""
    finished: Mapped[datetime | None]
    completion_code: Mapped[str | None] = mapped_column(String(32))
    contact: Mapped[str | None] = mapped_column(String(32), unique=True)
    """The random identifier of their e-mail address."""


class StudyConsentRow(Base):
    """What a person agreed to, when, and to which text."""

    __tablename__ = "study_consents"
    __table_args__ = (UniqueConstraint("person", "kind", "in_force"),)

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    person: Mapped[str] = mapped_column(ForeignKey("study_people.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(16))
    """`participation`, `collection` or `terms`."""
    version: Mapped[int]
    text_hash: Mapped[str] = mapped_column(String(64))
    """The SHA-256 of the text that was shown."""
    given: Mapped[datetime]
    withdrawn: Mapped[datetime | None]
    in_force: Mapped[bool | None]
    """True until it is withdrawn or replaced by one to a newer text, then NULL: one of a kind is in force."""


class StudyTaskRow(Base):
    """A page that a person was given."""

    __tablename__ = "study_tasks"
    __table_args__ = (UniqueConstraint("person", "page"),)

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    person: Mapped[str] = mapped_column(ForeignKey("study_people.id", ondelete="CASCADE"))
    page: Mapped[int] = mapped_column(Number, ForeignKey("study_pages.id", ondelete="CASCADE"), index=True)
    position: Mapped[int]
    """From 1 on; a replacement has that of the task it replaces."""
    state: Mapped[str] = mapped_column(String(16))
    """`open`, `labelled`, `skipped`, `broken` or `replaced`."""
    opened: Mapped[datetime | None]
    ended: Mapped[datetime | None]
    label: Mapped[str | None] = mapped_column(String(32))
    """The class that the person chose; only while their consent to collection is in force."""
    replaces: Mapped[int | None] = mapped_column(unique=True)
    """The task whose page was broken."""


class StudyTermsRow(Base):
    """The terms that a person's browser reported, for a new vocabulary; only with a consent of its own."""

    __tablename__ = "study_terms"

    person: Mapped[str] = mapped_column(ForeignKey("study_people.id", ondelete="CASCADE"), primary_key=True)
    report: Mapped[dict[str, Any]]
    """As `eitr.pages.federated_vocabulary.TermReport`."""


class StudyContactRow(Base):
    """An e-mail address for the reward, encrypted with a key that is not in the database. Without a row id of SQLite's
    own, which would tell who came first."""

    __tablename__ = "study_contacts"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012 (SQLAlchemy's way)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    ciphertext: Mapped[bytes]


class StudyWithdrawalRow(Base):
    """Somebody left a study: the only thing that is kept about them, so that the code is not used again."""

    __tablename__ = "study_withdrawals"

    study: Mapped[int] = mapped_column(Number, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True)
    hash: Mapped[bytes] = mapped_column(primary_key=True)
    """The keyed hash of their invitation code."""
    at: Mapped[datetime]


class StudyRaterRow(Base):
    """An expert who labels the pages of a study."""

    __tablename__ = "study_raters"
    __table_args__ = (UniqueConstraint("study", "name"),)

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    study: Mapped[int] = mapped_column(Number, ForeignKey("studies.id", ondelete="CASCADE"))
    name: Mapped[str]
    token_hash: Mapped[bytes] = mapped_column(unique=True)
    created: Mapped[datetime]


class StudyRatingRow(Base):
    """The class that a rater chose for a page."""

    __tablename__ = "study_ratings"

    rater: Mapped[int] = mapped_column(Number, ForeignKey("study_raters.id", ondelete="CASCADE"), primary_key=True)
    page: Mapped[int] = mapped_column(
        Number, ForeignKey("study_pages.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    label: Mapped[str] = mapped_column(String(32))
    at: Mapped[datetime]


class StudyDecisionRow(Base):
    """The class of a page that raters disagreed about, as somebody decided."""

    __tablename__ = "study_decisions"

    page: Mapped[int] = mapped_column(
        Number, ForeignKey("study_pages.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    label: Mapped[str] = mapped_column(String(32))
    who: Mapped[str]
    at: Mapped[datetime]


class RewriteRow(Base):
    """A table in which PostgreSQL still has the bytes of deleted rows, and which must be written anew."""

    __tablename__ = "rewrites"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    mark: Mapped[str] = mapped_column(String(32))
    """Another one with each deletion: what is deleted while the table is written anew needs another pass."""
