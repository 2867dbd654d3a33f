"""The raters of a study: their links, how far they agree, and decisions where they do not."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import RedirectResponse, Response

from eitr.server.dashboard.guard import CsrfCheckedOperator, SignedIn
from eitr.server.dashboard.queries.agreement import LEAST_AGREEMENT, Agreement, agreement
from eitr.server.dashboard.queries.listing import Page, cut
from eitr.server.dashboard.rendering import address, page
from eitr.server.dashboard.routes.studies import Slug, own_address
from eitr.server.dashboard.routes.study_people import csv_file
from eitr.server.domain.errors import InvalidInputError
from eitr.server.domain.services import Services
from eitr.server.web.dependencies import Server
from eitr.server.web.forms import SubmittedForm
from eitr.taxonomy import TOPICS

router = APIRouter(prefix="/studies/{slug}")
Id = Annotated[int, Path(ge=1, le=2**62)]
LONGEST_NAME = 100


@router.get("/experts")
def shown(server: Server, who: SignedIn, slug: Slug, number: Page = 1, notice: str = "") -> Response:
    """Show raters, agreement, and pages to decide about."""
    found = _agreement(server, slug)
    return page(
        "study_experts.html",
        who=who,
        notice=notice,
        study=server.studies.register.get(slug),
        raters=server.studies.raters.all(slug),
        found=found,
        disputed=cut(found.disputed, number),
        least=LEAST_AGREEMENT,
        titles={topic.name: topic.title for topic in TOPICS},
    )


@router.post("/raters")
def added(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm, slug: Slug) -> Response:
    """Add a rater and show their link: now and never again."""
    name = sent.text("name", longest=LONGEST_NAME, needed="Write the rater's name.")
    token = server.studies.raters.add(slug, name, who=who.name)
    links = [own_address(server, f"/study/{slug}/rate#token={token}")]
    study = server.studies.register.get(slug)
    return page("study_links.html", who=who, study=study, kind="rater", links=links, note=name)


@router.post("/raters/{id}/remove")
def removed(server: Server, who: CsrfCheckedOperator, slug: Slug, id: Id) -> Response:
    """Remove a rater with all their ratings."""
    server.studies.raters.remove(slug, id, who=who.name)
    return RedirectResponse(address(f"/studies/{slug}/experts", notice="removed"), 303)


@router.post("/decisions/{id}")
def decided(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm, slug: Slug, id: Id) -> Response:
    """Decide the class of a page that raters disagree about."""
    server.studies.raters.decide(slug, id, sent.text("label"), who=who.name)
    return RedirectResponse(address(f"/studies/{slug}/experts", notice="decided") + "#disputed", 303)


@router.post("/truth")
def used(server: Server, who: CsrfCheckedOperator, slug: Slug) -> Response:
    """Make the agreed set the ground truth."""
    labels = _agreement(server, slug).labels
    if not labels:
        raise InvalidInputError("No page has an agreed class yet.")
    server.studies.raters.use_as_truth(slug, labels, who=who.name)
    return RedirectResponse(address(f"/studies/{slug}/experts", notice="truth"), 303)


@router.get("/agreed.csv")
def agreed(server: Server, who: SignedIn, slug: Slug) -> Response:
    """Send the agreed set, as a list of pages that can be uploaded again."""
    server.studies.register.get(slug)
    rows = [(one.url, one.label) for one in _agreement(server, slug).pages if one.label is not None]
    return csv_file(f"{slug}-agreed", [("url", "truth"), *rows])


def _agreement(server: Services, slug: str) -> Agreement:
    server.studies.register.get(slug)
    raters = server.studies.raters
    return agreement(server.studies.pages.all(slug), raters.ratings(slug), raters.decisions(slug))
