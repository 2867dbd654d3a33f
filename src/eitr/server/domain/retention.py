"""Deleting old data: all retention periods are applied here."""

from datetime import timedelta

from sqlalchemy import delete, func, select

from eitr.server.db.connection import Database
from eitr.server.db.tables import (
    AlertRow,
    AuditRow,
    LimitRow,
    ModelRow,
    ObservationRow,
    ParticipantRow,
    RefusalRow,
    RoundRow,
    RuleStateRow,
    SessionRow,
    SetupLinkRow,
    UpdateRow,
)
from eitr.server.domain.clock import now
from eitr.server.domain.gate import last_score
from eitr.server.domain.participants import erase
from eitr.server.domain.rule_states import forget_steps
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
            old_rounds = select(RoundRow.id).where(RoundRow.ended < long_ago)
            for table in (ObservationRow, RefusalRow, UpdateRow):
                session.execute(delete(table).where(table.round.in_(old_rounds)))
            unused = moment - timedelta(days=settings.keep_steps_days)
            forget_steps(session, RuleStateRow.last_round.in_(select(RoundRow.id).where(RoundRow.ended < unused)))
            absent = moment - timedelta(days=settings.keep_participants_days)
            for id in session.scalars(select(ParticipantRow.id).where(ParticipantRow.seen < absent)).all():
                erase(session, id)
            session.execute(delete(AuditRow).where(AuditRow.at < moment - timedelta(days=settings.keep_audit_days)))
            session.execute(delete(AlertRow).where(AlertRow.ended < moment - timedelta(days=settings.keep_audit_days)))
            session.execute(delete(LimitRow).where(LimitRow.expires < moment))
            session.execute(delete(SessionRow).where(SessionRow.expires < moment))
            session.execute(delete(SetupLinkRow).where(SetupLinkRow.expires < moment))
            newest = session.scalar(select(func.max(ModelRow.version))) or 0
            in_use = select(RoundRow.base).where(RoundRow.under_way.is_(True))
            judged = last_score(session)
            old_models = (
                ModelRow.version > 1,
                ModelRow.version <= newest - settings.keep_models,
                ModelRow.version.not_in(in_use),
                ModelRow.version != (judged["best"] if judged else 1),  # new models are compared with it
            )
            used_before = session.scalars(select(ModelRow.version).where(*old_models)).all()
            # Rounds remember which version they began with: its row stays, its weights go.
            for version in used_before:
                session.get_one(ModelRow, version).weights = b""
