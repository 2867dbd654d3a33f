"""Authentication of participants: `Authorization: Bearer ID.SECRET`."""

import asyncio
import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from eitr.server.domain.errors import BannedError
from eitr.server.domain.participants import Access, Participants
from eitr.server.web.problems import Problem

ID = re.compile(r"[0-9a-f]{32}")
LONGEST_SECRET = 200
MOST_TOGETHER = 100

bearer = HTTPBearer(auto_error=False, description="`ID.SECRET`, as enrolment gave them.")


class CredentialChecks:
    """Checks credentials in the database, those of requests that come at the same time with one query.

    With 64 clients on PostgreSQL a query for each request costs a quarter of the updates per second.
    """

    def __init__(self, participants: Participants) -> None:
        self._participants = participants
        self._waiting: list[tuple[str, str, asyncio.Future[Access]]] = []
        self._running: asyncio.Task[None] | None = None

    async def access(self, id: str, secret: str) -> Access:
        """Return what these credentials allow."""
        answer: asyncio.Future[Access] = asyncio.get_running_loop().create_future()
        self._waiting.append((id, secret, answer))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
                claims = [(id, secret) for id, secret, _ in batch]
                try:
                    found: list[Access | Exception] = [*await run_in_threadpool(self._participants.access, claims)]
                except Exception as error:
                    found = [error] * len(batch)
                for (_, _, answer), one in zip(batch, found, strict=True):
                    if answer.done():  # the request was cancelled
                        continue
                    if isinstance(one, Exception):
                        answer.set_exception(one)
                    else:
                        answer.set_result(one)
        finally:
            self._running = None


@dataclass(frozen=True, slots=True)
class _Known:
    """A participant who sent a request."""

    id: str
    access: Access


async def _known(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> _Known:
    """Return the participant who sent a request; refuse everybody else."""
    id, dot, secret = (credentials.credentials if credentials else "").partition(".")
    well_formed = dot and ID.fullmatch(id) and 0 < len(secret) <= LONGEST_SECRET and secret.isascii()
    checks: CredentialChecks = request.app.state.credential_checks
    access = await checks.access(id, secret) if well_formed else Access.NONE
    if access is Access.NONE:
        raise Problem(
            "not-enrolled",
            "Send `Authorization: Bearer ID.SECRET` as enrolment gave them, or enrol again.",
            {"WWW-Authenticate": "Bearer"},
        )
    return _Known(id, access)


async def participant_id(known: Annotated[_Known, Depends(_known)]) -> str:
    """Return the id of the participant who sent a request, banned or not."""
    return known.id


async def sender_id(known: Annotated[_Known, Depends(_known)]) -> str:
    """Return the id of the participant who sends an update; refuse one who is banned."""
    if known.access is not Access.FULL:
        raise BannedError
    return known.id


ParticipantId = Annotated[str, Depends(participant_id)]
SenderId = Annotated[str, Depends(sender_id)]
