"""What is old is deleted: how long everything is kept, in one place."""

from datetime import timedelta

from sqlalchemy import delete, func, select

from eitr.server.db.connection import Database
from eitr.server.db.tables import (
    Audit,
    Limit,
    Model,
    Observation,
    Participant,
    Refusal,
    Round,
    Session,
    SetupLink,
    Update,
)
from eitr.server.domain.clock import now
from eitr.server.domain.participants import erase
from eitr.server.settings import ServerSettings


class Retention:
    """Deletes what the settings say is too old."""

    def __init__(self, database: Database, settings: ServerSettings) -> None:
        self._database, self._settings = database, settings

    def run(self) -> None:
        """Delete, in one transaction."""
        moment, settings = now(), self._settings
        long_ago = moment - timedelta(days=settings.keep_observations_days)
        with self._database.writing() as session:
            old_rounds = select(Round.id).where(Round.ended < long_ago)
            for table in (Observation, Refusal, Update):
                session.execute(delete(table).where(table.round.in_(old_rounds)))
            absent = moment - timedelta(days=settings.keep_participants_days)
            for id in session.scalars(select(Participant.id).where(Participant.seen < absent)).all():
                erase(session, id)
            session.execute(delete(Audit).where(Audit.at < moment - timedelta(days=settings.keep_audit_days)))
            session.execute(delete(Limit).where(Limit.expires < moment))
            session.execute(delete(Session).where(Session.expires < moment))
            session.execute(delete(SetupLink).where(SetupLink.expires < moment))
            newest = session.scalar(select(func.max(Model.version))) or 0
            in_use = select(Round.base).where(Round.under_way.is_(True))
            old_models = (
                Model.version > 1,
                Model.version <= newest - settings.keep_models,
                Model.version.not_in(in_use),
            )
            used_before = session.scalars(select(Model.version).where(*old_models)).all()
            # Rounds remember which version they began with: its row stays, its weights go.
            for version in used_before:
                session.get_one(Model, version).weights = b""
