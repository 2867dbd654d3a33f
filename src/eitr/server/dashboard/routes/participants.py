"""Participants: the list, and the rounds of one of them."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from starlette.responses import Response

from eitr.server.dashboard import charts, figures
from eitr.server.dashboard.guard import SignedIn
from eitr.server.dashboard.queries import participants
from eitr.server.dashboard.queries.listing import Page
from eitr.server.dashboard.queries.participants import Sort
from eitr.server.dashboard.queries.rounds import FUSED
from eitr.server.dashboard.rendering import page
from eitr.server.web.dependencies import Server
from eitr.server.web.problems import Problem

router = APIRouter(prefix="/participants")
Id = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
MOST_ROUNDS = 100


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
        drawn = (figures.reputations(session, everybody), figures.rectified(everybody))
        return page(
            "participants.html",
            who=who,
            listing=listing,
            sort=sort,
            order=order,
            charts=[one for one in drawn if one],
            invited_only=server.settings.invited_only,
        )


@router.get("/{id}")
def detail(server: Server, who: SignedIn, id: Id) -> Response:
    """Show one participant, round by round."""
    with server.database.reading() as session:
        found = participants.standing(session, id)
        if found is None:
            raise Problem("not-found", "There is no such participant; perhaps they have left.")
        history = participants.history(session, id, MOST_ROUNDS)
        seen = [took.observation for took in reversed(history) if took.observation is not None]
        return page(
            "participant.html",
            who=who,
            participant=found,
            history=history,
            most=MOST_ROUNDS,
            chart=figures.reputation_of(seen, id),
            fused=FUSED,
            bar=charts.opinion,
        )
