"""One round's updates into one model: the rule, the score, and one transaction that ends the round."""

import time
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from eitr.aggregation.interface import Result, Rule
from eitr.aggregation.interface import Round as Given
from eitr.aggregation.rule_state import RuleState
from eitr.datasets.validation import Score, ValidationSet
from eitr.model import Network, Vector
from eitr.model.update_encoding import decoded
from eitr.pages.vocabulary import Vocabulary
from eitr.server.db.connection import Database
from eitr.server.db.tables import Audit, Model, Observation, Participant, Refusal, Round, State
from eitr.server.db.tables import Vocabulary as VocabularyFile
from eitr.server.domain import rule_states
from eitr.server.domain.clock import now
from eitr.server.domain.models import publish
from eitr.server.domain.rounds import changed, ending, forget_octets, octets_of, senders


class NothingSentError(Exception):
    """Everybody who had sent something has left since."""


class Aggregation:
    """Ends a round that a worker has claimed. Run twice on the same round it gives the same, and only one counts."""

    def __init__(self, database: Database, rule: Rule, scoring: ValidationSet, margin: float) -> None:
        self._database, self._rule, self._scoring, self._margin = database, rule, scoring, margin

    def run(self, id: int, owner: str) -> State | None:
        """Aggregate and end the round; None if another worker has taken over meanwhile."""
        start = time.perf_counter()
        with self._database.reading() as session:
            round = session.get_one(Round, id)
            base = session.get_one(Model, round.base)
            network, vector = Network(tuple(base.layers)), np.frombuffer(base.weights, "<f4").astype(np.float32)
            words = session.get_one(VocabularyFile, base.vocabulary).content.decode()
            ids, updates = _updates(session, id, vector)
            refused = session.scalars(select(Refusal.participant).where(Refusal.round == id)).all()
            state = rule_states.load(session, self._rule, sorted({*ids, *refused}))
        vocabulary = Vocabulary.from_json(words)
        for participant in sorted(refused):
            state = self._rule.refuse(state, participant, network.size)
        given = Given(vector, updates, ids, index=id, scorer=self._scoring.scorer(network, vocabulary))
        state, result = self._rule.update(state, given)
        before = self._scoring.score(network, vector, vocabulary)
        after = self._scoring.score(network, np.asarray(result.model, np.float32), vocabulary)
        with self._database.writing() as session:
            return self._end(
                session, id, owner, base, state, result, ids, list(refused), before, after, time.perf_counter() - start
            )

    def _end(
        self,
        session: Session,
        id: int,
        owner: str,
        base: Model,
        state: RuleState,
        result: Result,
        ids: list[str],
        refused: list[str],
        before: Score,
        after: Score,
        seconds: float,
    ) -> State | None:
        fell = before.accuracy - after.accuracy
        outcome = State.QUARANTINED if fell > self._margin + 1e-9 else State.PUBLISHED
        reason = (
            f"accuracy on the validation pages would fall from {before.accuracy:.3f} to {after.accuracy:.3f}, "
            f"by more than {self._margin:g}"
            if outcome is State.QUARANTINED
            else None
        )
        values: dict[str, Any] = {
            "state": outcome,
            "reason": reason,
            "rule": self._rule.name,
            "rule_settings": asdict(self._rule),
            "score": {"before": asdict(before), "after": asdict(after)},
            "seconds": seconds,
            **ending(),
        }
        if not _mine(session, id, owner, values):
            return None
        if outcome is State.PUBLISHED:
            new = publish(
                session, origin="round", vector=np.asarray(result.model, np.float32), like=base, score=after, round=id
            )
            session.get_one(Round, id).result = new.version
        # Somebody may have left since the updates were read: nothing about them is written.
        here = set(session.scalars(select(Participant.id).where(Participant.id.in_([*ids, *refused]))))
        session.add_all(self._observations(id, ids, state, result, refused, here))
        for client in set(state.clients) - here:
            state = state.without(client)
        rule_states.save(session, state)
        forget_octets(session, id)
        session.add(
            Audit(at=now(), who="server", action=f"{outcome} a round", detail={"round": id, "reason": reason or ""})
        )
        return outcome

    def _observations(
        self, id: int, ids: list[str], state: RuleState, result: Result, refused: list[str], here: set[str]
    ) -> list[Observation]:
        opinions = result.notes.get("opinions", {})
        columns = {
            "weight": result.weights,
            "positive": result.positive,
            "negative": result.negative,
            "reputation": result.reputation,
        }
        found = [
            Observation(
                round=id,
                participant=participant,
                refused=participant in refused,
                opinions=opinions.get(participant),
                **{name: None if column is None else column[row].item() for name, column in columns.items()},
            )
            for row, participant in enumerate(ids)
            if participant in here
        ]
        rubbish = sorted((set(refused) - set(ids)) & here)
        return [
            *found,
            *(
                Observation(round=id, participant=one, refused=True, reputation=self._rule.standing(state, one))
                for one in rubbish
            ),
        ]


def _updates(session: Session, id: int, base: Vector) -> tuple[list[str], NDArray[np.float32]]:
    """Return who sent what; a thousand updates are a gigabyte, so each is decoded into its place as it comes."""
    table = np.empty((len(senders(session, id)), len(base)), np.float32)
    came: list[str] = []
    for participant, encoding, data in octets_of(session, id):
        table[len(came)] = decoded(encoding, data, base)
        came.append(participant)
    if not came:
        raise NothingSentError
    return came, table[: len(came)]  # somebody may have left between the two looks


def _mine(session: Session, id: int, owner: str, values: dict[str, Any]) -> bool:
    mine = (Round.id == id, Round.state == State.AGGREGATING, Round.owner == owner)
    return changed(session.execute(update(Round).where(*mine).values(**values)))
