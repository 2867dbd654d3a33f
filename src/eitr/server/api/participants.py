"""Enrolment, and a participant's own data."""

from fastapi import APIRouter, Request, Response

from eitr.server.api.authentication import ParticipantId
from eitr.server.api.documents import Credentials, Enrolment, Export, problems
from eitr.server.domain.errors import InvitationNeededError
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


@router.delete("/me", status_code=204, response_class=Response, responses=problems("not-enrolled"))
def erase(server: Server, participant: ParticipantId) -> Response:
    """Delete everything that is kept about the participant, who takes part no longer."""
    server.participants.erase(participant)
    return Response(status_code=204)
