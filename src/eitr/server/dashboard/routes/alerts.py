"""Alerts: which were sent, whether they arrived, and a test."""

from fastapi import APIRouter
from starlette.responses import Response

from eitr.server.dashboard.guard import CsrfCheckedOperator, SignedIn
from eitr.server.dashboard.queries import alerts
from eitr.server.dashboard.queries.listing import Page
from eitr.server.dashboard.rendering import page
from eitr.server.domain.alerts import Outcome
from eitr.server.domain.audit import note as note_action
from eitr.server.domain.services import Services
from eitr.server.web.dependencies import Server
from eitr.server.web.problems import Conflict

router = APIRouter(prefix="/alerts")


@router.get("")
def listed(server: Server, who: SignedIn, number: Page = 1) -> Response:
    """Show the alerts, newest first."""
    return _page(server, who, number)


@router.post("/test")
def tested(server: Server, who: CsrfCheckedOperator) -> Response:
    """Send a test alert on every channel, and say what became of it."""
    if not server.alerts.channels:
        raise Conflict("No alerts are set up: set EITR_ALERT_WEBHOOK or EITR_ALERT_EMAIL, and restart the server.")
    outcomes = server.alerts.test()
    told = {one.channel: one.error or "delivered" for one in outcomes}
    note_action(server.database, who.name, "sent a test alert", **told)
    return _page(server, who, 1, outcomes)


def _page(server: Services, who: SignedIn, number: int, outcomes: list[Outcome] | None = None) -> Response:
    with server.database.reading() as session:
        return page(
            "alerts.html",
            who=who,
            listing=alerts.listed(session, number),
            channels=[channel.name for channel in server.alerts.channels],
            outcomes=outcomes or [],
        )
