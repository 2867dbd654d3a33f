"""Studies: the list, making and changing one, opening and closing it, and how it goes."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from starlette.responses import RedirectResponse, Response

from eitr.server.dashboard.guard import CsrfCheckedOperator, SignedIn, SignedInOperator
from eitr.server.dashboard.queries.listing import Page, cut
from eitr.server.dashboard.rendering import address, page
from eitr.server.dashboard.study_form import changes, settings_from
from eitr.server.domain.errors import DomainError
from eitr.server.domain.services import Services
from eitr.server.domain.study.register import Study
from eitr.server.domain.study.reminders import unfinished
from eitr.server.domain.study.settings import StudySettings
from eitr.server.web.dependencies import Server
from eitr.server.web.errors import as_problem
from eitr.server.web.forms import Form, SubmittedForm

router = APIRouter()
Slug = Annotated[str, Path(pattern="^[a-z0-9-]{1,40}$")]


@router.get("/studies")
def listed(server: Server, who: SignedIn) -> Response:
    """Show all studies, newest first."""
    studies = server.studies.register.all()
    return page("studies.html", who=who, studies=[(one, server.studies.monitor.of(one)) for one in studies])


@router.get("/new-study")
def ask_for_a_study(who: SignedIn) -> Response:
    """Show the form that makes a study."""
    return _form(who, None, StudySettings(), "", "")


@router.post("/new-study")
def made(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm) -> Response:
    """Make a study."""
    slug, title = sent.text("slug", longest=100), sent.text("title", longest=300)
    try:
        server.studies.register.create(
            slug,
            title,
            settings_from(sent),
            who=who.name,
            founders=sent.checked("founders"),
            unbounded=sent.checked("unbounded"),
        )
    except DomainError as error:
        return _refused(who, None, sent, slug, title, error)
    return RedirectResponse(address(f"/studies/{slug}", notice="made"), 303)


@router.get("/studies/{slug}")
def shown(server: Server, who: SignedIn, slug: Slug, number: Page = 1, notice: str = "") -> Response:
    """Show how a study goes, and who has not finished."""
    study = server.studies.register.get(slug)
    with server.database.reading() as session:
        left = cut(unfinished(session, study), number)
    given, remindable = server.studies.contacts.counts(slug)
    return page(
        "study.html",
        who=who,
        notice=notice,
        study=study,
        counts=server.studies.monitor.of(study),
        left=left,
        contacts=given,
        remindable=remindable,
        mail=bool(server.settings.smtp_host and server.settings.smtp_from),
        link=f"{server.settings.own_address}/study/{slug}",
    )


@router.get("/studies/{slug}/settings")
def ask_for_changes(server: Server, who: SignedIn, slug: Slug) -> Response:
    """Show the form that changes a study."""
    study = server.studies.register.get(slug)
    return _form(who, study, study.settings, slug, study.title)


@router.post("/studies/{slug}/settings")
def changed(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm, slug: Slug) -> Response:
    """Change a study."""
    study, title = server.studies.register.get(slug), sent.text("title", longest=300)
    try:
        new = changes(study.settings, settings_from(sent))
        server.studies.register.change(slug, who=who.name, title=title, **new)
    except DomainError as error:
        return _refused(who, study, sent, slug, title, error)
    return RedirectResponse(address(f"/studies/{slug}", notice="changed"), 303)


@router.post("/studies/{slug}/{action}")
def acted(
    server: Server, who: CsrfCheckedOperator, slug: Slug, action: Literal["open", "close", "texts-changed"]
) -> Response:
    """Open or close a study, or say that its texts have changed."""
    register = server.studies.register
    {"open": register.open, "close": register.close, "texts-changed": register.texts_changed}[action](
        slug, who=who.name
    )
    return RedirectResponse(address(f"/studies/{slug}", notice=action), 303)


def _refused(
    who: SignedInOperator, study: Study | None, sent: Form, slug: str, title: str, error: DomainError
) -> Response:
    """Show the form again with what was typed, as far as it can be used."""
    try:
        typed = settings_from(sent)
    except DomainError:
        typed = study.settings if study else StudySettings()
    problem = as_problem(error)
    return _form(who, study, typed, slug, title, problem.kind.status, problem.detail)


def _form(
    who: SignedInOperator,
    study: Study | None,
    settings: StudySettings,
    slug: str,
    title: str,
    status: int = 200,
    message: str = "",
) -> Response:
    help = {name: field.description for name, field in StudySettings.model_fields.items()}
    return page(
        "study_form.html",
        status,
        who=who,
        study=study,
        settings=settings,
        slug=slug,
        title=title,
        message=message,
        help=help,
    )


def own_address(server: Services, path: str) -> str:
    """Return a whole address of this server, to send to people."""
    return f"{server.settings.own_address}{path}"
