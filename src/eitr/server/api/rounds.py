"""Rounds: which one is open, and the update to it."""

import asyncio
import base64
import binascii
import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated
from weakref import WeakValueDictionary

from fastapi import APIRouter, Header, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from eitr.model.round_plan import first_trained, read_plan
from eitr.model.update_encoding import WIDTHS
from eitr.server.api.authentication import SenderId
from eitr.server.api.documents import OpenRound, Receipt, problems
from eitr.server.db.tables import RoundRow, RoundStatus
from eitr.server.domain.clock import now
from eitr.server.domain.errors import (
    INVALID_UPDATES,
    InvalidUpdateError,
    RoundClosedError,
    UnknownRoundError,
    WrongLengthError,
)
from eitr.server.domain.ingest import note_refusal
from eitr.server.domain.services import Services
from eitr.server.domain.trust import network_hash
from eitr.server.domain.updates import ReceivedUpdate
from eitr.server.web.dependencies import Server, client_address
from eitr.server.web.problems import Problem

router = APIRouter(tags=["rounds"])
UPDATE_PATH = "/rounds/{id}/update"
DIGEST = re.compile(r"(?:^|[\s,])sha-256=:([A-Za-z0-9+/=]{44}):")
HIGHEST_ID = 2**31
FRESH_SECONDS = 0.2
MOST_REMEMBERED = 8
REFUSALS_AT_ONCE = 4
"""Refusals noted at a time: each takes a thread, and may wait for the database in it."""

BODY = {
    "requestBody": {
        "required": True,
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in WIDTHS},
    }
}


@router.get("/rounds/current", response_model=OpenRound, responses=problems("no-round"))
def current(server: Server) -> OpenRound:
    """Return the round that takes updates."""
    found = server.rounds.current()
    if found is None:
        raise Problem("no-round", "Ask again later.", {"Retry-After": "60"})
    return OpenRound.model_validate(found.document())


@router.put(
    UPDATE_PATH,
    status_code=202,
    response_model=Receipt,
    openapi_extra=BODY,
    responses=problems(
        "not-enrolled",
        "banned",
        "unknown-round",
        "slow",
        "already-sent",
        "round-closed",
        "too-large",
        "unsupported-encoding",
        *(error.code for error in INVALID_UPDATES),
        "busy",
    ),
)
async def send(
    request: Request,
    server: Server,
    participant: SenderId,
    id: Annotated[int, Path(ge=1, lt=HIGHEST_ID)],
    digest: Annotated[str, Header(alias="Content-Digest", max_length=200, description="`sha-256=:BASE64:`, RFC 9530.")],
) -> Receipt:
    """Send the trained parameters, once per round. The same bytes again are not a second update and get the same
    answer."""
    uploads: Uploads = request.app.state.uploads
    encoding = _encoding(request)
    sha256 = _sha256(digest)
    parameters = await _parameters(request, server, id, participant, sha256)
    try:
        data = await _body(request, server, participant, WIDTHS[encoding] * parameters)
        network = network_hash(server.key, id, client_address(request)) if server.settings.bounds else None
        update = ReceivedUpdate(id, participant, encoding, data, sha256, network)
        await asyncio.wrap_future(server.ingest.receive(update, parameters))
    except InvalidUpdateError as error:
        server.metrics.refusals.labels(error.code).inc()
        async with uploads.refusals:
            await run_in_threadpool(note_refusal, server.database, id, participant, error.code)
        raise
    server.metrics.updates.inc()
    return Receipt(round=id, sha256=sha256.hex())


def _encoding(request: Request) -> str:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in WIDTHS:
        raise Problem("unsupported-encoding", f"The Content-Type must be one of {', '.join(WIDTHS)}.")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem("unsupported-encoding", "Send the update without compression.")
    return kind


def _sha256(digest: str) -> bytes:
    found = DIGEST.search(digest)
    try:
        value = base64.b64decode(found[1], validate=True) if found else b""
    except binascii.Error:
        value = b""
    if len(value) != hashlib.sha256().digest_size:
        raise Problem("malformed-request", "Content-Digest must hold sha-256=:BASE64: of the bytes sent.")
    return value


