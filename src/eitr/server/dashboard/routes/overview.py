"""The start page: what is wrong, the round under way, and the status of everything; and the pause of all rounds."""

from typing import Any

from fastapi import APIRouter
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse, Response

from eitr.server.dashboard import figures
from eitr.server.dashboard.guard import CsrfCheckedOperator, SignedIn
from eitr.server.dashboard.queries import models, participants, rounds
from eitr.server.dashboard.rendering import address, page
from eitr.server.domain import formal_privacy, switches
from eitr.server.domain.alerts import found_problems
from eitr.server.domain.services import Services
from eitr.server.web.dependencies import Server
from eitr.server.web.forms import SubmittedForm
from eitr.server.web.problems import Conflict

router = APIRouter()
SHOWN = 5
LONGEST_NOTE = 200


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
            problems=found_problems(session, server.settings),
            longest_note=LONGEST_NOTE,
            total=len(everybody),
            model=models.newest(session),
            training=server.settings.training,
            outcomes=rounds.outcomes(session),
            decided=rounds.decided(session),
            latest=rounds.listed(session).rows[:SHOWN],
            lowest=participants.sorted_page(everybody, "reputation").rows[:SHOWN],
            charts=[one for one in (figures.reputations(session, everybody), figures.accuracies(session)) if one],
        )


@router.post("/pause")
def paused(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm) -> Response:
    """Pause all rounds."""
    note = sent.text("note", longest=LONGEST_NOTE, needed="Say why, for other operators and those who read the log.")
    if not switches.pause(server.database, who.name, note):
        raise Conflict("Rounds are paused already.")
    return RedirectResponse(address("/", notice="paused"), 303)


@router.post("/resume")
def resumed(server: Server, who: CsrfCheckedOperator) -> Response:
    """Let rounds go on."""
    if not switches.resume(server.database, who.name):
        raise Conflict("Rounds are not paused.")
    return RedirectResponse(address("/", notice="resumed"), 303)


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
        "pause": switches.pause_of(session),
        "refused": 0 if found is None else rounds.refusals_in(session, found.id),
        "automatic": server.settings.automatic_rounds,
        "privacy": formal_privacy.spent(session, server.settings),
    }
