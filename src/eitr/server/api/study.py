"""A participant's study: what it asks for, their tasks, and the terms of their pages."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from eitr.pages.federated_vocabulary import TermReport
from eitr.server.api.authentication import ParticipantId
from eitr.server.api.documents import (
    StudyStanding,
    TaskDocument,
    TaskList,
    TaskReport,
    TaskResult,
    TermsReport,
    problems,
)
from eitr.server.domain.errors import NoStudyError
from eitr.server.domain.services import Services
from eitr.server.domain.study.consents import ConsentKind
from eitr.server.domain.study.tasks import Task, TaskEvent
from eitr.server.web.bodies import body_of
from eitr.server.web.dependencies import Server
from eitr.server.web.problems import Problem

router = APIRouter(tags=["study"])
HIGHEST_ID = 2**63
TERMS_PATH = "/study/terms"
LARGEST_REPORT = 512 * 1024
"""Bytes of a report: 5000 terms, twice, with their numbers."""
BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": TermsReport.model_json_schema()}},
    }
}


def _person(server: Services, participant: str) -> str:
    found = server.studies.people.of_participant(participant)
    if found is None:
        raise NoStudyError("This participant was not invited by a study, or has not consented to it yet.")
    return found


@router.get("/study", response_model=StudyStanding, responses=problems("not-enrolled", "no-study"))
def standing(response: Response, server: Server, participant: ParticipantId) -> StudyStanding:
    """Return the study that the participant is in. The first request says that the extension is installed."""
    progress = server.studies.people.progress(_person(server, participant))
    if progress.installed is None:
        server.studies.people.note_installed(progress.person)
    response.headers["Cache-Control"] = "no-store"
    study = progress.study
    return StudyStanding(
        study=study.slug,
        title=study.title,
        status=study.status.value,
        hide_prediction=study.settings.hide_prediction,
        uses_per_page=study.settings.uses_per_page,
        collect=progress.allows(ConsentKind.COLLECTION),
        terms=progress.allows(ConsentKind.TERMS),
        tasks=progress.counts.tasks,
        done=progress.counts.done,
        completion_code=progress.completion_code,
        page=f"/study/{study.slug}/me",
    )


@router.get("/tasks", response_model=TaskList, responses=problems("not-enrolled", "no-study"))
def tasks(response: Response, server: Server, participant: ParticipantId) -> TaskList:
    """Return the participant's tasks; a page that was broken is left out if another one has taken its place."""
    response.headers["Cache-Control"] = "no-store"
    return TaskList(tasks=[_document(task) for task in server.studies.tasks.all(_person(server, participant))])


@router.put(
    "/tasks/{id}",
    response_model=TaskResult,
    responses=problems("not-enrolled", "consent-needed", "no-study", "unknown-task", "study-closed", "busy"),
)
def note_task(
    response: Response,
    server: Server,
    participant: ParticipantId,
    id: Annotated[int, Path(ge=1, lt=HIGHEST_ID)],
    report: TaskReport,
) -> TaskResult:
    """Say what the person did with a task. The same again gets the same answer; another label replaces the first.

    A label that comes without consent to collection is refused, and stored nowhere.
    """
    person = _person(server, participant)
    outcome = server.studies.tasks.note(person, id, TaskEvent(report.state), report.label)
    response.headers["Cache-Control"] = "no-store"
    return TaskResult(
        tasks=outcome.counts.tasks,
        done=outcome.counts.done,
        completion_code=outcome.completion_code,
        replacement=None if outcome.replacement is None else _document(outcome.replacement),
    )


@router.put(
    TERMS_PATH,
    status_code=204,
    response_class=Response,
    openapi_extra=BODY,
    responses=problems("not-enrolled", "consent-needed", "no-study", "study-closed", "too-large", "slow", "busy"),
)
async def send_terms(request: Request, server: Server, participant: ParticipantId) -> Response:
    """Report the terms of the participant's task pages, for a new vocabulary; a later report replaces it."""
    person = await run_in_threadpool(_person, server, participant)
    progress = await run_in_threadpool(server.studies.people.progress, person)
    if not progress.allows(ConsentKind.TERMS):
        raise Problem("consent-needed", "Terms are sent only after consent to their collection, which is missing.")
    sent = await _report(request)
    report = TermReport(sent.samples, sent.weights, sent.documents)
    await run_in_threadpool(server.studies.terms.store, person, report)
    return Response(status_code=204)


async def _report(request: Request) -> TermsReport:
    """Read a report, which may be longer than other documents."""
    data = await body_of(request, LARGEST_REPORT, f"At most {LARGEST_REPORT} bytes.")
    try:
        return TermsReport.model_validate_json(data)
    except ValidationError:  # what was sent is not repeated
        raise Problem("malformed-request", "The body must be a report of samples, weights and documents.") from None


def _document(task: Task) -> TaskDocument:
    return TaskDocument(id=task.id, position=task.position, url=task.url, state=task.state.value)  # type: ignore[arg-type]
