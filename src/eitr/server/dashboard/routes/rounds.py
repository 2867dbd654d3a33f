"""Rounds: the list, one of them in detail, and what an operator can do about one that is under way or quarantined."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import RedirectResponse, Response

from eitr.server.dashboard import charts, figures
from eitr.server.dashboard.detectors import FUSED
from eitr.server.dashboard.guard import CsrfCheckedOperator, SignedIn
from eitr.server.dashboard.queries import models, participants, rounds
from eitr.server.dashboard.queries.listing import Page
from eitr.server.dashboard.rendering import address, page
from eitr.server.db.tables import RoundRow, RoundStatus
from eitr.server.domain import formal_privacy, switches
from eitr.server.domain.decisions import NoCandidateError, StillRefusedError
from eitr.server.domain.notes import about_round, notes_about
from eitr.server.domain.training import NO_POOL
from eitr.server.web.dependencies import Server
from eitr.server.web.forms import SubmittedForm
from eitr.server.web.problems import Conflict, Problem

router = APIRouter(prefix="/rounds")
Id = Annotated[int, Path(ge=1, lt=2**31)]
LONGEST_REASON = 200
NO_CANDIDATE = (
    "The model of round {} is no longer there: somebody has decided about it, or another version was published."
)


@router.get("")
def listed(server: Server, who: SignedIn, number: Page = 1, notice: str = "") -> Response:
    """Show all rounds, newest first."""
    with server.database.reading() as session:
        return page(
            "rounds.html",
            who=who,
            notice=notice,
            listing=rounds.listed(session, number),
            under_way=rounds.under_way(session),
            pause=switches.pause_of(session),
            charts=[
                one
                for one in (figures.participation(session), figures.weights(session, participants.summary(session)))
                if one
            ],
        )


@router.post("/open")
def opened(server: Server, who: CsrfCheckedOperator) -> Response:
    """Open a round now."""
    _check_not_paused(server)
    if server.rounds.open(who=who.name) is None:
        if server.training.of(server.models.current().version) is None:
            raise Conflict(NO_POOL)
        with server.database.reading() as session:
            if reason := formal_privacy.exhausted(session, server.settings):
                raise Conflict(reason)
        raise Conflict("A round is under way already. It must end before another one opens.")
    return RedirectResponse(address("/", notice="opened"), 303)


@router.get("/{id}")
def detail(server: Server, who: SignedIn, id: Id, number: Page = 1, notice: str = "") -> Response:
    """Show one round: what was made of each update, and why."""
    with server.database.reading() as session:
        found = session.get(RoundRow, id)
        if found is None:
            raise Problem("unknown-round", f"There is no round {id}.")
        return page(
            "round.html",
            who=who,
            notice=notice,
            round=found,
            pause=switches.pause_of(session),
            refused=rounds.refusals_in(session, id),
            rated=rounds.has_reputations(session, id),
            listing=rounds.observations(session, id, number),
            compared=rounds.compared(found),
            senders=None if found.rule else rounds.senders(session, id, number),
            left_out=rounds.left_out(session, id) if found.rule else [],
            notes=notes_about(session, about_round(id)),
            candidate=rounds.has_candidate(session, id),
            fused=FUSED,
            bar=charts.opinion,
            longest_reason=LONGEST_REASON,
        )


@router.post("/{id}/close")
def closed(server: Server, who: CsrfCheckedOperator, id: Id) -> Response:
    """Close an open round now: what was received is aggregated."""
    found = _known(server, id)
    _check_not_paused(server)
    if found.received == 0:
        raise Conflict("Nothing was received yet, so there is nothing to aggregate. Abandon it instead.")
    if not server.rounds.close(id, who=who.name):
        raise Conflict(f"Round {id} is not open any more.")
    return RedirectResponse(address(f"/rounds/{id}", notice="closed"), 303)


@router.post("/{id}/abandon")
def abandoned(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm, id: Id) -> Response:
    """End a round without a model."""
    _known(server, id)
    reason = sent.text("reason", longest=LONGEST_REASON, needed="Say why, for those who read the log later.")
    if not server.rounds.abandon(id, reason, RoundStatus.OPEN, RoundStatus.CLOSING, who=who.name):
        raise Conflict(f"Round {id} is being aggregated or has ended: it cannot be abandoned any more.")
    return RedirectResponse(address(f"/rounds/{id}", notice="abandoned"), 303)


@router.post("/{id}/discard")
def discarded(server: Server, who: CsrfCheckedOperator, id: Id) -> Response:
    """Delete the model of a quarantined round."""
    _known(server, id)
    try:
        server.decisions.discard(id, who.name)
    except NoCandidateError:
        raise Conflict(NO_CANDIDATE.format(id)) from None
    return RedirectResponse(address(f"/rounds/{id}", notice="discarded"), 303)


@router.get("/{id}/retry")
def ask_to_retry(server: Server, who: SignedIn, id: Id) -> Response:
    """Ask whether to try the step of a quarantined round again, and say what that means."""
    return _asked(server, who, id, "retry.html")


@router.post("/{id}/retry")
def retried(server: Server, who: CsrfCheckedOperator, id: Id) -> Response:
    """Publish as much of a quarantined round's step as the gate lets through."""
    _known(server, id)
    try:
        server.decisions.retry(id, who.name)
    except NoCandidateError:
        raise Conflict(NO_CANDIDATE.format(id)) from None
    except StillRefusedError as error:
        raise Conflict(f"The step is refused again, and so are shorter ones: nothing was published. {error}") from None
    return RedirectResponse(address(f"/rounds/{id}", notice="shortened"), 303)


@router.get("/{id}/publish")
def ask_to_publish(server: Server, who: SignedIn, id: Id) -> Response:
    """Ask whether to publish the model of a quarantined round, and say what that means."""
    return _asked(server, who, id, "publish_anyway.html")


@router.post("/{id}/publish")
def published(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm, id: Id) -> Response:
    """Publish the model of a quarantined round although the gate refused it."""
    _known(server, id)
    note = sent.text("note", longest=LONGEST_REASON, needed="Say why, for those who read the log later.")
    try:
        version = server.decisions.publish_anyway(id, who.name, note)
    except NoCandidateError:
        raise Conflict(NO_CANDIDATE.format(id)) from None
    return RedirectResponse(address(f"/models/{version}", notice="anyway"), 303)


def _asked(server: Server, who: SignedIn, id: int, template: str) -> Response:
    """Return a page that asks before the model of a quarantined round is published."""
    found = _known(server, id)
    with server.database.reading() as session:
        if not rounds.has_candidate(session, id):
            raise Conflict(NO_CANDIDATE.format(id))
        return page(
            template,
            who=who,
            round=found,
            current=models.newest(session),
            under_way=rounds.under_way(session),
            longest_reason=LONGEST_REASON,
        )


def _check_not_paused(server: Server) -> None:
    if server.rounds.paused():
        raise Conflict("Rounds are paused. Resume them on the overview first.")


def _known(server: Server, id: int) -> RoundRow:
    found = server.rounds.get(id)
    if found is None:
        raise Problem("unknown-round", f"There is no round {id}.")
    return found
