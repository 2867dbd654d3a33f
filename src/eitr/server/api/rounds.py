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

from eitr.model.update_encoding import WIDTHS
from eitr.server.api.authentication import Asked, Who
from eitr.server.api.documents import OpenRound, Receipt, problems
from eitr.server.composition.services import Services
from eitr.server.db.tables import Round, State
from eitr.server.domain.clock import now
from eitr.server.domain.ingest import note_refusal
from eitr.server.domain.updates import Sent
from eitr.server.web.http_protocol import FILL, IN_ONE_PIECE
from eitr.server.web.problems import Problem

router = APIRouter(tags=["rounds"])
DIGEST = re.compile(r"(?:^|[\s,])sha-256=:([A-Za-z0-9+/=]{44}):")
HIGHEST = 2**31
FRESH_SECONDS = 0.2
EVIDENCE = {"wrong-length", "wrong-digest", "not-finite", "too-great"}
"""What an update is refused for by its octets alone: it is held against the participant."""

BODY = {
    "requestBody": {
        "required": True,
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in WIDTHS},
    }
}


@router.get("/rounds/current", response_model=OpenRound, responses=problems("no-round"))
def current(server: Asked) -> OpenRound:
    """Return the round that takes updates."""
    found = server.rounds.current()
    if found is None:
        raise Problem("no-round", "Ask again later.", headers={"Retry-After": "60"})
    return OpenRound.model_validate(found.document())


@router.put(
    "/rounds/{id}/update",
    status_code=202,
    response_model=Receipt,
    openapi_extra=BODY,
    responses=problems(
        "not-enrolled",
        "unknown-round",
        "slow",
        "already-sent",
        "round-closed",
        "too-large",
        "unsupported-encoding",
        *sorted(EVIDENCE),
        "busy",
    ),
)
async def send(
    request: Request,
    server: Asked,
    participant: Who,
    id: Annotated[int, Path(ge=1, lt=HIGHEST)],
    digest: Annotated[str, Header(alias="Content-Digest", max_length=200, description="`sha-256=:BASE64:`, RFC 9530.")],
) -> Receipt:
    """Send an update: one a round. The same octets again are no second update, and are answered alike."""
    encoding = _encoding(request)
    expected = _sha256(digest)
    parameters = await _wanted(request, server, id, participant, expected)
    try:
        data = await _body(request, server, participant, WIDTHS[encoding] * parameters)
        await asyncio.wrap_future(server.ingest.receive(Sent(id, participant, encoding, data, expected), parameters))
    except Problem as problem:
        if problem.kind.slug in EVIDENCE:
            server.metrics.refusals.labels(problem.kind.slug).inc()
            await run_in_threadpool(note_refusal, server.database, id, participant, problem.kind.slug)
        raise
    server.metrics.updates.inc()
    return Receipt(round=id, sha256=expected.hex())


def _encoding(request: Request) -> str:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in WIDTHS:
        raise Problem("unsupported-encoding", f"The Content-Type must be one of {', '.join(WIDTHS)}.")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem("unsupported-encoding", "Updates are sent as they are, without compression.")
    return kind


def _sha256(digest: str) -> bytes:
    found = DIGEST.search(digest)
    try:
        value = base64.b64decode(found[1], validate=True) if found else b""
    except binascii.Error:
        value = b""
    if len(value) != hashlib.sha256().digest_size:
        raise Problem("malformed-request", "Content-Digest must hold sha-256=:BASE64: of the octets.")
    return value


class Uploads:
    """Places for updates that are being received: so many altogether, and one for each participant."""

    def __init__(self, places: int) -> None:
        self._places = asyncio.Semaphore(places)
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def place(self, participant: str) -> AsyncIterator[None]:
        """Wait for a place; first for one's own, so that nobody takes those of others."""
        own = self._own.setdefault(participant, asyncio.Lock())
        async with own, self._places:
            yield


class RecentRounds:
    """What a moment ago was known of a round; the transaction that stores an update looks again."""

    def __init__(self) -> None:
        self._found: OrderedDict[int, tuple[float, Round, int]] = OrderedDict()
        self._asked: dict[int, asyncio.Task[tuple[Round, int] | None]] = {}

    async def get(self, server: Services, id: int) -> tuple[Round, int] | None:
        """Return a round and how many parameters its base model has."""
        known = self._found.get(id)
        if known is not None and time.monotonic() - known[0] < FRESH_SECONDS:
            return known[1], known[2]
        asked = self._asked.get(id)
        if asked is None:  # whoever else wants to know meanwhile waits for the same answer
            asked = self._asked[id] = asyncio.create_task(self._ask(server, id))
            asked.add_done_callback(lambda _: self._asked.pop(id, None))
        return await asyncio.shield(asked)

    async def _ask(self, server: Services, id: int) -> tuple[Round, int] | None:
        found = await run_in_threadpool(_looked_up, server, id)
        if found is not None:
            self._found[id] = (time.monotonic(), *found)
            while len(self._found) > 8:
                self._found.popitem(last=False)
        return found


def _looked_up(server: Services, id: int) -> tuple[Round, int] | None:
    round = server.rounds.get(id)
    if round is None:
        return None
    base = server.models.version(round.base)
    return None if base is None else (round, base.network.size)


async def _wanted(request: Request, server: Services, id: int, participant: str, sha256: bytes) -> int:
    """Return how many parameters an update has; refuse before a megabyte is read what no round waits for."""
    recent: RecentRounds = request.app.state.recent_rounds
    found = await recent.get(server, id)
    if found is None:
        raise Problem("unknown-round", f"There is no round {id}.")
    round, parameters = found
    late = round.state != State.OPEN or round.deadline <= now()
    # Whoever did not hear the first answer, and sends the same again, is told the same again.
    if late and await run_in_threadpool(server.rounds.received, id, participant) != sha256:
        raise Problem("round-closed", "The round takes no more updates; ask for the current one.")
    return parameters


async def _body(request: Request, server: Services, participant: str, expected: int) -> bytearray:
    """Read the octets: not more than expected, not for ever, and not too many at a time."""
    announced = request.headers.get("content-length")
    if announced is not None and announced.isdigit() and int(announced) != expected:
        raise Problem("wrong-length", f"An update has {expected} octets here, this one {announced}.")
    uploads: Uploads = request.app.state.uploads
    try:
        async with asyncio.timeout(server.settings.upload_seconds), uploads.place(participant):
            in_one_piece = request.scope.get("extensions", {}).get(IN_ONE_PIECE)
            if announced is not None and in_one_piece is not None:
                data = bytearray(expected)
                if not await in_one_piece[FILL](memoryview(data)):
                    raise ClientDisconnect
                return data
            data = bytearray()
            async for chunk in request.stream():
                data += chunk
                if len(data) > expected:
                    raise Problem("wrong-length", f"An update has {expected} octets here, this one more.")
    except TimeoutError:
        raise Problem("slow", f"It did not arrive within {server.settings.upload_seconds:g} s.") from None
    except ClientDisconnect:
        raise Problem("slow", "The connection ended before the update did.") from None
    if len(data) != expected:
        raise Problem("wrong-length", f"An update has {expected} octets here, this one {len(data)}.")
    return data
