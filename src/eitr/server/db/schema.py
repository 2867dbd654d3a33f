"""The schema: brought up to date at every start; never taken back."""

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import text

from eitr.errors import InputError
from eitr.server.db.connection import Database

MIGRATIONS = "eitr.server.db:migrations"
LOCK = 0x45495452
"""Of two servers that start at once on one PostgreSQL, one upgrades and the other waits."""


def upgrade(database: Database, target: str = "head") -> None:
    """Bring a database to the newest schema, or to a given step of its history."""
    with database.engine.connect() as connection:
        if database.sqlite:
            connection = connection.execution_options(eitr_writes=True)
        with connection.begin():
            if not database.sqlite:
                connection.execute(text("SET LOCAL lock_timeout = 0"))  # an upgrade may take long
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
            here = MigrationContext.configure(connection).get_current_revision()
            _refuse_newer(here)
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, target)


def revision(database: Database) -> str | None:
    """Return the step that a database is at; None for an empty one."""
    with database.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", MIGRATIONS)
    return config


def _refuse_newer(here: str | None) -> None:
    if here is None:
        return
    try:
        ScriptDirectory.from_config(_config()).get_revision(here)
    except CommandError as error:
        raise InputError(
            f"the database is at step {here!r}, which this program does not know: a newer EITR wrote it; use that one"
        ) from error
