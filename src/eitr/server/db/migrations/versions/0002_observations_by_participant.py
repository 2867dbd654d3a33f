"""Observations are found by participant and round: the dashboard asks for everybody's latest. Failures are counted."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Upgrade."""
    op.drop_index("ix_observations_participant", "observations")
    op.create_index("ix_observations_participant_round", "observations", ["participant", "round"])
    op.add_column("rounds", sa.Column("failures", sa.BigInteger(), nullable=False, server_default="0"))
