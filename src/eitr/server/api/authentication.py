"""Authentication of participants: `Authorization: Bearer ID.SECRET`."""

import asyncio
import re
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from eitr.server.domain.participants import Participants
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
        self._waiting: list[tuple[str, str, asyncio.Future[bool]]] = []
        self._running: asyncio.Task[None] | None = None

    async def known(self, id: str, secret: str) -> bool:
        """Say whether there is such a participant with this secret."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
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
                    found: list[bool | Exception] = [*await run_in_threadpool(self._participants.all_known, claims)]
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


async def participant_id(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> str:
    """Return the id of the participant who sent a request; refuse everybody else."""
    id, dot, secret = (credentials.credentials if credentials else "").partition(".")
    well_formed = dot and ID.fullmatch(id) and 0 < len(secret) <= LONGEST_SECRET and secret.isascii()
    checks: CredentialChecks = request.app.state.credential_checks
    if not well_formed or not await checks.known(id, secret):
        raise Problem(
            "not-enrolled",
            "Send `Authorization: Bearer ID.SECRET` as enrolment gave them, or enrol again.",
            {"WWW-Authenticate": "Bearer"},
        )
    return id


ParticipantId = Annotated[str, Depends(participant_id)]
