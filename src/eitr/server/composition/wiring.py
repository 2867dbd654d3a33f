"""How the services of a server are made from its settings."""

import logging
from pathlib import Path

from eitr.datasets.validation import ValidationSet
from eitr.io.private import close_to_others, create_folder
from eitr.server.db import schema
from eitr.server.db.connection import Database
from eitr.server.domain import pools
from eitr.server.domain.alerts import Alerts
from eitr.server.domain.decisions import Decisions
from eitr.server.domain.gate import Gate
from eitr.server.domain.ingest import Ingest
from eitr.server.domain.keys import FILE, Key
from eitr.server.domain.limits import EnrolmentLimit, RequestLimit
from eitr.server.domain.metrics import Metrics
from eitr.server.domain.models import Models, publish_first
from eitr.server.domain.participants import Participants
from eitr.server.domain.places import Places
from eitr.server.domain.rounds import Rounds
from eitr.server.domain.services import Services
from eitr.server.domain.study.contacts import KEY_FILE
from eitr.server.domain.study.services import StudyServices
from eitr.server.domain.training import Training
from eitr.server.domain.update_bytes import UpdateBytes
from eitr.server.domain.worker import Worker
from eitr.server.settings import ServerSettings
from eitr.server.update_store.opening import open_store

UPDATES = "updates"
"""The folder of updates, unless the settings name another place."""
log = logging.getLogger("eitr.server")


def prepared_database(settings: ServerSettings) -> tuple[Database, ValidationSet]:
    """Return the database, upgraded and with a first model and its pool in it, and the validation pages."""
    database = Database(settings.database_address, connections=settings.database_connections)
    close_files(settings.folder, database.file)
    database.check()
    schema.upgrade(database)
    database.overwrite_old_pages()
    scoring = ValidationSet(settings.validation_pages)
    publish_first(database, scoring, settings.first_model)
    pools.add_first(database, settings.first_model)
    Training(database, settings).check()
    return database, scoring


def update_bytes(database: Database, settings: ServerSettings, key: Key) -> UpdateBytes:
    """Return the updates' bytes, in the store that the settings name."""
    owner = key.hash("update store", "").hex()[:16]
    updates = UpdateBytes(database, open_store(settings.update_store, settings.folder / UPDATES, owner))
    updates.check()
    return updates


def close_files(folder: Path, database: Path | None) -> None:
    """Make the folder and what is in it readable to its owner alone, as an older program did not."""
    create_folder(folder)
    found = [folder, folder / FILE, folder / KEY_FILE, folder / UPDATES]
    if database is not None:
        found += [database.with_name(database.name + ending) for ending in ("", "-wal", "-shm", "-journal")]
    for path in found:
        try:
            if path.exists() and close_to_others(path):
                log.warning("others could read %s: only its owner can now", path.name)
        except OSError as error:
            log.warning("others can read %s, and it cannot be changed: %s", path.name, error.strerror)


def build_services(settings: ServerSettings) -> Services:
    """Return the services, ready to start."""
    key = Key.of(settings.folder)
    database, scoring = prepared_database(settings)
    updates = update_bytes(database, settings, key)
    metrics = Metrics()
    training = Training(database, settings)
    return Services(
        settings=settings,
        database=database,
        validation=scoring,
        key=key,
        training=training,
        models=Models(database, training),
        rounds=Rounds(database, settings),
        decisions=Decisions(database, Gate(scoring, settings.margin, settings.class_margin)),
        participants=Participants(database, key),
        studies=StudyServices.of(database, key, settings),
        enrolments=EnrolmentLimit(database, key, settings.enrolments_per_hour),
        requests=RequestLimit(settings.requests_per_minute),
        ingest=Ingest(database, updates.store, Places(settings.established_rounds) if settings.bounds else None),
        metrics=metrics,
        worker=Worker(database, updates, settings, scoring, metrics) if settings.worker else None,
        alerts=Alerts(database, settings),
    )
