"""The tables of the database.

Classes end in `Row`, so that they are not confused with what they store, such as `eitr.aggregation.interface.Round`.
Some tables keep the names of the first schema: `memories` and `standings`.
"""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}
"""Constraints have names, so that migrations can change them on every database."""


class RoundStatus(StrEnum):
    """The status of a round: open -> closing -> aggregating -> one of the last three, which are final."""

    OPEN = "open"
    CLOSING = "closing"
    AGGREGATING = "aggregating"
    PUBLISHED = "published"
    QUARANTINED = "quarantined"
    ABANDONED = "abandoned"

    @property
    def final(self) -> bool:
        """Whether nothing follows."""
        return self in (RoundStatus.PUBLISHED, RoundStatus.QUARANTINED, RoundStatus.ABANDONED)


UNDER_WAY = tuple(status for status in RoundStatus if not status.final)


class Moment(TypeDecorator[datetime]):
    """A point in time, in UTC; SQLite, which knows no time zones, keeps it without."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Write: as UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without a time zone")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Read: as UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


Number = BigInteger().with_variant(Integer(), "sqlite")
"""Numbers that are given out one after the other: SQLite does so for plain integers only."""


class Base(DeclarativeBase):
    """What all tables have in common."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: Moment(),
        int: BigInteger(),
        bytes: LargeBinary(),
        dict[str, Any]: JSON(),
        list[Any]: JSON(),
    }


class ParticipantRow(Base):
    """Somebody who takes part. The secret itself is known to the participant alone."""

    __tablename__ = "participants"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    secret_hash: Mapped[bytes]
    invitation: Mapped[bytes | None] = mapped_column(unique=True)
    """The keyed hash of the invitation code, if there was one: who comes back with it is the same participant."""
    enrolled: Mapped[datetime]
    seen: Mapped[datetime]
    muted: Mapped[datetime | None]
    """Since when the operator lets their updates count for nothing; they are not told."""
    banned: Mapped[datetime | None]
    """Since when the operator refuses their updates; they are told."""


class InvitationBatchRow(Base):
    """Invitations that were made together, and what the operator trusts these people with."""

    __tablename__ = "invitation_batches"

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    note: Mapped[str]
    created: Mapped[datetime]
    who: Mapped[str]
    founders: Mapped[bool]
    """Whether these people count as established from their first round on."""
    unbounded: Mapped[bool]
    """Whether the bounds on newcomers and on networks do not hold for them."""


class InvitationRow(Base):
    """A code that lets one person take part; only its keyed hash is kept."""

    __tablename__ = "invitations"

    hash: Mapped[bytes] = mapped_column(primary_key=True)
    note: Mapped[str]
    """The operator's own words: for whom it is."""
    created: Mapped[datetime]
    revoked: Mapped[datetime | None]
    batch: Mapped[int | None] = mapped_column(Number, ForeignKey("invitation_batches.id"), index=True)
    """The batch it belongs to; none if it is older than batches."""


class VocabularyRow(Base):
    """Words and their weights, by the hash of the file."""

    __tablename__ = "vocabularies"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    content: Mapped[bytes]


class PoolRow(Base):
    """Public pages as vectors, which participants draw cover pages from; by the hash of the file."""

    __tablename__ = "pools"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    vocabulary: Mapped[str] = mapped_column(ForeignKey("vocabularies.sha256"), index=True)
    """The vectors are made by this vocabulary, and serve all models that use it."""
    added: Mapped[datetime]
    """Of several pools of a vocabulary, the one added last is used."""
    pages: Mapped[int]
    content: Mapped[bytes]


class ModelRow(Base):
    """A published version. The highest is the current one; none is ever changed."""

    __tablename__ = "models"

    version: Mapped[int] = mapped_column(Number, primary_key=True, autoincrement=False)
    created: Mapped[datetime]
    origin: Mapped[str]
    """`shipped`, `round`, `rollback` or `refresh`: with a new vocabulary."""
    round: Mapped[int | None]
    restored: Mapped[int | None]
    """Of a rollback: the version whose weights these are."""
    layers: Mapped[list[Any]]
    weights: Mapped[bytes]
    """float32, little-endian."""
    sha256: Mapped[str] = mapped_column(String(64))
    vocabulary: Mapped[str] = mapped_column(ForeignKey("vocabularies.sha256"))
    accuracy: Mapped[float | None]
    """On the operator's validation pages."""
    class_accuracy: Mapped[dict[str, Any] | None]
    """The same, by class; a class without pages is missing."""


