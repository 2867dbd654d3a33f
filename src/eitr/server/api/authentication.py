"""Who asks: `Authorization: Bearer ID.SECRET`."""

import asyncio
import re
import time
from collections import OrderedDict
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from eitr.server.composition.services import Services
from eitr.server.domain.keys import same, secret_hash
from eitr.server.domain.participants import Participants
from eitr.server.web.problems import Problem

ID = re.compile(r"[0-9a-f]{32}")
LONGEST = 200
REMEMBERED_SECONDS = 5.0
MOST_REMEMBERED = 10_000
MOST_TOGETHER = 100

bearer = HTTPBearer(auto_error=False, description="`ID.SECRET`, as enrolment gave them.")


class Known:
    """Who proved who they are a moment ago: somebody who sends a megabyte has just fetched one."""

    def __init__(self) -> None:
        self._until: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._waiting: list[tuple[str, str, asyncio.Future[bool]]] = []
        self._asking: asyncio.Task[None] | None = None

    async def ask(self, participants: Participants, id: str, secret: str) -> bool:
        """Look into the database; all who come while it is asked are looked up together, next."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((id, secret, answer))
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask(participants))
        return await answer

    async def _ask(self, participants: Participants) -> None:
        try:
            while self._waiting:
                asked, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
                try:
                    right = await run_in_threadpool(participants.all_known, [(id, secret) for id, secret, _ in asked])
                except Exception as error:
                    for _, _, answer in asked:
                        if not answer.done():
                            answer.set_exception(error)
                    continue
                for (_, _, answer), one in zip(asked, right, strict=True):
                    if not answer.done():
                        answer.set_result(one)
        finally:
            self._asking = None

    def has(self, id: str, secret: str) -> bool:
        """Say whether this very secret was right a moment ago."""
        found = self._until.get(id)
        return found is not None and time.monotonic() < found[1] and same(found[0], secret_hash(secret))

    def add(self, id: str, secret: str) -> None:
        """Remember that a secret was right."""
        self._until[id] = (secret_hash(secret), time.monotonic() + REMEMBERED_SECONDS)
        self._until.move_to_end(id)
        if len(self._until) > MOST_REMEMBERED:
            self._until.popitem(last=False)

    def forget(self, id: str) -> None:
        """Forget somebody who left."""
        self._until.pop(id, None)


def services(request: Request) -> Services:
    """Return the parts of the server."""
    found: Services = request.app.state.services
    return found


async def asked(request: Request) -> Services:
    """Return the same, on the spot: what is not `async` FastAPI runs in another thread."""
    return services(request)


async def participant(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> str:
    """Return the participant who asks; refuse anybody else."""
    id, dot, secret = (credentials.credentials if credentials else "").partition(".")
    if not dot or not ID.fullmatch(id) or not 0 < len(secret) <= LONGEST or not secret.isascii():
        raise _refused()
    known: Known = request.app.state.known
    if not known.has(id, secret):
        if not await known.ask(services(request).participants, id, secret):
            raise _refused()
        known.add(id, secret)
    return id


def _refused() -> Problem:
    return Problem(
        "not-enrolled",
        "Send `Authorization: Bearer ID.SECRET` as enrolment gave them, or enrol again.",
        headers={"WWW-Authenticate": "Bearer"},
    )


Asked = Annotated[Services, Depends(asked)]
Who = Annotated[str, Depends(participant)]
