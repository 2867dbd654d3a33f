"""What an operator can do: invite in batches, mute and ban, pause, decide about quarantined rounds, take notes.

Rounds remember the candidate model that the gate stopped until somebody decides, and updates the network they came
from, as a keyed hash, until their round ends. Old rounds and participants have none of this.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Upgrade."""
    op.create_table(
        "invitation_batches",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("founders", sa.Boolean(), nullable=False),
        sa.Column("unbounded", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_invitation_batches"),
    )
    with op.batch_alter_table("invitations") as invitations:
        invitations.add_column(sa.Column("batch", NUMBER, nullable=True))
        invitations.create_foreign_key("fk_invitations_batch", "invitation_batches", ["batch"], ["id"])
        invitations.create_index("ix_invitations_batch", ["batch"])
    for name in ("muted", "banned"):
        op.add_column("participants", sa.Column(name, MOMENT, nullable=True))
    op.add_column("updates", sa.Column("network", sa.LargeBinary(), nullable=True))
    op.add_column("observations", sa.Column("established", sa.Boolean(), nullable=True))
    op.add_column("rounds", sa.Column("bounds", sa.JSON(), nullable=True))
    op.add_column("rounds", sa.Column("decision", sa.String(length=32), nullable=True))
    op.add_column("rounds", sa.Column("decided", MOMENT, nullable=True))
    op.create_table(
        "candidates",
        sa.Column("round", NUMBER, nullable=False, autoincrement=False),
        sa.Column("weights", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["round"], ["rounds.id"], name="fk_candidates_round", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("round", name="pk_candidates"),
    )
    op.create_table(
        "switches",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_switches"),
    )
    op.create_table(
        "alerts",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=True),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("raised", MOMENT, nullable=False),
        sa.Column("ended", MOMENT, nullable=True),
        sa.Column("delivered", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_alerts"),
        sa.UniqueConstraint("kind", "active", name="uq_alerts_kind_active"),
    )
    op.create_table(
        "notes",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("about", sa.String(length=64), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_notes"),
    )
    op.create_index("ix_notes_about", "notes", ["about"])
