"""The settings that are in effect, and where each comes from."""

from dataclasses import dataclass

from fastapi import APIRouter
from starlette.responses import Response

from eitr.server.dashboard.guard import SignedIn
from eitr.server.dashboard.rendering import page
from eitr.server.settings import ServerSettings, Source, described, shown, variable
from eitr.server.web.dependencies import Server

router = APIRouter(prefix="/settings")


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One setting as the page shows it."""

    variable: str
    value: str
    default: str
    source: Source
    description: str


@router.get("")
def listed(server: Server, who: SignedIn) -> Response:
    """Show all settings, those that were set first."""
    found = _shown(server.settings)
    return page(
        "settings.html",
        who=who,
        chosen=[one for one in found if one.source != "default"],
        untouched=[one for one in found if one.source == "default"],
    )


def _shown(settings: ServerSettings) -> list[ShownSetting]:
    return [
        ShownSetting(
            variable(name),
            shown(getattr(settings, name)),
            shown(field.default),
            settings.source(name),
            field.description or "",
        )
        for name, field in described()
    ]
