"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Upgrade."""
    op.create_table(
        "audit",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_at", "audit", ["at"])

    op.create_table(
        "invitations",
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("revoked", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("hash", name="pk_invitations"),
    )
    op.create_table(
        "limits",
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("stretch", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("expires", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("key", "stretch", name="pk_limits"),
    )
    op.create_table(
        "operators",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("password_hash", sa.String(), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_operators"),
        sa.UniqueConstraint("name", name="uq_operators_name"),
    )
    op.create_table(
        "participants",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(), nullable=False),
        sa.Column("invitation", sa.LargeBinary(), nullable=True),
        sa.Column("enrolled", MOMENT, nullable=False),
        sa.Column("seen", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_participants"),
        sa.UniqueConstraint("invitation", name="uq_participants_invitation"),
    )
    op.create_table(
        "setup_links",
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("expires", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_setup_links"),
    )
    op.create_table(
        "standings",
        sa.Column("invitation", sa.LargeBinary(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("rounds", sa.BigInteger(), nullable=False),
        sa.Column("arrays", sa.LargeBinary(), nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("invitation", "rule", name="pk_standings"),
    )
    op.create_table(
        "vocabularies",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_vocabularies"),
    )
    op.create_table(
        "memories",
        sa.Column("participant", sa.String(length=32), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("rounds", sa.BigInteger(), nullable=False),
        sa.Column("arrays", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant"], ["participants.id"], name="fk_memories_participant", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("participant", "rule", name="pk_memories"),
    )
    op.create_table(
        "models",
        sa.Column("version", NUMBER, autoincrement=False, nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=True),
        sa.Column("restored", sa.BigInteger(), nullable=True),
        sa.Column("layers", sa.JSON(), nullable=False),
        sa.Column("weights", sa.LargeBinary(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("vocabulary", sa.String(length=64), nullable=False),
        sa.Column("accuracy", sa.Double(), nullable=True),
        sa.Column("class_accuracy", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(["vocabulary"], ["vocabularies.sha256"], name="fk_models_vocabulary"),
        sa.PrimaryKeyConstraint("version", name="pk_models"),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("operator", NUMBER, nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("expires", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["operator"], ["operators.id"], name="fk_sessions_operator", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("hash", name="pk_sessions"),
    )
    op.create_table(
        "rounds",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("under_way", sa.Boolean(), nullable=True),
        sa.Column("base", NUMBER, nullable=False),
        sa.Column("opened", MOMENT, nullable=False),
        sa.Column("deadline", MOMENT, nullable=False),
        sa.Column("minimum", sa.BigInteger(), nullable=False),
        sa.Column("quorum", sa.BigInteger(), nullable=False),
        sa.Column("maximum", sa.BigInteger(), nullable=False),
        sa.Column("grace_seconds", sa.Double(), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("complete", MOMENT, nullable=True),
        sa.Column("closed", MOMENT, nullable=True),
        sa.Column("ended", MOMENT, nullable=True),
        sa.Column("rule", sa.String(), nullable=True),
        sa.Column("rule_settings", sa.JSON(), nullable=True),
        sa.Column("result", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("score", sa.JSON(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("owner", sa.String(length=64), nullable=True),
        sa.Column("lease", MOMENT, nullable=True),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["base"], ["models.version"], name="fk_rounds_base"),
        sa.PrimaryKeyConstraint("id", name="pk_rounds"),
        sa.UniqueConstraint("under_way", name="uq_rounds_under_way"),
    )
    op.create_index("ix_rounds_state", "rounds", ["state"])

    op.create_table(
        "observations",
        sa.Column("round", NUMBER, nullable=False),
        sa.Column("participant", sa.String(length=32), nullable=False),
        sa.Column("weight", sa.Double(), nullable=True),
        sa.Column("positive", sa.BigInteger(), nullable=True),
        sa.Column("negative", sa.BigInteger(), nullable=True),
        sa.Column("reputation", sa.Double(), nullable=True),
        sa.Column("opinions", sa.JSON(), nullable=True),
        sa.Column("refused", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant"], ["participants.id"], name="fk_observations_participant", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["round"], ["rounds.id"], name="fk_observations_round", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("round", "participant", name="pk_observations"),
    )
    op.create_index("ix_observations_participant", "observations", ["participant"])

    op.create_table(
        "refusals",
        sa.Column("round", NUMBER, nullable=False),
        sa.Column("participant", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("received", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["participant"], ["participants.id"], name="fk_refusals_participant", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["round"], ["rounds.id"], name="fk_refusals_round", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("round", "participant", name="pk_refusals"),
    )
    op.create_table(
        "updates",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("round", NUMBER, nullable=False),
        sa.Column("participant", sa.String(length=32), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("encoding", sa.String(length=32), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("received", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["participant"], ["participants.id"], name="fk_updates_participant", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["round"], ["rounds.id"], name="fk_updates_round", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_updates"),
        sa.UniqueConstraint("round", "participant", name="uq_updates_round_participant"),
    )
    op.create_index("ix_updates_participant", "updates", ["participant"])

    op.create_table(
        "octets",
        sa.Column("update", NUMBER, autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["update"], ["updates.id"], name="fk_octets_update", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("update", name="pk_octets"),
    )
    if op.get_bind().dialect.name == "postgresql":
        # Parameters do not compress: to try costs more than to store them.
        op.execute("ALTER TABLE octets ALTER COLUMN data SET STORAGE EXTERNAL")
        op.execute("ALTER TABLE models ALTER COLUMN weights SET STORAGE EXTERNAL")