class Uploads:
    """Limits how many updates are received at a time: so many altogether, and one of each participant."""

    def __init__(self, places: int) -> None:
        self._places = asyncio.Semaphore(places)
        self.refusals = asyncio.Semaphore(REFUSALS_AT_ONCE)
        """To be held while a refusal is noted."""
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def place(self, participant: str) -> AsyncIterator[None]:
        """Wait for a place. A participant takes one at most, so that nobody takes all."""
        own = self._own.setdefault(participant, asyncio.Lock())
        async with own, self._places:
            yield


class RecentRounds:
    """Remembers rounds for a moment. The transaction that stores an update looks at the round again."""

    def __init__(self) -> None:
        self._found: OrderedDict[int, tuple[float, RoundRow, int]] = OrderedDict()
        self._lookups: dict[int, asyncio.Task[tuple[RoundRow, int] | None]] = {}

    async def get(self, server: Services, id: int) -> tuple[RoundRow, int] | None:
        """Return a round and how many parameters it trains; None if there is no such round."""
        known = self._found.get(id)
        if known is not None and time.monotonic() - known[0] < FRESH_SECONDS:
            return known[1], known[2]
        lookup = self._lookups.get(id)
        if lookup is None:  # requests that come meanwhile wait for the same lookup
            lookup = self._lookups[id] = asyncio.create_task(self._look_up(server, id))
            lookup.add_done_callback(lambda _: self._lookups.pop(id, None))
        return await asyncio.shield(lookup)

    async def _look_up(self, server: Services, id: int) -> tuple[RoundRow, int] | None:
        found = await run_in_threadpool(_round_and_parameters, server, id)
        if found is not None:
            self._found[id] = (time.monotonic(), *found)
            while len(self._found) > MOST_REMEMBERED:
                self._found.popitem(last=False)
        return found


def _round_and_parameters(server: Services, id: int) -> tuple[RoundRow, int] | None:
    round = server.rounds.get(id)
    if round is None:
        return None
    base = server.models.version(round.base)
    if base is None:
        return None
    return round, base.network.size - first_trained(base.network, read_plan(round.plan))


async def _parameters(request: Request, server: Services, id: int, participant: str, sha256: bytes) -> int:
    """Return how many parameters an update has; refuse one to a round that is not open before its body is read."""
    recent: RecentRounds = request.app.state.recent_rounds
    found = await recent.get(server, id)
    if found is None:
        raise UnknownRoundError(f"There is no round {id}.")
    round, parameters = found
    late = round.status != RoundStatus.OPEN
    if not late and round.deadline <= now():
        late = not await run_in_threadpool(server.rounds.paused)  # else the deadline moves when rounds go on
    # A participant who missed the first answer, and sends the same again, gets the same answer again.
    if late and await run_in_threadpool(server.rounds.received, id, participant) != sha256:
        raise RoundClosedError
    return parameters


async def _body(request: Request, server: Services, participant: str, expected: int) -> bytearray:
    """Read the body of an update: no more bytes than expected, in the time allowed, when there is a place."""
    announced = request.headers.get("content-length")
    if announced is not None and announced.isdigit() and int(announced) != expected:
        raise WrongLengthError(expected, announced)
    uploads: Uploads = request.app.state.uploads
    data = bytearray()
    try:
        async with asyncio.timeout(server.settings.upload_seconds), uploads.place(participant):
            async for chunk in request.stream():
                data += chunk
                if len(data) > expected:
                    raise WrongLengthError(expected, "more")
    except TimeoutError:
        raise Problem("slow", f"It did not arrive within {server.settings.upload_seconds:g} s.") from None
    except ClientDisconnect:
        raise Problem("slow", "The connection ended before the update did.") from None
    if len(data) != expected:
        raise WrongLengthError(expected, len(data))
    return data
