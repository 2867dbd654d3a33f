"""Rounds of protocol 2: pools of cover pages, and rounds that name theirs.

A round of protocol 1 that is under way holds updates of all parameters, and nobody can send to it any more: it is
abandoned, and its updates are deleted. Plans of older rounds get the name of their method.
"""

import logging
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REASON = "the server was upgraded to version 2 of the protocol"
log = logging.getLogger("eitr.server")


def upgrade() -> None:
    """Upgrade."""
    op.create_table(
        "pools",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("vocabulary", sa.String(length=64), nullable=False),
        sa.Column("added", MOMENT, nullable=False),
        sa.Column("pages", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["vocabulary"], ["vocabularies.sha256"], name="fk_pools_vocabulary"),
        sa.PrimaryKeyConstraint("sha256", name="pk_pools"),
    )
    op.create_index("ix_pools_vocabulary", "pools", ["vocabulary"])
    op.add_column("rounds", sa.Column("pool", sa.String(length=64), nullable=True))
    _abandon_round()
    _name_methods()


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
    updates = sa.table("updates", sa.column("id", NUMBER), sa.column("round", NUMBER))
    octets = sa.table("octets", sa.column("update", NUMBER))
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
    ending = {
        "state": "abandoned",
        "under_way": None,
        "ended": moment,
        "reason": REASON,
        "owner": None,
        "lease": None,
    }
    for id in connection.scalars(sa.select(rounds.c.id).where(rounds.c.under_way.is_(True))).all():
        connection.execute(sa.update(rounds).where(rounds.c.id == id).values(ending))
        of_round = sa.select(updates.c.id).where(updates.c.round == id)
        connection.execute(sa.delete(octets).where(octets.c.update.in_(of_round)))
        detail = {"round": id, "reason": REASON}
        connection.execute(sa.insert(audit).values(at=moment, who="server", action="abandoned a round", detail=detail))
        log.warning("round %s was abandoned: %s", id, REASON)


def _name_methods() -> None:
    rounds = sa.table("rounds", sa.column("id", NUMBER), sa.column("plan", sa.JSON))
    connection = op.get_bind()
    for id, plan in connection.execute(sa.select(rounds.c.id, rounds.c.plan)).all():
        connection.execute(sa.update(rounds).where(rounds.c.id == id).values(plan={"method": "paper", **plan}))
