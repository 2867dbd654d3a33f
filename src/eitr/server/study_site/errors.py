"""Problems as pages, in the visitor's language."""

from fastapi import Request
from starlette.responses import Response

from eitr.server.domain.study.register import SLUG, Study
from eitr.server.study_site.rendering import Visit
from eitr.server.web.dependencies import services_of
from eitr.server.web.problems import Kind, Problem

SENTENCES = {
    "forbidden": "old",
    "too-many-requests": "too_many",
    "no-study": "no_study",
    "person-needed": "sign_in",
    "package-needs-consent": "package",
    "not-found": "not_found",
    "study-closed": "study_closed",
    "texts-changed": "texts_changed",
    "busy": "busy",
    "failed": "failed",
}
"""What is said about a kind of problem. Others are told in English: only a broken form can lead to them."""


class PersonNeeded(Problem):
    """A page of a participant, asked for by somebody who is none."""

    def __init__(self) -> None:
        super().__init__("malformed-request")
        self.kind = Kind("person-needed", 403, "This page belongs to a participant of the study.")


class PackageNeedsConsent(Problem):
    """The extension, asked for by somebody who has not consented."""

    def __init__(self) -> None:
        super().__init__("malformed-request")
        self.kind = Kind("package-needs-consent", 403, "The extension can be downloaded after consent.")


def find_study(request: Request, slug: str) -> Study | None:
    """Return the study of an address, if there is one."""
    return services_of(request).studies.register.find(slug) if SLUG.fullmatch(slug) else None


def problem_page(request: Request, problem: Problem) -> Response:
    """Return a problem as a page, of the study that the address names if there is one."""
    visit = Visit(request, _study_for_problem(request, problem))
    name = SENTENCES.get(problem.kind.slug)
    return visit.page(
        "problem.html",
        problem.kind.status,
        headers=problem.headers,
        detail=visit.say("problem", name) if name else problem.detail,
        code=problem.kind.status,
    )


def _study_for_problem(request: Request, problem: Problem) -> Study | None:
    """Return the study; None where the database may be the problem, for then it cannot be asked."""
    if problem.kind.status >= 500:
        return None
    return find_study(request, request.path_params.get("slug", ""))
