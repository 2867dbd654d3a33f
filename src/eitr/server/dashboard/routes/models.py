"""Models: the versions, one of them in detail, two of them compared, and going back to one."""

from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, Path, Query
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse, Response

from eitr.server.dashboard import figures
from eitr.server.dashboard.guard import CsrfCheckedOperator, SignedIn
from eitr.server.dashboard.queries import comparison, models, rounds
from eitr.server.dashboard.queries.listing import Page
from eitr.server.dashboard.rendering import address, page
from eitr.server.domain.gate import FEWEST_PAGES
from eitr.server.domain.models import AnotherVersionError, roll_back
from eitr.server.domain.notes import about_version, notes_about
from eitr.server.web.dependencies import Server
from eitr.server.web.problems import Conflict, Problem

router = APIRouter(prefix="/models")
HIGHEST = 2**31
Number = Annotated[int, Path(ge=1, lt=HIGHEST)]


@router.get("")
def listed(server: Server, who: SignedIn, number: Page = 1) -> Response:
    """Show all versions, newest first."""
    with server.database.reading() as session:
        return page(
            "models.html",
            who=who,
            listing=models.listed(session, number),
            newest=models.newest(session),
            chart=figures.accuracies(session),
            validation_counts=server.validation.counts,
            validation_shipped=str(files("eitr").joinpath("assets", "validation.jsonl")),
            validation_file=server.settings.validation_pages is not None,
            fewest_pages=FEWEST_PAGES,
        )


@router.get("/compare")
def compared(
    server: Server,
    who: SignedIn,
    before: Annotated[int | None, Query(alias="from", ge=1, lt=HIGHEST)] = None,
    after: Annotated[int | None, Query(alias="to", ge=1, lt=HIGHEST)] = None,
) -> Response:
    """Compare two versions on the validation pages; by default the newest with the one before it."""
    with server.database.reading() as session:
        current = models.newest(session)
        last = after if after is not None else 1 if current is None else current.version
        new = _known(session, last)
        old = _known(session, before if before is not None else max(1, last - 1))
        found = comparison.comparison(session, server.validation, old.version, new.version)
        return page(
            "compare.html",
            who=who,
            old=old,
            new=new,
            newest=current,
            found=found,
            accuracy=comparison.stored(old, new) if found is None else found.accuracy,
            most=comparison.MOST_PAGES,
        )


@router.get("/{version}")
def detail(server: Server, who: SignedIn, version: Number, notice: str = "") -> Response:
    """Show one version."""
    with server.database.reading() as session:
        found = _known(session, version)
        before = models.version(session, version - 1)
        return page(
            "model.html",
            who=who,
            notice=notice,
            model=found,
            before=before,
            notes=notes_about(session, about_version(version)),
        )


@router.get("/{version}/rollback")
def ask(server: Server, who: SignedIn, version: Number) -> Response:
    """Ask whether to go back, and say what that means."""
    with server.database.reading() as session:
        found = _known(session, version)
        current = models.newest(session)
        under_way = rounds.under_way(session)
    _check(found)
    return page("rollback.html", who=who, model=found, current=current, under_way=under_way)


@router.post("/{version}/rollback")
def go_back(server: Server, who: CsrfCheckedOperator, version: Number) -> Response:
    """Publish the weights of an earlier version as a new one."""
    with server.database.reading() as session:
        _check(_known(session, version))
    try:
        new = roll_back(server.database, version, who.name)
    except AnotherVersionError:
        raise Conflict(
            "Another version was published at the same moment, and nothing was rolled back. Look at the new version, "
            "and roll back again if you still want to."
        ) from None
    if new is None:
        raise Problem("unknown-version", f"The parameters of version {version} are no longer kept.")
    return RedirectResponse(address(f"/models/{new}", notice="rollback"), 303)


def _known(session: Session, version: int) -> models.VersionSummary:
    found = models.version(session, version)
    if found is None:
        raise Problem("unknown-version", f"There is no version {version}.")
    return found


def _check(found: models.VersionSummary) -> None:
    if found.newest:
        raise Conflict(f"Version {found.version} is the current one already.")
    if not found.kept:
        raise Conflict(f"The parameters of version {found.version} are no longer kept.")
