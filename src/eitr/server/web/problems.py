"""Errors as documents of one shape (RFC 9457): a type for programs, a sentence for people."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem, as `docs/http-protocol.md` lists it."""

    slug: str
    status: int
    title: str


KINDS = {
    kind.slug: kind
    for kind in (
        Kind("malformed-request", 400, "The request is not what this address expects."),
        Kind("not-enrolled", 401, "The participant is unknown, or the secret is wrong."),
        Kind("token-needed", 401, "This address asks for a token, which was not sent or is wrong."),
        Kind("invitation-needed", 403, "Enrolment needs an invitation that is valid."),
        Kind("banned", 403, "The operator of this server takes no updates from this participant."),
        Kind("consent-needed", 403, "The person has not consented to this; nothing was stored."),
        Kind("not-found", 404, "There is nothing at this address."),
        Kind("no-round", 404, "No round is open."),
        Kind("unknown-round", 404, "There is no such round."),
        Kind("unknown-version", 404, "There is no such version of the model."),
        Kind("unknown-pool", 404, "There is no such pool of cover pages."),
        Kind("no-study", 404, "There is no such study, or this participant is in none."),
        Kind("unknown-task", 404, "The person has no such task."),
        Kind("method-not-allowed", 405, "This address does not take that method."),
        Kind("slow", 408, "The update took too long to arrive."),
        Kind("already-sent", 409, "Another update was already received from this participant in this round."),
        Kind("round-closed", 409, "The round takes no more updates."),
        Kind("study-closed", 409, "The study is not open."),
        Kind("texts-changed", 409, "The texts that are consented to have changed."),
        Kind("update-needed", 410, "This server speaks version 2 of the protocol: update EITR."),
        Kind("length-required", 411, "The request must say how long it is."),
        Kind("too-large", 413, "The request is longer than anything expected here."),
        Kind("unsupported-encoding", 415, "Updates of this kind are not understood."),
        Kind("wrong-length", 422, "The update is shorter or longer than what the round trains."),
        Kind("wrong-digest", 422, "The bytes of the update do not match its digest."),
        Kind("not-finite", 422, "The update holds a NaN or an infinity."),
        Kind("too-great", 422, "The update holds a number that no training leads to."),
        Kind("too-many-requests", 429, "Too many requests from this address."),
        Kind("headers-too-large", 431, "The headers are too large."),
        Kind("failed", 500, "The server failed. It has noted what happened; try again later."),
        Kind("busy", 503, "The server is busy; try again later."),
    )
}


class Problem(Exception):  # noqa: N818 (the RFC calls it so)
    """An error that ends a request: its kind, a sentence about this case, and headers of the answer."""

    def __init__(self, slug: str, detail: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(f"{slug}: {detail}")
        self.kind, self.detail, self.headers = KINDS[slug], detail, headers or {}


class Forbidden(Problem):
    """A form that was not sent from a page of the session."""

    def __init__(self, detail: str) -> None:
        super().__init__("malformed-request", detail)
        self.kind = Kind("forbidden", 403, "This was not done.")


class Conflict(Problem):
    """Something that cannot be done any more, or not now."""

    def __init__(self, detail: str) -> None:
        super().__init__("malformed-request", detail)
        self.kind = Kind("conflict", 409, "This cannot be done now.")


def problem_document(_request: Request, problem: Problem) -> JSONResponse:
    """Return a problem as a document for programs."""
    content = {"type": f"/problems/{problem.kind.slug}", "title": problem.kind.title, "status": problem.kind.status}
    if problem.detail:
        content["detail"] = problem.detail
    return JSONResponse(content, problem.kind.status, problem.headers, MEDIA_TYPE)
