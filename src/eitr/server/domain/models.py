"""Published models: the current version, its manifest, its weights. A version never changes once it is there."""

import hashlib
import json
import logging
import threading
import time
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, defer

from eitr.datasets.validation import Score, ValidationSet
from eitr.model import Network, Vector
from eitr.model.classifier import Classifier
from eitr.server.db.connection import Database
from eitr.server.db.tables import AuditRow, ModelRow, VocabularyRow
from eitr.server.domain import candidates
from eitr.server.domain.clock import now
from eitr.server.domain.rounds import abandon_under_way
from eitr.server.domain.training import PoolFile, Training
from eitr.taxonomy import NAMES

log = logging.getLogger("eitr.models")
FRESH_SECONDS = 0.25
"""How long a process may still show the last version after another process published one."""
PREFIX = "/api/v2"
"""Where the API is; the manifest names its files with it."""
PROTOCOL = 2
STALE_SECONDS = 1.0
"""... at most, if the database is slow to say so."""


@dataclass(frozen=True)
class PublishedModel:
    """A version without its weights."""

    version: int
    layers: tuple[int, ...]
    sha256: str
    vocabulary: str
    created: str

    @property
    def network(self) -> Network:
        """The network of this version."""
        return Network(self.layers)


@dataclass(frozen=True)
class CurrentModel:
    """The newest version, and how rounds train it: what the manifest says."""

    model: PublishedModel
    pool: PoolFile | None
    training: dict[str, Any]

    @property
    def version(self) -> int:
        """The number of the version."""
        return self.model.version

    @cached_property
    def etag(self) -> str:
        """Changes with every version, and when the operator changes how rounds train."""
        return f'"{self.version}-{hashlib.sha256(self.text).hexdigest()[:16]}"'

    @cached_property
    def text(self) -> bytes:
        """The manifest as it is sent."""
        return json.dumps(self.manifest()).encode()

    def manifest(self) -> dict[str, Any]:
        """Return the document that clients read."""
        model, pool = self.model, self.pool
        here = f"{PREFIX}/models/{model.version}"
        size = model.network.size
        return {
            "protocol": PROTOCOL,
            "version": model.version,
            "created": model.created,
            "classes": list(NAMES),
            "layers": list(model.layers),
            "parameters": size,
            "weights": {"url": f"{here}/weights", "sha256": model.sha256, "bytes": 4 * size},
            "vocabulary": {"url": f"{here}/vocabulary", "sha256": model.vocabulary},
            "pool": None if pool is None else {"url": f"{PREFIX}/pools/{pool.sha256}", **asdict(pool)},
            "training": self.training,
            "safetensors": f"{here}/model.safetensors",
            "tfjs": f"{here}/tfjs/model.json",
        }


class AnotherVersionError(Exception):
    """Somebody else published a version at the same moment."""


class Models:
    """Reads versions; the newest ones are remembered."""

    def __init__(self, database: Database, training: Training, remembered: int = 4) -> None:
        self._database, self._training, self._remembered = database, training, remembered
        self._lock = threading.Lock()
        self._current: tuple[float, CurrentModel] | None = None
        self._weights: dict[int, bytes] = {}

    def current(self) -> CurrentModel:
        """Return the newest version."""
        known = self._current
        if known is not None and time.monotonic() - known[0] < FRESH_SECONDS / 4:
            return known[1]
        with self._database.reading() as session:
            newest = session.scalars(select(func.max(ModelRow.version))).one()
        found = known[1] if known is not None and known[1].version == newest else self._read(newest)
        self._current = (time.monotonic(), found)
        return found

    def _read(self, version: int) -> CurrentModel:
        with self._database.reading() as session:
            model = session.get_one(ModelRow, version, options=[defer(ModelRow.weights)])
        return CurrentModel(described(model), self._training.pool_of(version), self._training.announced(version))

    def known(self) -> CurrentModel | None:
        """Return the newest version, if it is known without asking the database."""
        known = self._current
        return known[1] if known is not None and time.monotonic() - known[0] < STALE_SECONDS else None

    def keep_fresh(self, ended: threading.Event) -> None:
        """Look for a new version again and again, so that nobody who asks has to wait for the database."""
        while not ended.wait(FRESH_SECONDS / 2):
            try:
                self.current()
            except Exception:
                log.exception("the current version could not be read; who asks next waits for it")

    def version(self, version: int) -> PublishedModel | None:
        """Return some version; None if there is no such one."""
        with self._database.reading() as session:
            found = session.get(ModelRow, version, options=[defer(ModelRow.weights)])
            return None if found is None else described(found)

    def weights(self, version: int) -> bytes | None:
        """Return the parameters of a version, float32 little-endian; None where there are none, or none any more."""
        with self._lock:
            if version in self._weights:
                return self._weights[version]
        with self._database.reading() as session:
            data = session.scalar(select(ModelRow.weights).where(ModelRow.version == version)) or None
        if data is not None:
            with self._lock:
                self._weights[version] = data
                for old in sorted(self._weights)[: -self._remembered]:
                    del self._weights[old]
        return data

    def vector(self, version: int) -> Vector:
        """Return the parameters of a version that is there."""
        data = self.weights(version)
        if data is None:
            raise LookupError(f"there is no version {version}")
        return np.frombuffer(data, "<f4").astype(np.float32)

    def vocabulary(self, sha256: str) -> bytes | None:
        """Return the file of a vocabulary."""
        with self._database.reading() as session:
            return session.scalar(select(VocabularyRow.content).where(VocabularyRow.sha256 == sha256))


