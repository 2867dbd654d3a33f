"""Participants: the list, the rounds of one of them, and what an operator can do about one."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from starlette.responses import RedirectResponse, Response

from eitr.server.dashboard import charts, figures
from eitr.server.dashboard.detectors import FUSED
from eitr.server.dashboard.guard import CsrfCheckedOperator, SignedIn
from eitr.server.dashboard.queries import participants
from eitr.server.dashboard.queries.listing import Page
from eitr.server.dashboard.queries.participants import Sort
from eitr.server.dashboard.rendering import address, page
from eitr.server.domain import moderation
from eitr.server.domain.moderation import Measure
from eitr.server.domain.notes import about_participant, notes_about
from eitr.server.web.dependencies import Server
from eitr.server.web.forms import SubmittedForm
from eitr.server.web.problems import Conflict, Problem

router = APIRouter(prefix="/participants")
Id = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
MOST_ROUNDS = 100
LONGEST_REASON = 200
GONE = "There is no such participant; perhaps they have left."
MEASURES = {
    "mute": (Measure.MUTED, True),
    "unmute": (Measure.MUTED, False),
    "ban": (Measure.BANNED, True),
    "lift-ban": (Measure.BANNED, False),
}


@router.get("")
def listed(
    server: Server,
    who: SignedIn,
    number: Page = 1,
    sort: Sort = "reputation",
    order: Literal["up", "down"] = "up",
) -> Response:
    """Show all participants, sorted as asked."""
    with server.database.reading() as session:
        everybody = participants.summary(session)
        listing = participants.sorted_page(everybody, sort, descending=order == "down", page=number)
        drawn = (figures.reputations(session, everybody), figures.replaced(everybody))
        return page(
            "participants.html",
            who=who,
            listing=listing,
            trust=participants.trust(session, [one.id for one in listing.rows], server.settings.established_rounds),
            sort=sort,
            order=order,
            charts=[one for one in drawn if one],
            invited_only=server.settings.invited_only,
        )


@router.get("/{id}")
def detail(server: Server, who: SignedIn, id: Id, notice: str = "") -> Response:
    """Show one participant, round by round."""
    with server.database.reading() as session:
        found = participants.standing(session, id)
        if found is None:
            raise Problem("not-found", GONE)
        history = participants.history(session, id, MOST_ROUNDS)
        seen = [took.observation for took in reversed(history) if took.observation is not None]
        return page(
            "participant.html",
            who=who,
            notice=notice,
            participant=found,
            trust=participants.trust(session, [id], server.settings.established_rounds)[id],
            notes=notes_about(session, about_participant(id)),
            longest_reason=LONGEST_REASON,
            history=history,
            most=MOST_ROUNDS,
            chart=figures.reputation_of(seen, id),
            fused=FUSED,
            bar=charts.opinion,
        )


@router.post("/{id}/{action}")
def acted(
    server: Server,
    who: CsrfCheckedOperator,
    sent: SubmittedForm,
    id: Id,
    action: Literal["mute", "unmute", "ban", "lift-ban"],
) -> Response:
    """Mute or ban a participant, or undo it."""
    reason = sent.text("reason", longest=LONGEST_REASON, needed="Say why, for those who read the log later.")
    measure, on = MEASURES[action]
    done = (moderation.take if on else moderation.lift)(server.database, id, measure, who.name, reason)
    if not done:
        with server.database.reading() as session:
            if participants.standing(session, id) is None:
                raise Problem("not-found", GONE)
        raise Conflict(f"The participant is {'already' if on else 'not'} {measure}.")
    return RedirectResponse(address(f"/participants/{id}", notice=action), 303)
