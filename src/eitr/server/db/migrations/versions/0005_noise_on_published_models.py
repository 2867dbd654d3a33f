"""Rounds say how much noise their published model has; rounds before this had none."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Upgrade."""
    for name in ("published_noise", "published_clip"):
        op.add_column("rounds", sa.Column(name, sa.Double(), nullable=True))
