"""The audit log."""

from fastapi import APIRouter
from starlette.responses import Response

from eitr.server.dashboard.guard import SignedIn
from eitr.server.dashboard.queries import audit
from eitr.server.dashboard.queries.listing import Page
from eitr.server.dashboard.rendering import page
from eitr.server.web.dependencies import Server

router = APIRouter(prefix="/audit")


@router.get("")
def listed(server: Server, who: SignedIn, number: Page = 1) -> Response:
    """Show what was done, newest first."""
    with server.database.reading() as session:
        listing = audit.listed(session, number)
    return page("audit.html", who=who, listing=listing, days=server.settings.keep_audit_days)
