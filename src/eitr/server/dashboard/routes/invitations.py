"""Invitations: making codes, which are shown once, and ending them."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import RedirectResponse, Response

from eitr.server.dashboard.guard import CsrfCheckedOperator, SignedIn
from eitr.server.dashboard.queries import invitations
from eitr.server.dashboard.queries.listing import Page
from eitr.server.dashboard.rendering import address, page
from eitr.server.domain.audit import note as note_action
from eitr.server.web.dependencies import Server
from eitr.server.web.forms import SubmittedForm
from eitr.server.web.problems import Problem

router = APIRouter(prefix="/invitations")
Hash = Annotated[str, Path(pattern="^[0-9a-f]{64}$")]
MOST = 200
LONGEST_NOTE = 200


@router.get("")
def listed(server: Server, who: SignedIn, number: Page = 1, notice: str = "") -> Response:
    """Show all invitations, newest first."""
    with server.database.reading() as session:
        return page(
            "invitations.html",
            who=who,
            notice=notice,
            listing=invitations.listed(session, number),
            invited_only=server.settings.invited_only,
            most=MOST,
            longest=LONGEST_NOTE,
        )


@router.post("")
def made(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm) -> Response:
    """Make invitations and show their codes: now and never again, so this answer is no redirect."""
    count = sent.number("count", 1, MOST)
    note = sent.text("note", longest=LONGEST_NOTE)
    founders, unbounded = sent.checked("founders"), sent.checked("unbounded")
    codes = server.participants.invite_batch(count, note, who=who.name, founders=founders, unbounded=unbounded)
    return page("codes.html", who=who, codes=codes, note=note)


@router.post("/{hash}/revoke")
def revoked(server: Server, who: CsrfCheckedOperator, hash: Hash) -> Response:
    """End an invitation."""
    if not server.participants.revoke(bytes.fromhex(hash)):
        raise Problem("not-found", "There is no such invitation.")
    note_action(server.database, who.name, "revoked an invitation", invitation=hash[:8])
    return RedirectResponse(address("/invitations", notice="revoked"), 303)
