"""Everything the pages show as files for a spreadsheet."""

from fastapi import APIRouter
from sqlalchemy import func, select
from starlette.responses import Response, StreamingResponse

from eitr.server.dashboard.guard import SignedIn
from eitr.server.dashboard.spreadsheet import Sheet, rows_of
from eitr.server.db.tables import AuditRow, ModelRow, ObservationRow, ParticipantRow, RefusalRow, RoundRow, UpdateRow
from eitr.server.domain.audit import note as note_action
from eitr.server.domain.clock import now
from eitr.server.web.dependencies import Server
from eitr.server.web.problems import Problem

router = APIRouter(prefix="/export")

_sent = select(func.count()).where(UpdateRow.participant == ParticipantRow.id).scalar_subquery()
_refused = select(func.count()).where(RefusalRow.participant == ParticipantRow.id).scalar_subquery()
_standing = (
    select(ObservationRow.reputation)
    .where(ObservationRow.participant == ParticipantRow.id, ObservationRow.reputation.is_not(None))
    .order_by(ObservationRow.round.desc())
    .limit(1)
    .scalar_subquery()
)
SHEETS = {
    "participants": Sheet(
        select(
            ParticipantRow.id,
            ParticipantRow.enrolled,
            ParticipantRow.seen,
            ParticipantRow.invitation.is_not(None).label("invited"),
            _standing.label("reputation"),
            _sent.label("rounds"),
            _refused.label("refused"),
            ParticipantRow.muted,
            ParticipantRow.banned,
        ),
        (ParticipantRow.id,),
    ),
    "rounds": Sheet(
        select(
            RoundRow.id,
            RoundRow.status.label("state"),
            RoundRow.base,
            RoundRow.result,
            RoundRow.opened,
            RoundRow.deadline,
            RoundRow.closed,
            RoundRow.ended,
            RoundRow.minimum,
            RoundRow.quorum,
            RoundRow.maximum,
            RoundRow.received,
            RoundRow.rule,
            RoundRow.rule_settings,
            RoundRow.seconds,
            RoundRow.reason,
            RoundRow.score,
        ),
        (RoundRow.id,),
    ),
    "observations": Sheet(
        select(
            ObservationRow.round,
            ObservationRow.participant,
            ObservationRow.weight,
            ObservationRow.reputation,
            ObservationRow.positive,
            ObservationRow.negative,
            ObservationRow.refused,
            ObservationRow.established,
            ObservationRow.opinions,
        ),
        (ObservationRow.round, ObservationRow.participant),
    ),
    "models": Sheet(
        select(
            ModelRow.version,
            ModelRow.created,
            ModelRow.origin,
            ModelRow.round,
            ModelRow.restored,
            ModelRow.sha256,
            ModelRow.accuracy,
            ModelRow.class_accuracy,
        ),
        (ModelRow.version,),
    ),
    "audit": Sheet(select(AuditRow.id, AuditRow.at, AuditRow.who, AuditRow.action, AuditRow.detail), (AuditRow.id,)),
}


@router.get("/{name}.csv")
def exported(server: Server, who: SignedIn, name: str) -> Response:
    """Send a table."""
    if name not in SHEETS:
        raise Problem("not-found")
    note_action(server.database, who.name, f"exported {name}")
    headers = {
        "Content-Disposition": f'attachment; filename="eitr-{name}-{now():%Y-%m-%d}.csv"',
        "Cache-Control": "no-store",
    }
    return StreamingResponse(
        rows_of(server.database, SHEETS[name]), headers=headers, media_type="text/csv; charset=utf-8"
    )
