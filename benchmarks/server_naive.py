"""What one writes first: an endpoint that reads the octets, checks them, and inserts a row in a transaction of its own.

    python -m benchmarks.server_naive PORT DATABASE PARAMETERS

The same uvicorn, the same driver, the same promise: the answer comes after a commit that is on the disk. It lacks what
makes a server: participants and their secrets, rounds, counting, refusals, one update each.
"""

import hashlib
import sys
from datetime import UTC, datetime
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker
from starlette.concurrency import run_in_threadpool

PARAMETER_BYTES = 4


class Table(DeclarativeBase):
    """What all tables have in common."""


class NaiveUpdate(Table):
    """An update."""

    __tablename__ = "naive_updates"

    id: Mapped[int] = mapped_column(primary_key=True)
    round: Mapped[int]
    sha256: Mapped[bytes]
    received: Mapped[datetime]
    data: Mapped[bytes]


def make_engine(address: str) -> Engine:
    """Connect as our server does: SQLite with a write-ahead log, every commit on the disk; PostgreSQL as it comes."""
    if not address.startswith("sqlite"):
        return create_engine(address, pool_size=40)
    engine = create_engine(address, pool_size=40, connect_args={"timeout": 60.0})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            connection.execute(f"PRAGMA {pragma}")

    return engine


def application(address: str, parameters: int) -> FastAPI:
    """Return the application."""
    engine = make_engine(address)
    Table.metadata.create_all(engine)
    sessions = sessionmaker(engine)
    app = FastAPI()

    def insert(round: int, sha256: bytes, data: bytes) -> None:
        with sessions() as session, session.begin():
            session.add(NaiveUpdate(round=round, sha256=sha256, received=datetime.now(UTC), data=data))

    @app.put("/api/v2/rounds/{round}/update", status_code=202)
    async def send(round: int, request: Request) -> Any:
        data = await request.body()
        if len(data) != PARAMETER_BYTES * parameters or not np.isfinite(np.frombuffer(data, "<f4")).all():
            return JSONResponse({"error": "not an update"}, 422)
        sha256 = hashlib.sha256(data).digest()
        await run_in_threadpool(insert, round, sha256, data)
        return {"round": round, "sha256": sha256.hex()}

    @app.get("/api/v2/model")
    async def manifest() -> Response:
        return JSONResponse({"version": 1})

    return app


if __name__ == "__main__":
    uvicorn.run(
        application(sys.argv[2], int(sys.argv[3])),
        port=int(sys.argv[1]),
        ws="none",
        log_level="warning",
        access_log=False,
        timeout_keep_alive=30,
        backlog=2048,
    )
