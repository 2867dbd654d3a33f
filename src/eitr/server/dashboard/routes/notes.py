"""Notes about participants, rounds and versions: writing and deleting them."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import RedirectResponse, Response

from eitr.server.dashboard.guard import CsrfCheckedOperator, SignedInOperator
from eitr.server.dashboard.rendering import address
from eitr.server.domain.notes import about_participant, about_round, about_version, delete_note, write_note
from eitr.server.domain.services import Services
from eitr.server.web.dependencies import Server
from eitr.server.web.forms import Form, SubmittedForm
from eitr.server.web.problems import Problem

router = APIRouter(prefix="/notes")
ParticipantKey = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
NumberKey = Annotated[int, Path(ge=1, lt=2**31)]
LONGEST_NOTE = 1000
PAGES = {"participant": "participants", "round": "rounds", "version": "models"}


@router.post("/participant/{id}")
def about_one_participant(
    server: Server, who: CsrfCheckedOperator, sent: SubmittedForm, id: ParticipantKey
) -> Response:
    """Write a note about a participant."""
    return _written(server, who, sent, about_participant(id))


@router.post("/round/{id}")
def about_one_round(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm, id: NumberKey) -> Response:
    """Write a note about a round."""
    return _written(server, who, sent, about_round(id))


@router.post("/version/{id}")
def about_one_version(server: Server, who: CsrfCheckedOperator, sent: SubmittedForm, id: NumberKey) -> Response:
    """Write a note about a version of the model."""
    return _written(server, who, sent, about_version(id))


@router.post("/{id}/delete")
def deleted(server: Server, who: CsrfCheckedOperator, id: NumberKey) -> Response:
    """Delete a note."""
    about = delete_note(server.database, id, who.name)
    if about is None:
        raise Problem("not-found", "There is no such note; perhaps somebody has deleted it.")
    return _back(about, "note-deleted")


def _written(server: Services, who: SignedInOperator, sent: Form, about: str) -> Response:
    text = sent.prose("text", longest=LONGEST_NOTE, needed="Write something first.")
    if not write_note(server.database, about, text, who.name):
        raise Problem("not-found", "There is nothing to write about at this address; perhaps it was deleted.")
    return _back(about, "note-written")


def _back(about: str, notice: str) -> Response:
    kind, _, key = about.partition(" ")
    return RedirectResponse(address(f"/{PAGES[kind]}/{key}", notice=notice), 303)
