"""The training that the rounds of a server ask for."""

import logging
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import defer

from eitr.errors import InputError
from eitr.model import Network
from eitr.model.private import PrivatePlan
from eitr.model.round_plan import PAPER, PRIVATE, RoundPlan, check_private_plan
from eitr.server.db.connection import Database
from eitr.server.db.tables import ModelRow, PoolRow
from eitr.server.domain import pools
from eitr.server.settings import ServerSettings

NO_POOL = (
    "The vocabulary of the current model has no pool of cover pages, so that no round with private training is "
    "possible, and none opens. Start a server in a new folder, whose model has a pool, or, for research, set "
    "EITR_TRAINING=paper."
)
log = logging.getLogger("eitr.server")


@dataclass(frozen=True, slots=True)
class RoundTraining:
    """What a round asks for."""

    plan: RoundPlan
    pool: str | None
    """The SHA-256 of the pool that cover pages are drawn from; None with training as in the paper."""


@dataclass(frozen=True, slots=True)
class PoolFile:
    """What the manifest says of a pool."""

    sha256: str
    bytes: int
    pages: int


class Training:
    """Chooses the plan for each version of the model."""

    def __init__(self, database: Database, settings: ServerSettings) -> None:
        self._database, self._settings = database, settings

    def check(self) -> None:
        """Refuse settings with which no round is possible; log a warning if the current model has no pool."""
        with self._database.reading() as session:
            newest = select(ModelRow.version, ModelRow.layers).order_by(ModelRow.version.desc()).limit(1)
            version, layers = session.execute(newest).one()
        found = self.of(version)
        if found is None:
            log.warning(NO_POOL)
        elif isinstance(found.plan, PrivatePlan):
            try:
                check_private_plan(Network(tuple(layers)), found.plan)
            except InputError as error:
                raise InputError(f"the settings of private training: {error}") from None
            pool = self.pool_of(version)
            if pool is not None and pool.pages < found.plan.cover_pages:
                raise InputError(
                    f"EITR_COVER_PAGES: the pool has {pool.pages} pages; {found.plan.cover_pages} are too many"
                )

    def of(self, version: int) -> RoundTraining | None:
        """Return the training of a round that starts from a version; None if it cannot be private, as it must be."""
        if self._settings.training == PAPER:
            return RoundTraining(self._settings.paper_plan, None)
        pool = self.pool_of(version)
        if pool is None:
            return None
        return RoundTraining(self._settings.private_plan, pool.sha256)

    def announced(self, version: int) -> dict[str, Any]:
        """Return what the manifest of a version says about training; without a pool, only the paper's is possible."""
        found = self.of(version)
        if found is None or not isinstance(found.plan, PrivatePlan):
            return {"method": PAPER}
        return {"method": PRIVATE, "layers": found.plan.layers, "clip": found.plan.clip}

    def pool_of(self, version: int) -> PoolFile | None:
        """Return the pool that belongs to a version of the model; None if its vocabulary has none."""
        with self._database.reading() as session:
            model = session.get_one(ModelRow, version, options=[defer(ModelRow.weights)])
            found = pools.of_vocabulary(session, model.vocabulary)
            if found is None:
                return None
            size = session.scalars(select(func.length(PoolRow.content)).where(PoolRow.sha256 == found.sha256)).one()
            return PoolFile(found.sha256, size, found.pages)
