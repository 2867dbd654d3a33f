"""PostgreSQL keeps no statistics of what belongs to people.

They are samples of values, ids among them, in a system table that nobody writes anew when people leave. Indexes tell
the planner what it needs to find a person. What was there is dropped, and leaves the files when the server has started:
that table is marked to be written anew.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

TABLES = (
    *("audit", "invitations", "memories", "notes", "observations", "participants", "refusals", "standings"),
    *("study_consents", "study_contacts", "study_people", "study_tasks", "study_terms", "updates"),
)
COLUMNS = sa.text("""
SELECT attname, format_type(atttypid, atttypmod), EXISTS (
    SELECT FROM pg_stats s WHERE s.schemaname = current_schema() AND s.tablename = :name AND s.attname = a.attname
)
FROM pg_attribute a
WHERE attrelid = to_regclass(:name) AND attnum > 0 AND NOT attisdropped
AND format_type(atttypid, NULL) IN ('bytea', 'character varying', 'json', 'jsonb', 'text')
""")
"""The columns of a table that hold texts or bytes, their types, and whether there are statistics."""


def upgrade() -> None:
    """Upgrade."""
    connection, dropped = op.get_bind(), False
    if connection.dialect.name == "sqlite":
        return
    for table in TABLES:
        for column, kind, known in connection.execute(COLUMNS, {"name": table}).all():
            if known:  # a new type, also the same one, is how statistics are dropped
                op.execute(f'ALTER TABLE {table} ALTER COLUMN "{column}" TYPE {kind}')
                dropped = True
            op.execute(f'ALTER TABLE {table} ALTER COLUMN "{column}" SET STATISTICS 0')
    if dropped:
        op.execute("INSERT INTO rewrites (name, mark) VALUES ('pg_statistic', '0009') ON CONFLICT DO NOTHING")
