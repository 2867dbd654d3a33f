"""A participant's own page: what to do next, the e-mail address, consents, and their data."""

import json
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from eitr.server.domain.errors import InvalidInputError
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.people import Progress
from eitr.server.study_site.consent_texts import check_shown, kinds_of, shown_hash, shown_text
from eitr.server.study_site.guard import INVITATION, CsrfCheckedPerson, Person, Visitor, remember
from eitr.server.study_site.rendering import Visit
from eitr.server.study_site.routes.start import HIGHEST_VERSION, LONGEST_CODE
from eitr.server.web.cookies import cookie
from eitr.server.web.dependencies import Server
from eitr.server.web.forms import SubmittedForm
from eitr.server.web.packages import offered

router = APIRouter(prefix="/study/{slug}/me")
NOTICES = {
    "contact-saved": ("reward", "saved"),
    "contact-deleted": ("reward", "deleted"),
    "consent-given": ("consents", "was_given"),
    "consent-withdrawn": ("consents", "withdrawn"),
}


@router.get("")
def page(request: Request, server: Server, person: Person, done: str = "") -> Response:
    """Show what is done and what comes next."""
    return _page(request, server, person, done=done)


@router.get("/data")
def data(server: Server, person: Person) -> Response:
    """Hand out what is stored about a participant, but for the e-mail address: no file has it next to labels."""
    return _download(server.studies.people.export(person.id), "study.json")


@router.get("/contact")
def contact(server: Server, person: Person) -> Response:
    """Hand out the e-mail address that is stored, on its own."""
    return _download({"email": server.studies.contacts.email_of(person.id)}, "address.json")


@router.post("/code")
def code(request: Request, server: Server, person: CsrfCheckedPerson, sent: SubmittedForm) -> Response:
    """Remember the code again, in a cookie alone, for the link that connects the extension."""
    typed = sent.text("code", longest=LONGEST_CODE)
    if not typed.isascii():  # no code, and no cookie can hold it
        return _page(request, server, person, 400, message=Visit(request, person.study).say("start", "wrong_code"))
    answer = _back(person, "", "connect")
    remember(request, answer, person.study, INVITATION, typed)
    return answer


@router.post("/contact")
def store_contact(request: Request, server: Server, person: CsrfCheckedPerson, sent: SubmittedForm) -> Response:
    """Store an e-mail address."""
    try:
        server.studies.contacts.store(person.id, sent.secret("email"))
    except InvalidInputError:
        visit = Visit(request, person.study)
        return _page(request, server, person, 400, message=visit.say("reward", "wrong"))
    return _back(person, "contact-saved", "reward")


@router.post("/contact/delete")
def delete_contact(server: Server, person: CsrfCheckedPerson) -> Response:
    """Delete the e-mail address."""
    server.studies.contacts.delete(person.id)
    return _back(person, "contact-deleted", "reward")


@router.post("/consents/{kind}/give")
def give(
    request: Request, server: Server, person: CsrfCheckedPerson, sent: SubmittedForm, kind: ConsentKind
) -> Response:
    """Consent to something more, or to a newer text."""
    visit = Visit(request, person.study, sent.text("shown", longest=8))
    version = sent.number("version", 1, HIGHEST_VERSION)
    check_shown(visit, person.study, sent)
    server.studies.people.give_consent(person.id, kind, shown_text(visit, kind), version)
    return _back(person, "consent-given", "consents")


@router.post("/consents/{kind}/withdraw")
def take_back(server: Server, person: CsrfCheckedPerson, kind: ConsentKind) -> Response:
    """End a consent; what was collected with it is deleted."""
    server.studies.people.take_back_consent(person.id, kind)
    return _back(person, "consent-withdrawn", "consents")


def _download(content: dict[str, Any], name: str) -> Response:
    headers = {"Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(json.dumps(content, indent=2, ensure_ascii=False), media_type="application/json", headers=headers)


def _back(person: Visitor, done: str, part: str) -> Response:
    query = f"?done={done}" if done else ""
    return RedirectResponse(f"/study/{person.study.slug}/me{query}#{part}", 303)


def _page(
    request: Request, server: Server, person: Visitor, status: int = 200, *, done: str = "", message: str = ""
) -> Response:
    visit = Visit(request, person.study)
    progress = server.studies.people.progress(person.id)
    asked = kinds_of(person.study)
    return visit.page(
        "me.html",
        status,
        csrf=person.csrf,
        progress=progress,
        steps=steps(progress),
        asked=asked,
        # A consent that is not asked for any more is still in force, and can be taken back.
        kinds=[kind for kind in ConsentKind if kind in asked or kind in progress.consents],
        texts=shown_hash(visit, person.study),
        outdated=any(one.version != person.study.consent_version for one in map(progress.consents.get, asked) if one),
        packages=offered(server.settings),
        code=cookie(request, INVITATION),
        guidance=visit.text("sensitive_data"),
        notice=visit.say(*NOTICES[done]) if done in NOTICES else "",
        message=message,
    )


def steps(progress: Progress) -> list[tuple[str, str]]:
    """Return each step and whether it is done, next or later."""
    reached = (True, progress.installed, progress.installed, progress.finished, progress.finished)
    names = ("consent", "install", "join", "tasks", "done")
    found, following = [], True
    for name, when in zip(names, reached, strict=True):
        state = "done" if when else "next" if following else "later"
        following = following and bool(when)
        found.append((name, state))
    return found
