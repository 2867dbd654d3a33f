"""Everything a running server is made of, put together in one place."""

import threading
from dataclasses import dataclass, field

from eitr.datasets.validation import ValidationSet
from eitr.server.db import schema
from eitr.server.db.connection import Database
from eitr.server.domain.ingest import Ingest
from eitr.server.domain.keys import Key
from eitr.server.domain.limits import Enrolments, Requests
from eitr.server.domain.metrics import Metrics
from eitr.server.domain.models import Models, publish_shipped
from eitr.server.domain.participants import Participants
from eitr.server.domain.rounds import Rounds
from eitr.server.domain.worker import Worker
from eitr.server.settings import ServerSettings


@dataclass(frozen=True, slots=True)
class Services:
    """The parts that requests use."""

    settings: ServerSettings
    database: Database
    key: Key
    models: Models
    rounds: Rounds
    participants: Participants
    enrolments: Enrolments
    requests: Requests
    ingest: Ingest
    metrics: Metrics
    worker: Worker | None
    _ended: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Start working, if this process is to."""
        fresh = threading.Thread(target=self.models.keep_fresh, args=(self._ended,), name="models", daemon=True)
        fresh.start()
        self._threads.append(fresh)
        if self.worker is not None:
            thread = threading.Thread(target=self.worker.run, name="worker", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Finish what was begun, then let go of everything."""
        self._ended.set()
        if self.worker is not None:
            self.worker.stop()
        for thread in self._threads:
            thread.join()
        self.ingest.close()
        self.database.close()


def prepared(settings: ServerSettings) -> tuple[Database, ValidationSet]:
    """Return the database, up to date and with a first model in it, and the validation pages."""
    database = Database(settings.database_address)
    database.check()
    schema.upgrade(database)
    scoring = ValidationSet(settings.validation_pages)
    publish_shipped(database, scoring)
    return database, scoring


def assembled(settings: ServerSettings) -> Services:
    """Return all parts of a server, ready to start."""
    key = Key.of(settings.folder)
    database, scoring = prepared(settings)
    metrics = Metrics()
    return Services(
        settings=settings,
        database=database,
        key=key,
        models=Models(database),
        rounds=Rounds(database, settings),
        participants=Participants(database, key),
        enrolments=Enrolments(database, key, settings.enrolments_per_hour),
        requests=Requests(settings.requests_per_minute),
        ingest=Ingest(database),
        metrics=metrics,
        worker=Worker(database, settings, scoring, metrics) if settings.worker else None,
    )
