"""The start page: the round under way, and the status of everything."""

from typing import Any

from fastapi import APIRouter
from sqlalchemy.orm import Session
from starlette.responses import Response

from eitr.server.dashboard import figures
from eitr.server.dashboard.guard import SignedIn
from eitr.server.dashboard.queries import models, participants, rounds
from eitr.server.dashboard.rendering import page
from eitr.server.domain import formal_privacy
from eitr.server.domain.services import Services
from eitr.server.web.dependencies import Server

router = APIRouter()
SHOWN = 5


@router.get("/")
def overview(server: Server, who: SignedIn, notice: str = "") -> Response:
    """Show everything at a glance."""
    with server.database.reading() as session:
        everybody = participants.summary(session)
        return page(
            "overview.html",
            who=who,
            notice=notice,
            **live(session, server),
            total=len(everybody),
            model=models.newest(session),
            training=server.settings.training,
            outcomes=rounds.outcomes(session),
            latest=rounds.listed(session).rows[:SHOWN],
            lowest=participants.sorted_page(everybody, "reputation").rows[:SHOWN],
            charts=[one for one in (figures.reputations(session, everybody), figures.accuracies(session)) if one],
        )


@router.get("/live")
def live_part(server: Server, who: SignedIn) -> Response:
    """Return the part of the start page that changes from moment to moment."""
    with server.database.reading() as session:
        return page("live.html", who=who, **live(session, server))


def live(session: Session, server: Services) -> dict[str, Any]:
    """Return what is known of the round under way."""
    found = rounds.under_way(session)
    return {
        "round": found,
        "refused": 0 if found is None else rounds.refusals_in(session, found.id),
        "automatic": server.settings.automatic_rounds,
        "privacy": formal_privacy.spent(session, server.settings),
    }