class RoundRow(Base):
    """A round: updates to one version of the model are asked for."""

    __tablename__ = "rounds"

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    status: Mapped[str] = mapped_column("state", String(16), index=True)
    """One of `RoundStatus`; the column keeps the name it had in the first schema."""
    under_way: Mapped[bool | None] = mapped_column(unique=True)
    """True until the status is final, then NULL: being unique, it lets one round at a time be under way."""
    base: Mapped[int] = mapped_column(ForeignKey("models.version"))
    opened: Mapped[datetime]
    deadline: Mapped[datetime]
    minimum: Mapped[int]
    quorum: Mapped[int]
    maximum: Mapped[int]
    grace_seconds: Mapped[float]
    plan: Mapped[dict[str, Any]]
    """Instructions for local training: the document that participants get."""
    pool: Mapped[str | None] = mapped_column(String(64))
    """The SHA-256 of the pool that cover pages are drawn from; none with training as in the paper."""
    published_noise: Mapped[float | None]
    """The noise multiplier of the published mean; NULL if no noise is added. What was spent is counted from these."""
    published_clip: Mapped[float | None]
    """With noise: the length to which steps are cut, in multiples of the length of an honest update's own noise."""
    received: Mapped[int] = mapped_column(default=0)
    complete: Mapped[datetime | None]
    """When the quorum was reached."""
    closed: Mapped[datetime | None]
    ended: Mapped[datetime | None]
    rule: Mapped[str | None]
    rule_settings: Mapped[dict[str, Any] | None]
    result: Mapped[int | None]
    """The version that was published."""
    reason: Mapped[str | None]
    """Why it was quarantined or abandoned."""
    score: Mapped[dict[str, Any] | None]
    """Accuracy before and after, also by class."""
    seconds: Mapped[float | None]
    """How long the aggregation took."""
    owner: Mapped[str | None] = mapped_column(String(64))
    """The worker that aggregates."""
    lease: Mapped[datetime | None]
    """Until when nobody else may."""
    attempts: Mapped[int] = mapped_column(default=0)
    """How often a worker began: one that is killed begins again."""
    failures: Mapped[int] = mapped_column(default=0, server_default="0")
    """How often a worker failed by itself."""
    bounds: Mapped[dict[str, Any] | None]
    """What the bounds on newcomers and on networks did to the weights."""
    decision: Mapped[str | None] = mapped_column(String(32))
    """What the operator did with a quarantined round's candidate; NULL while nothing was decided."""
    decided: Mapped[datetime | None]


