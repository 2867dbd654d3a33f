"""What is deleted because it is too old is said in the log and in the audit log, without naming anybody."""

import logging
from datetime import timedelta

import pytest
from sqlalchemy import func, select, update

from eitr.server.db.tables import AuditRow, ModelRow, ObservationRow, ParticipantRow, RoundRow, UpdateRow
from eitr.server.domain.clock import now
from eitr.server.domain.models import roll_back
from eitr.server.domain.retention import Retention
from tests.server.federation import Federation


def notes(federation: Federation) -> list[dict[str, int]]:
    """Return what the audit log says about deletions."""
    with federation.database.reading() as session:
        found = session.scalars(select(AuditRow).where(AuditRow.action == "deleted old data").order_by(AuditRow.id))
        return [entry.detail for entry in found if entry.who == "server"]


def test_what_is_deleted_is_counted_in_the_log_and_in_the_audit_log(
    federation: Federation, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    people = federation.enrol(12)
    federation.full_round(people[:4])
    federation.worker().step()
    for _ in range(3):
        assert roll_back(federation.database, 1, "ada") is not None
    long_ago = now() - timedelta(days=1000)
    with federation.database.writing() as session:
        session.execute(update(RoundRow).values(ended=long_ago))
        session.execute(update(ParticipantRow).where(ParticipantRow.id.in_(people[2:])).values(seen=long_ago))
        entries = session.scalar(select(func.count()).select_from(AuditRow))
        session.execute(update(AuditRow).values(at=long_ago))
        newest = session.scalar(select(func.max(ModelRow.version)))
    settings = federation.settings.model_copy(update={"keep_models": 1})
    retention = Retention(federation.database, settings)
    retention.run()
    expected = {
        "observations": 4,
        "updates": 4,
        "steps": 4,
        "participants": 10,
        "audit_entries": entries,
        "weights_of_models": (newest or 0) - 2,  # all but the first and the last
    }
    assert notes(federation) == [expected]
    with federation.database.reading() as session:
        for table, left in ((ParticipantRow, 2), (ObservationRow, 0), (UpdateRow, 0), (AuditRow, 1)):
            assert session.scalar(select(func.count()).select_from(table)) == left
    said = [record for record in caplog.records if record.getMessage() == "old data was deleted"]
    assert [{name: getattr(record, name) for name in expected} for record in said] == [expected]
    assert not any(person in caplog.text for person in people)


def test_where_nothing_is_too_old_nothing_is_said(federation: Federation, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    federation.enrol(2)
    Retention(federation.database, federation.settings).run()
    assert notes(federation) == []
    assert "old data" not in caplog.text
