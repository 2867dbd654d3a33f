"""The worker: it opens, closes and aggregates rounds, and deletes old data."""

import logging
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from eitr.cluster.engine import Engine
from eitr.datasets.validation import ValidationSet
from eitr.errors import InputError
from eitr.server.db.connection import Database
from eitr.server.db.tables import RoundStatus
from eitr.server.domain import formal_privacy
from eitr.server.domain.clock import now
from eitr.server.domain.gate import Gate
from eitr.server.domain.kernel_compilation import KernelCompilation
from eitr.server.domain.keys import Key
from eitr.server.domain.metrics import Metrics
from eitr.server.domain.retention import Retention
from eitr.server.domain.round_aggregation import NothingSentError, RoundAggregation, TooFewJudgedError
from eitr.server.domain.rounds import Rounds
from eitr.server.domain.trust import Drawing
from eitr.server.domain.update_bytes import UpdateBytes
from eitr.server.settings import ServerSettings
from eitr.server.update_store.interface import StoreUnavailableError

MOST_FAILURES = 5
"""A round at which workers fail so often is abandoned."""
MOST_ATTEMPTS = 100
"""... and one that workers begin so often and never end: it may take more memory than there is. Workers that others
kill begin again, too, and that is no reason to give up."""
CLEANING_SECONDS = 3600.0

log = logging.getLogger("eitr.worker")


class Worker:
    """A worker; any number of them may share a database."""

    def __init__(
        self,
        database: Database,
        updates: UpdateBytes,
        settings: ServerSettings,
        scoring: ValidationSet,
        metrics: Metrics,
    ) -> None:
        self._settings, self._metrics = settings, metrics
        self._rounds = Rounds(database, settings)
        self._rule = settings.make_rule()
        self._database = database
        gate = Gate(scoring, settings.margin, settings.class_margin)
        key = Key.of(settings.folder)
        drawing = Drawing(key, settings.established_rounds, settings.bounds)
        self._aggregation = RoundAggregation(
            database, updates, self._rule, gate, key, drawing, settings.folder, Engine.parse(settings.engine)
        )
        self._retention = Retention(database, settings)
        self._name = f"{socket.gethostname()[:40]}-{secrets.token_hex(6)}"
        self._stop = threading.Event()
        self._cleaned = 0.0

    def run(self) -> None:
        """Work until `stop`; log failures and continue."""
        compilation = KernelCompilation(self._rule)
        while not self._stop.is_set():
            try:
                worked = self.step()
                if not worked:
                    compilation.go_on()
            except Exception:
                log.exception("the worker failed; it continues")
                worked = False
            if not worked:
                self._stop.wait(self._settings.poll_seconds)
        compilation.end()

    def stop(self) -> None:
        """Let `run` return when it has finished its current step."""
        self._stop.set()

    def step(self) -> bool:
        """Do what is due; say whether there was a round to aggregate."""
        self._database.purge_if_due()  # before a round opens: a killed worker may have left something
        self._rounds.open_if_due()
        self._rounds.close_if_due()
        self._clean()
        id = self._rounds.claim(self._name)
        if id is None:
            return False
        self._aggregate(id)
        return True

    def _aggregate(self, id: int) -> None:
        round = self._rounds.get(id)
        if round is None:
            return
        if round.failures >= MOST_FAILURES or round.attempts > MOST_ATTEMPTS:
            told = f"aggregation was begun {round.attempts - 1} times and failed {round.failures} times; see the log"
            self._rounds.abandon(id, told, RoundStatus.AGGREGATING)
            return
        if round.published_noise is not None and (reason := self._privacy_limit()):  # lowered since the round opened
            self._rounds.abandon(id, reason, RoundStatus.AGGREGATING)
            return
        try:
            with self._keeping(id):
                outcome = self._aggregation.run(id, self._name)
        except TooFewJudgedError as error:
            self._rounds.abandon(id, str(error), RoundStatus.AGGREGATING)
            return
        except NothingSentError:
            told = "no update counts: those who sent one have left, or are muted or banned"
            self._rounds.abandon(id, told, RoundStatus.AGGREGATING)
            return
        except InputError as error:  # the same updates will not do better next time
            self._rounds.abandon(id, f"the rule cannot aggregate these updates: {error}", RoundStatus.AGGREGATING)
            return
        except StoreUnavailableError as error:  # no reason to give the round up
            log.error("round %s waits until updates can be read again: %s", id, error)
            return
        except Exception:
            self._rounds.failed(id, self._name)
            raise
        if outcome is not None:
            self._metrics.rounds.labels(outcome).inc()
            log.info("round ended", extra={"round": id, "outcome": str(outcome)})

    def _privacy_limit(self) -> str:
        with self._database.reading() as session:
            return formal_privacy.exhausted(session, self._settings)

    @contextmanager
    def _keeping(self, id: int) -> Iterator[None]:
        """Renew the lease while the aggregation runs."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(self._settings.lease_seconds / 3):
                try:
                    if not self._rounds.renew(id, self._name):
                        return
                except Exception:
                    log.exception("the lease could not be renewed")

        thread = threading.Thread(target=renew, name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _clean(self) -> None:
        moment = now().timestamp()
        if moment - self._cleaned >= CLEANING_SECONDS:
            self._cleaned = moment
            self._retention.run()