class CandidateRow(Base):
    """The model that the gate did not let through, until the operator decides or another version is published."""

    __tablename__ = "candidates"

    round: Mapped[int] = mapped_column(
        Number, ForeignKey("rounds.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    weights: Mapped[bytes]
    """float32, little-endian: the base plus the whole aggregated step."""


class UpdateRow(Base):
    """The fact that an update was received; kept when its bytes are deleted, so that it is accepted only once."""

    __tablename__ = "updates"
    __table_args__ = (UniqueConstraint("round", "participant"),)

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    round: Mapped[int] = mapped_column(ForeignKey("rounds.id", ondelete="CASCADE"))
    participant: Mapped[str] = mapped_column(ForeignKey("participants.id", ondelete="CASCADE"), index=True)
    sha256: Mapped[bytes]
    encoding: Mapped[str] = mapped_column(String(32))
    size: Mapped[int]
    received: Mapped[datetime]
    network: Mapped[bytes | None]
    """A keyed hash of the network that it came from; NULL when the round has ended."""
    object: Mapped[str | None] = mapped_column(String(64))
    """The object of the update store that has the bytes; NULL when the round has ended."""
    offset: Mapped[int] = mapped_column(default=0, server_default="0")
    """Where they begin in the object."""


class OverwriteRow(Base):
    """Bytes in the update store that are to be overwritten: their sender has left, and others share the object."""

    __tablename__ = "overwrites"

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    object: Mapped[str] = mapped_column(String(64))
    offset: Mapped[int]
    size: Mapped[int]


class RefusalRow(Base):
    """An invalid update, such as one with a NaN: evidence when its round is aggregated."""

    __tablename__ = "refusals"

    round: Mapped[int] = mapped_column(Number, ForeignKey("rounds.id", ondelete="CASCADE"), primary_key=True)
    participant: Mapped[str] = mapped_column(ForeignKey("participants.id", ondelete="CASCADE"), primary_key=True)
    reason: Mapped[str]
    received: Mapped[datetime]


class ObservationRow(Base):
    """What a rule saw of a participant in a round. For the operator; the participant never learns it."""

    __tablename__ = "observations"
    __table_args__ = (Index(None, "participant", "round"),)

    round: Mapped[int] = mapped_column(Number, ForeignKey("rounds.id", ondelete="CASCADE"), primary_key=True)
    participant: Mapped[str] = mapped_column(ForeignKey("participants.id", ondelete="CASCADE"), primary_key=True)
    weight: Mapped[float | None]
    positive: Mapped[int | None]
    negative: Mapped[int | None]
    """Values that were rectified."""
    reputation: Mapped[float | None]
    opinions: Mapped[dict[str, Any] | None]
    """By detector."""
    refused: Mapped[bool] = mapped_column(default=False)
    established: Mapped[bool | None]
    """Whether they were more than a newcomer in this round; NULL in rounds before this was noted."""


class RuleStateRow(Base):
    """The state of a rule about one participant: one row of each of its arrays."""

    __tablename__ = "memories"

    participant: Mapped[str] = mapped_column(ForeignKey("participants.id", ondelete="CASCADE"), primary_key=True)
    rule: Mapped[str] = mapped_column(primary_key=True)
    rounds: Mapped[int]
    arrays: Mapped[bytes]
    projection: Mapped[bytes | None]
    """What the steps among the arrays were made with: a keyed hash, the same for the same; NULL if there are none."""
    last_round: Mapped[int | None]
    """The last round in which the participant sent an update."""


class KeptReputationRow(Base):
    """The reputation of somebody who erased their data, kept for when they return with the same invitation."""

    __tablename__ = "standings"

    invitation: Mapped[bytes] = mapped_column(primary_key=True)
    rule: Mapped[str] = mapped_column(primary_key=True)
    rounds: Mapped[int]
    arrays: Mapped[bytes]
    since: Mapped[datetime]


class OperatorRow(Base):
    """Somebody who may use the dashboard."""

    __tablename__ = "operators"

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    password_hash: Mapped[str]
    created: Mapped[datetime]


class SetupLinkRow(Base):
    """A link that sets an operator's password, once."""

    __tablename__ = "setup_links"

    hash: Mapped[bytes] = mapped_column(primary_key=True)
    expires: Mapped[datetime]


class SessionRow(Base):
    """A signed-in operator."""

    __tablename__ = "sessions"

    hash: Mapped[bytes] = mapped_column(primary_key=True)
    operator: Mapped[int] = mapped_column(ForeignKey("operators.id", ondelete="CASCADE"))
    created: Mapped[datetime]
    expires: Mapped[datetime]


class AuditRow(Base):
    """What operators did, and what the server decided by itself."""

    __tablename__ = "audit"

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    at: Mapped[datetime] = mapped_column(index=True)
    who: Mapped[str]
    action: Mapped[str]
    detail: Mapped[dict[str, Any]]


class LimitRow(Base):
    """How often something was done from one address in one stretch of time; the address as a keyed hash."""

    __tablename__ = "limits"

    key: Mapped[bytes] = mapped_column(primary_key=True)
    stretch: Mapped[int] = mapped_column(primary_key=True)
    count: Mapped[int]
    expires: Mapped[datetime]


class SwitchRow(Base):
    """Something that an operator has switched on, such as a pause of all rounds; no row: it is off."""

    __tablename__ = "switches"

    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    since: Mapped[datetime]
    who: Mapped[str]
    note: Mapped[str]


class AlertRow(Base):
    """A problem that operators are told about once, and again only after it had ended."""

    __tablename__ = "alerts"
    __table_args__ = (UniqueConstraint("kind", "active"),)

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    kind: Mapped[str] = mapped_column(String(64))
    active: Mapped[bool | None]
    """True while the problem lasts, then NULL: being unique with the kind, it lets one of a kind be active."""
    text: Mapped[str]
    raised: Mapped[datetime]
    ended: Mapped[datetime | None]
    delivered: Mapped[dict[str, Any]]
    """By channel: when it was delivered, or why it was not."""


class NoteRow(Base):
    """An operator's own words about a participant, a round or a version."""

    __tablename__ = "notes"

    id: Mapped[int] = mapped_column(Number, primary_key=True)
    about: Mapped[str] = mapped_column(String(64), index=True)
    """`participant ID`, `round N` or `version N`."""
    text: Mapped[str]
    who: Mapped[str]
    at: Mapped[datetime]
