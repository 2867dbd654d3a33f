"""Studies: people who label given pages, with their consents, and experts who rate the same pages."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Upgrade."""
    _studies_and_pages()
    _people()
    _tasks_and_terms()
    _raters()
    op.create_table(
        "rewrites",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("mark", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_rewrites"),
    )


def _studies_and_pages() -> None:
    op.create_table(
        "studies",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("slug", sa.String(length=40), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        sa.Column("closed", MOMENT, nullable=True),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("batch", NUMBER, nullable=False),
        sa.Column("consent_version", sa.BigInteger(), nullable=False),
        sa.Column("arrived", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["batch"], ["invitation_batches.id"], name="fk_studies_batch"),
        sa.PrimaryKeyConstraint("id", name="pk_studies"),
        sa.UniqueConstraint("slug", name="uq_studies_slug"),
    )
    op.create_table(
        "study_pages",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("study", NUMBER, nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("topic", sa.String(), nullable=True),
        sa.Column("truth", sa.String(), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("checked", MOMENT, nullable=True),
        sa.Column("copy", sa.LargeBinary(), nullable=True),
        _belongs("study_pages", "study", "studies"),
        sa.PrimaryKeyConstraint("id", name="pk_study_pages"),
        sa.UniqueConstraint("study", "url", name="uq_study_pages_study_url"),
    )


def _people() -> None:
    op.create_table(
        "study_people",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("study", NUMBER, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("invitation", sa.LargeBinary(), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(), nullable=False),
        sa.Column("language", sa.String(length=8), nullable=False),
        *(sa.Column(name, MOMENT, nullable=False) for name in ("created", "consented")),
        *(sa.Column(name, MOMENT, nullable=True) for name in ("installed", "started", "finished")),
        sa.Column("completion_code", sa.String(length=32), nullable=True),
        sa.Column("contact", sa.String(length=32), nullable=True),
        _belongs("study_people", "study", "studies"),
        sa.PrimaryKeyConstraint("id", name="pk_study_people"),
        sa.UniqueConstraint("study", "number", name="uq_study_people_study_number"),
        sa.UniqueConstraint("invitation", name="uq_study_people_invitation"),
        sa.UniqueConstraint("contact", name="uq_study_people_contact"),
    )
    op.create_index("ix_study_people_secret_hash", "study_people", ["secret_hash"])
    op.create_table(
        "study_consents",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("person", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("text_hash", sa.String(length=64), nullable=False),
        sa.Column("given", MOMENT, nullable=False),
        sa.Column("withdrawn", MOMENT, nullable=True),
        sa.Column("in_force", sa.Boolean(), nullable=True),
        _belongs("study_consents", "person", "study_people"),
        sa.PrimaryKeyConstraint("id", name="pk_study_consents"),
        sa.UniqueConstraint("person", "kind", "in_force", name="uq_study_consents_person_kind_in_force"),
    )
    op.create_table(
        "study_contacts",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_study_contacts"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "study_withdrawals",
        sa.Column("study", NUMBER, nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        _belongs("study_withdrawals", "study", "studies"),
        sa.PrimaryKeyConstraint("study", "hash", name="pk_study_withdrawals"),
    )


def _tasks_and_terms() -> None:
    op.create_table(
        "study_tasks",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("person", sa.String(length=32), nullable=False),
        sa.Column("page", NUMBER, nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        *(sa.Column(name, MOMENT, nullable=True) for name in ("opened", "ended")),
        sa.Column("label", sa.String(length=32), nullable=True),
        sa.Column("replaces", sa.BigInteger(), nullable=True),
        _belongs("study_tasks", "person", "study_people"),
        _belongs("study_tasks", "page", "study_pages"),
        sa.PrimaryKeyConstraint("id", name="pk_study_tasks"),
        sa.UniqueConstraint("person", "page", name="uq_study_tasks_person_page"),
        sa.UniqueConstraint("replaces", name="uq_study_tasks_replaces"),
    )
    op.create_index("ix_study_tasks_page", "study_tasks", ["page"])
    op.create_table(
        "study_terms",
        sa.Column("person", sa.String(length=32), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        _belongs("study_terms", "person", "study_people"),
        sa.PrimaryKeyConstraint("person", name="pk_study_terms"),
    )


def _raters() -> None:
    op.create_table(
        "study_raters",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("study", NUMBER, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("created", MOMENT, nullable=False),
        _belongs("study_raters", "study", "studies"),
        sa.PrimaryKeyConstraint("id", name="pk_study_raters"),
        sa.UniqueConstraint("study", "name", name="uq_study_raters_study_name"),
        sa.UniqueConstraint("token_hash", name="uq_study_raters_token_hash"),
    )
    op.create_table(
        "study_ratings",
        sa.Column("rater", NUMBER, nullable=False),
        sa.Column("page", NUMBER, nullable=False),
        sa.Column("label", sa.String(length=32), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        _belongs("study_ratings", "rater", "study_raters"),
        _belongs("study_ratings", "page", "study_pages"),
        sa.PrimaryKeyConstraint("rater", "page", name="pk_study_ratings"),
    )
    op.create_index("ix_study_ratings_page", "study_ratings", ["page"])
    op.create_table(
        "study_decisions",
        sa.Column("page", NUMBER, nullable=False, autoincrement=False),
        sa.Column("label", sa.String(length=32), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        _belongs("study_decisions", "page", "study_pages"),
        sa.PrimaryKeyConstraint("page", name="pk_study_decisions"),
    )


def _belongs(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    """Return a foreign key that deletes its rows with those they belong to."""
    return sa.ForeignKeyConstraint([column], [f"{to}.id"], name=f"fk_{table}_{column}", ondelete="CASCADE")
