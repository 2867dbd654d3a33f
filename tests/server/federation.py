"""A federation without HTTP: the parts of a server, people who send, and a worker that steps when told."""

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eitr.model import Network
from eitr.model.round_plan import first_trained
from eitr.model.update_encoding import PARAMETERS
from eitr.server.composition.wiring import prepared_database, update_bytes
from eitr.server.domain import clock, round_aggregation
from eitr.server.domain.gate import Gate
from eitr.server.domain.ingest import Ingest
from eitr.server.domain.keys import Key
from eitr.server.domain.metrics import Metrics
from eitr.server.domain.models import Models, publish
from eitr.server.domain.participants import Participants
from eitr.server.domain.places import Places
from eitr.server.domain.rounds import Rounds
from eitr.server.domain.training import Training
from eitr.server.domain.trust import network_hash
from eitr.server.domain.updates import ReceivedUpdate
from eitr.server.domain.worker import Worker
from eitr.server.settings import ServerSettings
from tests.server.waiting import LONGEST_SECONDS

DEFAULTS = {
    "minimum": 2,
    "quorum": 4,
    "maximum": 6,
    "pause_seconds": 0.0,
    "margin": 1.0,
    "class_margin": 1.0,
    "lease_seconds": 30.0,
    "bounds": False,  # everybody is new in most tests
    # `update` has no cover pages, whose expected step the server subtracts: it must be small beside the noise.
    "private_learning_rate": 0.005,
}


class Federation:
    """Everything a test needs, on one database."""

    def __init__(self, folder: Path, address: str, **given: Any) -> None:
        self.settings = ServerSettings(folder=folder, database=address, **{**DEFAULTS, **given})
        self.database, self.scoring = prepared_database(self.settings)
        self.key = Key.of(folder)
        self.rounds = Rounds(self.database, self.settings)
        self.models = Models(self.database, Training(self.database, self.settings))
        self.participants = Participants(self.database, self.key)
        self.updates = update_bytes(self.database, self.settings, self.key)
        places = Places(self.settings.established_rounds) if self.settings.bounds else None
        self.ingest = Ingest(self.database, self.updates.store, places)
        training = Training(self.database, self.settings).of(1)
        assert training is not None
        self.plan = training.plan
        self.base = self.models.vector(1)
        self.first = first_trained(Network(), self.plan)
        """The place of the first parameter that rounds train."""
        self.people: list[str] = []

    def gate(self) -> Gate:
        """Return the check that models must pass."""
        return Gate(self.scoring, self.settings.margin, self.settings.class_margin)

    def worker(self) -> Worker:
        """Return a new worker; several may share the database."""
        return Worker(self.database, self.updates, self.settings, self.scoring, Metrics())

    def enrol(self, count: int) -> list[str]:
        """Enrol some people; return their ids, sorted."""
        new = sorted(self.participants.enrol(None, invited_only=False).id for _ in range(count))
        self.people += new
        return new

    def update(self, person: str, number: int = 0) -> bytes:
        """Return what somebody might send: honest noise, the same in every run.

        Ids are random, and with the noise of some of them the rule finds one of three people suspicious.
        """
        seed = self.people.index(person) if person in self.people else int(person[:8], 16)
        rng = np.random.default_rng((seed, number))
        trained = self.base[self.first :]
        return (trained + rng.normal(0, 0.001, trained.shape)).astype("<f4").tobytes()

    def sent(self, round: int, person: str, data: bytes | None = None, address: str = "") -> ReceivedUpdate:
        """Return an update as it is received; everybody has a network of their own unless an address is given."""
        data = self.update(person, round) if data is None else data
        network = network_hash(self.key, round, address or person) if self.settings.bounds else None
        return ReceivedUpdate(round, person, PARAMETERS, data, hashlib.sha256(data).digest(), network)

    def submit(self, round: int, person: str, data: bytes | None = None, address: str = "") -> "Future[None]":
        """Send without waiting."""
        return self.ingest.receive(self.sent(round, person, data, address), len(self.base) - self.first)

    def send(self, round: int, person: str, data: bytes | None = None, address: str = "") -> None:
        """Send and wait; a refusal is raised."""
        self.submit(round, person, data, address).result(timeout=LONGEST_SECONDS)

    def full_round(self, people: list[str]) -> int:
        """Open a round, let people send, and return its number."""
        number = self.rounds.open()
        assert number is not None
        for person in people:
            self.send(number, person)
        return number

    def close(self) -> None:
        """Let go of the database."""
        self.ingest.close()
        self.database.close()


@contextmanager
def worker_that_stops_before_it_publishes(federation: Federation) -> Iterator[Callable[[], None]]:
    """Let a worker end a round up to where it adds the new version; yield what lets it go on, and wait for it."""
    there, go_on = threading.Event(), threading.Event()

    def stopping(*given: Any, **named: Any) -> Any:
        there.set()
        assert go_on.wait(LONGEST_SECONDS)
        return publish(*given, **named)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor() as pool:
        patch.setattr(round_aggregation, "publish", stopping)
        working = pool.submit(federation.worker().step)
        assert there.wait(LONGEST_SECONDS)
        try:
            yield go_on.set
        finally:
            go_on.set()
        assert working.result()


class Clock:
    """Time that a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._offset = timedelta()
        real = clock.now
        # Modules import the function itself, so it is replaced in each of them.
        for name, module in list(sys.modules.items()):
            if name.startswith("eitr.server.") and getattr(module, "now", None) is real:
                monkeypatch.setattr(module, "now", lambda: real() + self._offset)

    def forward(self, seconds: float) -> None:
        """Let time pass."""
        self._offset += timedelta(seconds=seconds)
