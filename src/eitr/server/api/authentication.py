"""Authentication of participants: `Authorization: Bearer ID.SECRET`."""

import re
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from eitr.server.web.dependencies import services_of
from eitr.server.web.problems import Problem

ID = re.compile(r"[0-9a-f]{32}")
LONGEST_SECRET = 200

bearer = HTTPBearer(auto_error=False, description="`ID.SECRET`, as enrolment gave them.")


async def participant_id(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> str:
    """Return the id of the participant who sent a request; refuse everybody else."""
    id, dot, secret = (credentials.credentials if credentials else "").partition(".")
    well_formed = dot and ID.fullmatch(id) and 0 < len(secret) <= LONGEST_SECRET and secret.isascii()
    if not well_formed or not await run_in_threadpool(services_of(request).participants.known, id, secret):
        raise Problem(
            "not-enrolled",
            "Send `Authorization: Bearer ID.SECRET` as enrolment gave them, or enrol again.",
            {"WWW-Authenticate": "Bearer"},
        )
    return id


ParticipantId = Annotated[str, Depends(participant_id)]