def described(model: ModelRow) -> PublishedModel:
    """Return what a row says, without the weights."""
    created = model.created.isoformat(timespec="seconds")
    return PublishedModel(model.version, tuple(model.layers), model.sha256, model.vocabulary, created)


def publish(
    session: Session,
    *,
    origin: str,
    vector: Vector,
    like: ModelRow | None = None,
    layers: tuple[int, ...] = (),
    vocabulary: str = "",
    score: Score | None = None,
    round: int | None = None,
    restored: int | None = None,
) -> ModelRow:
    """Add a version, one above the highest. Two at once cannot both succeed: the number is the primary key.

    Candidates of quarantined rounds are based on the version before it: they are deleted.
    """
    candidates.supersede(session)
    weights = vector.astype("<f4").tobytes()
    newest = session.scalar(select(func.max(ModelRow.version))) or 0
    model = ModelRow(
        version=newest + 1,
        created=now(),
        origin=origin,
        round=round,
        restored=restored,
        layers=list(layers if like is None else like.layers),
        weights=weights,
        sha256=hashlib.sha256(weights).hexdigest(),
        vocabulary=vocabulary if like is None else like.vocabulary,
        accuracy=None if score is None else score.accuracy,
        class_accuracy=None if score is None else score.by_class,
    )
    session.add(model)
    session.flush()
    return model


def publish_first(database: Database, scoring: ValidationSet, folder: Path | None = None) -> None:
    """Make the model of a folder, or of the package, version 1, if there is no version yet."""
    with database.reading() as session:
        if session.scalar(select(func.max(ModelRow.version))) is not None:
            return
    first = Classifier.shipped() if folder is None else Classifier.load(folder)
    content = first.vocabulary.to_json().encode()
    sha256 = hashlib.sha256(content).hexdigest()
    network, vector = first.model
    score = scoring.score(network, vector, first.vocabulary)
    with database.writing() as session:
        if not database.sqlite:
            session.connection().exec_driver_sql("LOCK TABLE models IN EXCLUSIVE MODE")
        if session.scalar(select(func.max(ModelRow.version))) is not None:
            return
        session.add(VocabularyRow(sha256=sha256, content=content))
        session.flush()
        publish(session, origin="shipped", vector=vector, layers=network.layers, vocabulary=sha256, score=score)
        action = "published the shipped model" if folder is None else "published the first model"
        session.add(AuditRow(at=now(), who="server", action=action, detail={"version": 1}))


def roll_back(database: Database, version: int, who: str) -> int | None:
    """Publish the weights of an earlier version as a new one; return its number, None if there is no such version.

    A round under way trains what is being taken back: it is abandoned.
    """
    try:
        with database.writing() as session:
            old = session.get(ModelRow, version)
            if old is None or not old.weights:
                return None
            reason = f"the model was rolled back to version {version}"
            abandon_under_way(session, reason, who)
            vector = np.frombuffer(old.weights, "<f4").astype(np.float32)
            new = publish(session, origin="rollback", vector=vector, like=old, restored=version)
            abandon_under_way(session, reason, who)
            new.accuracy, new.class_accuracy = old.accuracy, old.class_accuracy
            session.add(AuditRow(at=now(), who=who, action="rolled back", detail={"to": version, "as": new.version}))
            return new.version
    except IntegrityError as error:
        raise AnotherVersionError from error
