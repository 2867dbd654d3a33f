"""Updates become objects: the database keeps who sent one, when, its hash, and where its bytes are.

The bytes in a round that is under way are in the table that goes: the round is abandoned, and participants send to the
next one.
"""

import logging
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REASON = "the server was upgraded to a version that keeps updates outside of the database"
log = logging.getLogger("eitr.server")


def upgrade() -> None:
    """Upgrade."""
    op.add_column("updates", sa.Column("object", sa.String(length=64), nullable=True))
    op.add_column("updates", sa.Column("offset", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_table(
        "overwrites",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("object", sa.String(length=64), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_overwrites"),
    )
    _abandon_round()
    op.drop_table("octets")


def _abandon_round() -> None:
    rounds = sa.table(
        "rounds",
        sa.column("id", NUMBER),
        sa.column("state", sa.String),
        sa.column("under_way", sa.Boolean),
        sa.column("ended", MOMENT),
        sa.column("reason", sa.String),
        sa.column("owner", sa.String),
        sa.column("lease", MOMENT),
    )
    updates = sa.table("updates", sa.column("id", NUMBER), sa.column("round", NUMBER), sa.column("network"))
    audit = sa.table(
        "audit",
        sa.column("at", MOMENT),
        sa.column("who", sa.String),
        sa.column("action", sa.String),
        sa.column("detail", sa.JSON),
    )
    connection = op.get_bind()
    moment = datetime.now(UTC)
    if connection.dialect.name == "sqlite":
        moment = moment.replace(tzinfo=None)
    ending = {"state": "abandoned", "under_way": None, "ended": moment, "reason": REASON, "owner": None, "lease": None}
    for id in connection.scalars(sa.select(rounds.c.id).where(rounds.c.under_way.is_(True))).all():
        connection.execute(sa.update(rounds).where(rounds.c.id == id).values(ending))
        connection.execute(sa.update(updates).where(updates.c.round == id).values(network=None))
        detail = {"round": id, "reason": REASON}
        connection.execute(sa.insert(audit).values(at=moment, who="server", action="abandoned a round", detail=detail))
        log.warning("round %s was abandoned: %s", id, REASON)
