"""Everything the pages show as files for a spreadsheet."""

from fastapi import APIRouter
from sqlalchemy import func, select
from starlette.responses import Response, StreamingResponse

from eitr.server.api.authentication import Asked
from eitr.server.dashboard.guard import SignedIn
from eitr.server.dashboard.spreadsheet import Sheet, rows_of
from eitr.server.db.tables import Audit, Model, Observation, Participant, Refusal, Round, Update
from eitr.server.domain.audit import note as note_action
from eitr.server.domain.clock import now
from eitr.server.web.problems import Problem

router = APIRouter(prefix="/export")

_sent = select(func.count()).where(Update.participant == Participant.id).scalar_subquery()
_refused = select(func.count()).where(Refusal.participant == Participant.id).scalar_subquery()
_standing = (
    select(Observation.reputation)
    .where(Observation.participant == Participant.id, Observation.reputation.is_not(None))
    .order_by(Observation.round.desc())
    .limit(1)
    .scalar_subquery()
)
SHEETS = {
    "participants": Sheet(
        select(
            Participant.id,
            Participant.enrolled,
            Participant.seen,
            Participant.invitation.is_not(None).label("invited"),
            _standing.label("reputation"),
            _sent.label("rounds"),
            _refused.label("refused"),
        ),
        (Participant.id,),
    ),
    "rounds": Sheet(
        select(
            Round.id,
            Round.state,
            Round.base,
            Round.result,
            Round.opened,
            Round.deadline,
            Round.closed,
            Round.ended,
            Round.minimum,
            Round.quorum,
            Round.maximum,
            Round.received,
            Round.rule,
            Round.rule_settings,
            Round.seconds,
            Round.reason,
            Round.score,
        ),
        (Round.id,),
    ),
    "observations": Sheet(
        select(
            Observation.round,
            Observation.participant,
            Observation.weight,
            Observation.reputation,
            Observation.positive,
            Observation.negative,
            Observation.refused,
            Observation.opinions,
        ),
        (Observation.round, Observation.participant),
    ),
    "models": Sheet(
        select(
            Model.version,
            Model.created,
            Model.origin,
            Model.round,
            Model.restored,
            Model.sha256,
            Model.accuracy,
            Model.class_accuracy,
        ),
        (Model.version,),
    ),
    "audit": Sheet(select(Audit.id, Audit.at, Audit.who, Audit.action, Audit.detail), (Audit.id,)),
}


@router.get("/{name}.csv")
def exported(server: Asked, who: SignedIn, name: str) -> Response:
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
