"""What a rule remembers of a participant's steps has an end; what was remembered with a public seed ends now.

Arrays of float64 hold reputations and stay. All others were made of whole steps, the first layer included: sketches
with the public seed 0, and the accumulated steps of FoolsGold and FLDetector. They are dropped; rules begin them anew.
"""

import numpy as np
import sqlalchemy as sa
from alembic import op

from eitr.io.safetensors_file import pack, unpack

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Upgrade."""
    op.add_column("memories", sa.Column("projection", sa.LargeBinary(), nullable=True))
    op.add_column("memories", sa.Column("last_round", sa.BigInteger(), nullable=True))
    memories = sa.table(
        "memories",
        sa.column("participant", sa.String),
        sa.column("rule", sa.String),
        sa.column("arrays", sa.LargeBinary),
    )
    connection = op.get_bind()
    for participant, rule in connection.execute(sa.select(memories.c.participant, memories.c.rule)).all():
        this = (memories.c.participant == participant, memories.c.rule == rule)
        arrays = unpack(connection.execute(sa.select(memories.c.arrays).where(*this)).scalar_one())[1]
        kept = {name: array for name, array in sorted(arrays.items()) if array.dtype == np.float64}
        connection.execute(sa.update(memories).where(*this).values(arrays=pack({}, kept)))
