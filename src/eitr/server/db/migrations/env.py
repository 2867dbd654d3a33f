"""What Alembic runs to upgrade a database; the connection comes from `eitr.server.db.schema`."""

from alembic import context

from eitr.server.db.tables import Base

context.configure(
    connection=context.config.attributes["connection"], target_metadata=Base.metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
