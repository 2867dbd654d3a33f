"""Version 1 of the protocol between participants and server: `docs/http-protocol.md` describes it."""

from fastapi import APIRouter

from eitr.server.api import models, participants, rounds

router = APIRouter(prefix="/api/v1")
for part in (participants, models, rounds):
    router.include_router(part.router)
