"""The parts of a running server that requests use."""

import threading
from dataclasses import dataclass, field

from eitr.datasets.validation import ValidationSet
from eitr.server.db.connection import Database
from eitr.server.domain.alerts import Alerts
from eitr.server.domain.decisions import Decisions
from eitr.server.domain.ingest import Ingest
from eitr.server.domain.keys import Key
from eitr.server.domain.limits import EnrolmentLimit, RequestLimit
from eitr.server.domain.metrics import Metrics
from eitr.server.domain.models import Models
from eitr.server.domain.participants import Participants
from eitr.server.domain.rounds import Rounds
from eitr.server.domain.study.services import StudyServices
from eitr.server.domain.training import Training
from eitr.server.domain.worker import Worker
from eitr.server.settings import ServerSettings


@dataclass(frozen=True, slots=True)
class Services:
    """All parts, and the threads that run beside the requests."""

    settings: ServerSettings
    database: Database
    validation: ValidationSet
    key: Key
    training: Training
    models: Models
    rounds: Rounds
    decisions: Decisions
    participants: Participants
    studies: StudyServices
    enrolments: EnrolmentLimit
    requests: RequestLimit
    ingest: Ingest
    metrics: Metrics
    worker: Worker | None
    alerts: Alerts
    _ended: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Start the threads."""
        fresh = threading.Thread(target=self.models.keep_fresh, args=(self._ended,), name="models", daemon=True)
        fresh.start()
        self._threads.append(fresh)
        self.alerts.start()
        if self.worker is not None:
            thread = threading.Thread(target=self.worker.run, name="worker", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Finish what was begun, then close everything."""
        self._ended.set()
        if self.worker is not None:
            self.worker.stop()
        self.alerts.stop()
        for thread in self._threads:
            thread.join()
        self.ingest.close()
        self.database.close()
