"""What an operator can do with the candidate of a quarantined round: discard it, publish it anyway, or try it again.

Each is one transaction. A candidate is taken out of its table first: of two who decide at once, one succeeds.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from eitr.datasets.validation import Score
from eitr.model import Network, Vector
from eitr.model.round_plan import read_plan
from eitr.pages.vocabulary import Vocabulary
from eitr.server.db.connection import Database
from eitr.server.db.tables import AuditRow, ModelRow, NoteRow, RoundRow, VocabularyRow
from eitr.server.domain import candidates
from eitr.server.domain.candidates import Decision
from eitr.server.domain.clock import now
from eitr.server.domain.gate import LENGTHS, Gate, Judgement
from eitr.server.domain.models import publish
from eitr.server.domain.rounds import abandon_under_way

RETRIED = (*LENGTHS, 1 / 32, 1 / 64, 1 / 128)
"""The parts of a step that are tried again. Those of the round are among them, and the whole step first, because
settings and validation pages may have changed since."""


class NoCandidateError(Exception):
    """The candidate is no longer there: somebody decided, or another version was published."""


class StillRefusedError(Exception):
    """The gate lets no part of the step through; the message says what would be lost."""


class Decisions:
    """Carries out what operators decide."""

    def __init__(self, database: Database, gate: Gate) -> None:
        self._database, self._gate = database, gate

    def discard(self, round: int, who: str) -> None:
        """Delete the candidate of a round."""
        with self._database.writing() as session:
            if not candidates.remove(session, round, Decision.DISCARDED):
                raise NoCandidateError
            session.add(AuditRow(at=now(), who=who, action="discarded the model of a round", detail={"round": round}))

    def publish_anyway(self, round: int, who: str, note: str) -> int:
        """Publish the candidate of a round although the gate refused it; return the version."""
        with self._publishing() as session:
            found = session.get_one(RoundRow, round)
            vector = candidates.find(session, round)
            if vector is None:
                raise NoCandidateError
            version = _publish(session, found, vector, _score(found.score), Decision.PUBLISHED_ANYWAY, who)
            detail = {"round": round, "version": version, "note": note, "reason": found.reason or ""}
            session.add(AuditRow(at=now(), who=who, action="published anyway", detail=detail))
            session.add(NoteRow(about=f"round {round}", text=note, who=who, at=now()))
            return version

    def retry(self, round: int, who: str) -> int:
        """Publish as much of the step of a round as the gate lets through; return the version."""
        judged = self._judged(round)
        if judged.reason is not None:
            raise StillRefusedError(judged.reason)
        with self._publishing() as session:
            found = session.get_one(RoundRow, round)
            version = _publish(session, found, judged.model, judged.after, Decision.SHORTENED, who)
            found.score = judged.document
            detail = {"round": round, "version": version, "length": judged.length}
            session.add(AuditRow(at=now(), who=who, action="published after a retry", detail=detail))
            return version

    @contextmanager
    def _publishing(self) -> Iterator[Session]:
        """Open a transaction that publishes a version; if somebody else does at the same moment, one of both fails."""
        try:
            with self._database.writing() as session:
                yield session
        except IntegrityError as error:
            raise NoCandidateError from error

    def _judged(self, round: int) -> Judgement:
        """Return what the gate says about the step now; before the transaction that writes, because it takes time."""
        with self._database.reading() as session:
            found = session.get_one(RoundRow, round)
            target = candidates.find(session, round)
            if target is None:
                raise NoCandidateError
            base = session.get_one(ModelRow, found.base)
            words = session.get_one(VocabularyRow, base.vocabulary).content.decode()
            references = self._gate.references(session)
        return self._gate.judge_step(
            Network(tuple(base.layers)),
            Vocabulary.from_json(words),
            np.frombuffer(base.weights, "<f4").astype(np.float32),
            target,
            read_plan(found.plan),
            references,
            RETRIED,
        )


def _publish(
    session: Session, round: RoundRow, vector: Vector, score: Score | None, decision: Decision, who: str
) -> int:
    """Make a model of a quarantined round the next version.

    A round under way trains the version before it and is abandoned, as with a roll back.
    """
    reason = f"the model of round {round.id} was published"
    abandon_under_way(session, reason, who)
    if not candidates.remove(session, round.id, decision):
        raise NoCandidateError
    base = session.get_one(ModelRow, round.base)
    new = publish(session, origin="round", vector=vector, like=base, score=score, round=round.id)
    abandon_under_way(session, reason, who)
    round.result = new.version
    return new.version


def _score(stored: Mapping[str, Any] | None) -> Score | None:
    """Return how the candidate of a round was scored when the round ended."""
    return None if not stored else Score(stored["after"]["accuracy"], stored["after"]["by_class"])
