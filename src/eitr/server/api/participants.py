"""Enrolment, and a participant's own data."""

import hashlib

from fastapi import APIRouter, Request, Response

from eitr.server.api.authentication import ParticipantId
from eitr.server.api.documents import (
    Credentials,
    Enrolment,
    Export,
    RoundsTakenPartIn,
    RoundTakenPartIn,
    problems,
)
from eitr.server.api.etags import NOT_MODIFIED, IfNoneMatch, matches
from eitr.server.domain.errors import InvitationNeededError
from eitr.server.domain.round_outcomes import RoundOutcomes
from eitr.server.web.dependencies import Server, client_address

router = APIRouter(tags=["participants"])


@router.post(
    "/participants",
    status_code=201,
    response_model=Credentials,
    responses=problems("invitation-needed", "too-many-requests", "busy"),
)
def enrol(request: Request, response: Response, server: Server, wish: Enrolment | None = None) -> Credentials:
    """Take part. With the invitation of somebody who takes part already, it is their secret that changes."""
    code, invited_only = wish.invitation if wish else None, server.settings.invited_only
    if code is None and not invited_only:
        server.enrolments.count(client_address(request))
    try:
        enrolled = server.participants.enrol(code, invited_only=invited_only)
    except InvitationNeededError:
        if code is not None:
            server.enrolments.count_wrong_code(client_address(request))
        raise
    response.headers["Cache-Control"] = "no-store"
    return Credentials(id=enrolled.id, secret=enrolled.secret)


@router.get("/me/export", response_model=Export, responses=problems("not-enrolled"))
def export(response: Response, server: Server, participant: ParticipantId) -> Export:
    """Return everything that is kept about the participant."""
    response.headers["Cache-Control"] = "no-store"
    return Export.model_validate(server.participants.export(participant))


@router.get("/me/rounds", response_model=RoundsTakenPartIn, responses={**NOT_MODIFIED, **problems("not-enrolled")})
def rounds(request: Request, participant: ParticipantId, seen: IfNoneMatch = None) -> Response:
    """Return what became of the last rounds that the participant sent to.

    It is the same for everybody who sent to a round: it does not say whether their own update counted.
    """
    outcomes: RoundOutcomes = request.app.state.round_outcomes
    found = outcomes.of(participant)
    told = RoundsTakenPartIn(
        rounds=[RoundTakenPartIn(round=one.round, outcome=one.outcome, version=one.version) for one in found]
    )
    text = told.model_dump_json().encode()
    etag = f'"{hashlib.sha256(text).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "no-store"}
    if matches(seen, etag):
        return Response(status_code=304, headers=headers)
    return Response(text, headers=headers, media_type="application/json")


@router.delete("/me", status_code=204, response_class=Response, responses=problems("not-enrolled"))
def erase(server: Server, participant: ParticipantId) -> Response:
    """Delete everything that is kept about the participant, who takes part no longer."""
    server.participants.erase(participant)
    return Response(status_code=204)
