"""Deleting old data: all retention periods are applied here."""

import logging
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import CursorResult, delete, func, select, update
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database
from eitr.server.db.study_tables import StudyPersonRow
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
from eitr.server.domain.gate import accepted_version, last_score
from eitr.server.domain.participants import erase
from eitr.server.domain.rule_states import forget_steps
from eitr.server.domain.study.retention import old_study_data
from eitr.server.settings import ServerSettings

log = logging.getLogger("eitr.worker")


class Retention:
    """Deletes what the settings say is too old."""

    def __init__(self, database: Database, settings: ServerSettings) -> None:
        self._database, self._settings = database, settings

    def run(self) -> None:
        """Delete, in one transaction; log, and note in the audit log, how much of what."""
        moment = now()
        with self._database.writing() as session:
            deleted = self._deleted(session, moment)
            for table in (LimitRow, SessionRow, SetupLinkRow):  # they have ended: nobody misses them
                session.execute(delete(table).where(table.expires < moment))
            if deleted:
                session.add(AuditRow(at=moment, who="server", action="deleted old data", detail=deleted))
        if deleted:
            log.info("old data was deleted", extra=deleted)

    def _deleted(self, session: Session, moment: datetime) -> dict[str, int]:
        """Delete what is too old; return how much of what, without what there was nothing of."""
        settings = self._settings
        deleted: Counter[str] = Counter()
        old_rounds = select(RoundRow.id).where(
            RoundRow.ended < moment - timedelta(days=settings.keep_observations_days)
        )
        for table in (ObservationRow, RefusalRow, UpdateRow):
            deleted[table.__tablename__] = _count(session.execute(delete(table).where(table.round.in_(old_rounds))))
        unused = moment - timedelta(days=settings.keep_steps_days)
        ended = select(RoundRow.id).where(RoundRow.ended < unused)
        deleted["steps"] = forget_steps(session, RuleStateRow.last_round.in_(ended))
        absent = moment - timedelta(days=settings.keep_participants_days)
        # People of a study are kept as long as the study: leaving would be a withdrawal.
        studied = select(StudyPersonRow.invitation).where(StudyPersonRow.invitation == ParticipantRow.invitation)
        away = (ParticipantRow.seen < absent, ~studied.exists())
        gone = session.scalars(select(ParticipantRow.id).where(*away)).all()
        for id in gone:
            erase(session, id)
        deleted["participants"] = len(gone)
        deleted += old_study_data(session, moment, settings)
        old = moment - timedelta(days=settings.keep_audit_days)
        deleted["audit_entries"] = _count(session.execute(delete(AuditRow).where(AuditRow.at < old)))
        deleted["alerts"] = _count(session.execute(delete(AlertRow).where(AlertRow.ended < old)))
        newest = session.scalar(select(func.max(ModelRow.version))) or 0
        in_use = select(RoundRow.base).where(RoundRow.under_way.is_(True))
        judged = last_score(session)
        compared = (judged["best"] if judged else 1, accepted_version(session) or 1)
        # Rounds remember which version they began with: its row stays, its weights go.
        old_models = (
            ModelRow.version > 1,
            ModelRow.version <= newest - settings.keep_models,
            ModelRow.version.not_in(in_use),
            ModelRow.version.not_in(compared),  # new models are compared with them
            ModelRow.weights != b"",
        )
        deleted["weights_of_models"] = _count(session.execute(update(ModelRow).where(*old_models).values(weights=b"")))
        return {what: count for what, count in deleted.items() if count}


def _count(done: Any) -> int:
    """Return how many rows a statement changed."""
    return done.rowcount if isinstance(done, CursorResult) else 0
