"""The people of a study: invitations, whose links are shown once, reminders, and the reward list."""

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from eitr.server.dashboard.guard import CsrfCheckedOperator, SignedIn
from eitr.server.dashboard.rendering import address, page
from eitr.server.dashboard.routes.studies import Slug, own_address
from eitr.server.dashboard.spreadsheet import csv_text
from eitr.server.delivery.mail import Letter
from eitr.server.domain.audit import note as note_action
from eitr.server.domain.errors import InvalidInputError
from eitr.server.domain.study.register import StudyStatus
from eitr.server.domain.study.reminders import check_note, note_invitations, remind
from eitr.server.web.dependencies import Server
from eitr.server.web.forms import SubmittedForm

router = APIRouter(prefix="/studies/{slug}")
MOST = 500
LONGEST_NOTE = 200
LONGEST_SUBJECT = 150
LONGEST_LETTER = 5000
LONGEST_CODES = 10_000


@router.post("/invitations")
def invited(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm, slug: Slug) -> Response:
    """Make invitations and show their links: now and never again, so this answer is no redirect."""
    count, text = sent.number("count", 1, MOST), sent.text("note", longest=LONGEST_NOTE)
    check_note(text)  # before the codes are made, which are shown only once
    codes = server.studies.register.invite(slug, count, who=who.name)
    if text:
        note_invitations(server.database, server.key, codes, text)
    links = [own_address(server, f"/study/{slug}/start#code={code}") for code in codes]
    study = server.studies.register.get(slug)
    return page("study_links.html", who=who, study=study, kind="invitations", links=links, note=text)


@router.post("/reminders")
def reminded(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm, slug: Slug) -> Response:
    """Write to everybody who gave an address and has not finished."""
    letter = Letter(
        sent.text("subject", longest=LONGEST_SUBJECT, needed="Write a subject."),
        sent.prose("text", longest=LONGEST_LETTER, needed="Write what people are to read.") + "\n",
    )
    study = server.studies.register.get(slug)
    remind(server.database, server.settings, server.studies.contacts, study, letter, who=who.name)
    return RedirectResponse(address(f"/studies/{slug}", notice="reminded"), 303)


@router.get("/rewards.csv")
def rewards(server: Server, who: SignedIn, slug: Slug) -> Response:
    """Send the addresses, and whether their owners have finished: nothing else is known about them here.

    Not while people label: who asked again and again would see whose address came, and who finished, at which moment.
    """
    if server.studies.register.get(slug).status is not StudyStatus.CLOSED:
        raise InvalidInputError("There is a reward list once the study is closed: close it first.")
    listed = server.studies.contacts.reward_list(slug)
    note_action(server.database, who.name, "exported the reward list of a study", study=slug, addresses=len(listed))
    return csv_file(f"{slug}-rewards", [("email", "finished"), *listed])


@router.post("/codes")
def codes_checked(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm, slug: Slug) -> Response:
    """Say which completion codes are valid."""
    codes = sent.prose("codes", longest=LONGEST_CODES, needed="Paste the codes, one per line.").split()
    study = server.studies.register.get(slug)
    return page("study_codes.html", who=who, study=study, codes=server.studies.people.check_codes(slug, codes))


@router.post("/contacts/delete")
def contacts_deleted(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm, slug: Slug) -> Response:
    """Delete all addresses, as when everybody has their reward."""
    if not sent.checked("sure"):
        return RedirectResponse(address(f"/studies/{slug}", notice="not-sure"), 303)
    deleted = server.studies.contacts.delete_all(slug)
    note_action(server.database, who.name, "deleted the e-mail addresses of a study", study=slug, addresses=deleted)
    return RedirectResponse(address(f"/studies/{slug}", notice="contacts-deleted"), 303)


def csv_file(name: str, rows: list[tuple[object, ...]]) -> Response:
    """Return a table as a file for a spreadsheet."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"', "Cache-Control": "no-store"}
    return Response(csv_text(rows), headers=headers, media_type="text/csv; charset=utf-8")
