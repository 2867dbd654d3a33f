"""The aggregation of a round: its updates become a model, and one transaction ends the round.

Rules get the trained parameters alone. Parameters that nobody trains would mislead them: `fused` would find almost no
value rejected, and bound the numbers of a step by a mean over all parameters. What the untrained layers say of the
validation pages is computed once.
"""

import logging
import time
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from eitr.aggregation.fedavg import FedAvg
from eitr.aggregation.interface import Floats, Result, Round, Rule
from eitr.aggregation.rule_state import RuleState
from eitr.aggregation.weight_factors import with_weight_factors
from eitr.cluster.engine import Engine
from eitr.model import Network, Vector
from eitr.model.private import PrivatePlan, without_cover
from eitr.model.round_plan import first_trained, read_plan
from eitr.model.update_encoding import decoded
from eitr.pages.pool import Pool
from eitr.pages.vocabulary import Vocabulary
from eitr.server.db.connection import Database
from eitr.server.db.tables import (
    AuditRow,
    ModelRow,
    ObservationRow,
    ParticipantRow,
    PoolRow,
    RefusalRow,
    RoundRow,
    RoundStatus,
    VocabularyRow,
)
from eitr.server.domain import candidates, moderation, rule_states
from eitr.server.domain.bounds import Draw
from eitr.server.domain.clock import now
from eitr.server.domain.formal_privacy import with_noise
from eitr.server.domain.gate import Gate, Judgement
from eitr.server.domain.keys import Key
from eitr.server.domain.models import publish
from eitr.server.domain.round_engine import RoundEngine
from eitr.server.domain.rounds import changed, ending
from eitr.server.domain.trust import Drawing
from eitr.server.domain.update_bytes import Unreadable, UpdateBytes, forget_round
from eitr.server.domain.update_table import new_table

LOCAL_ENGINE = Engine()
SECRET_FACTOR = 0.6
"""Weights are multiplied by a number from 1 minus this to 1 plus this. A participant then learns its weight to no
better than 20 % (the lab's experiment `privacy`)."""
ROUNDS_OF_A_FACTOR = 10
"""A participant has the same factor in so many rounds. Drawn anew in each round, it would average out; kept for ever,
it would be known from the rounds in which somebody behaved as everybody, and so has the weight of everybody."""
HIDDEN_SETTING = "seed"
"""The setting of a rule that is not shown with its round."""
log = logging.getLogger("eitr.worker")


class NothingSentError(Exception):
    """There is no update that counts: those who sent one have left since, or are muted or banned."""


class TooFewJudgedError(Exception):
    """Within the bounds on newcomers and networks, fewer updates are judged than a round needs."""


@dataclass(frozen=True, slots=True)
class _Aggregated:
    """What a rule made of a round."""

    round: int
    base: ModelRow
    participants: list[str]
    """Whose updates were judged, in the order of the result's columns."""
    draw: Draw
    bounds: dict[str, Any] | None
    """What the bounds on newcomers and networks did; None if there were none."""
    refused: list[str]
    """Who sent something that is not an update."""
    unreadable: list[str]
    """Whose updates were to be judged, and were damaged or lost after they had been received."""
    rule: Rule
    """The rule as this server uses it on this model."""
    projection: bytes
    state: RuleState
    result: Result
    judgement: Judgement
    seconds: float


class RoundAggregation:
    """Ends a round that a worker has claimed. If it is run twice on a round, only one run counts."""

    def __init__(
        self,
        database: Database,
        updates: UpdateBytes,
        rule: Rule,
        gate: Gate,
        key: Key,
        drawing: Drawing | None = None,
        folder: Path | None = None,
        engine: Engine = LOCAL_ENGINE,
    ) -> None:
        """Without `drawing`, everybody is judged and nobody is bounded. `folder` takes tables too large for memory."""
        self._database, self._updates, self._rule, self._gate, self._key = database, updates, rule, gate, key
        self._folder, self._engine = folder, RoundEngine(engine)
        self._drawing = drawing or Drawing(key, established_rounds=1, bounds=False)

    def run(self, id: int, owner: str) -> RoundStatus | None:
        """Aggregate a round and end it; return its status, None if another worker has taken over meanwhile."""
        aggregated = self._aggregate(id)
        with self._database.writing() as session:
            return self._end(session, owner, aggregated)

    def _aggregate(self, id: int) -> _Aggregated:
        start = time.perf_counter()
        with self._database.reading() as session:
            round = session.get_one(RoundRow, id)
            base = session.get_one(ModelRow, round.base)
            network, vector = Network(tuple(base.layers)), np.frombuffer(base.weights, "<f4").astype(np.float32)
            plan = read_plan(round.plan)
            first = first_trained(network, plan)
            # The rule in the settings may have changed since the round opened; its model would not be used anyway.
            chosen = self._rule if round.published_noise is None else FedAvg()
            rule = rule_states.private_rule(chosen, self._key, network, first)
            words = session.get_one(VocabularyRow, base.vocabulary).content.decode()
            draw = self._drawing.draw(session, round)
            if not draw.lifted and 0 < len(draw.judged) < round.minimum:
                raise TooFewJudgedError(
                    f"too few updates could be judged: {len(draw.judged)} of at least {round.minimum}. The others came "
                    "from newcomers, or from networks that have their share"
                )
            unreadable = Unreadable()
            ids, updates = self._read(session, id, vector[first:], draw.judged, unreadable)
            _check_enough(round, len(ids), unreadable)
            added_noise = 0.0
            if isinstance(plan, PrivatePlan):
                added_noise = plan.added_noise
                pool = Pool.from_bytes(session.get_one(PoolRow, round.pool).content, width=network.inputs)
                updates = without_cover(updates, network, vector, (pool.rows, pool.labels), plan)
            refused = sorted(
                {*session.scalars(select(RefusalRow.participant).where(RefusalRow.round == id))}
                - moderation.left_out(session)
            )
            projection = rule_states.projection_hash(rule, self._key, network, first)
            state = rule_states.load(session, rule, sorted({*ids, *refused}), projection)
            references = self._gate.references(session)
        vocabulary = Vocabulary.from_json(words)
        for participant in refused:
            state = rule.refuse(state, participant, network.size - first)
        scorer = self._gate.pages.shown_pages(network, vocabulary).above(vector[:first]).losses
        sent = Round(vector[first:], updates, ids, index=id, scorer=scorer, added_noise=added_noise)
        state, result = self._engine.update(rule, state, sent)
        if isinstance(plan, PrivatePlan) and round.published_noise is None:
            factors = secret_factors(ids, self._key, id)
            result = with_weight_factors(result, vector[first:], updates, factors)
        else:
            factors = np.ones(len(ids))
        result, bounds = draw.bounded(result, vector[first:], updates, ids, factors)
        result = with_noise(round, plan, vector[first:], updates, result)
        model = np.concatenate([vector[:first], np.asarray(result.model, np.float32)])
        # A step that newcomers decide is shorter, and may do less harm.
        judgement = self._gate.stricter(draw.length).judge_step(network, vocabulary, vector, model, plan, references)
        return _Aggregated(
            round=id,
            base=base,
            participants=ids,
            draw=draw,
            bounds=bounds,
            refused=refused,
            unreadable=unreadable.participants,
            rule=rule,
            projection=projection,
            state=state,
            result=result,
            judgement=judgement,
            seconds=time.perf_counter() - start,
        )

    def _read(
        self, session: Session, id: int, base: Vector, judged: Collection[str], unreadable: Unreadable
    ) -> tuple[list[str], NDArray[np.float32]]:
        """Return judged participants, sorted, and their updates, (n, d), where `base` is what was trained of the base
        model.

        A thousand updates of all parameters are a gigabyte, so each is decoded into its row.
        """
        rows = {participant: row for row, participant in enumerate(sorted(judged))}
        table = new_table(len(rows), len(base), self._folder)
        came: set[str] = set()
        for participant, encoding, data in self._updates.read(session, id, judged, unreadable):
            table[rows[participant]] = decoded(encoding, data, base)
            came.add(participant)
        if not came and not unreadable.participants:
            raise NothingSentError
        ids = sorted(came)
        if len(ids) < len(rows):  # some left since they were drawn, or are unreadable
            for row, participant in enumerate(ids):
                table[row] = table[rows[participant]]
        return ids, table[: len(ids)]

    def _end(self, session: Session, owner: str, found: _Aggregated) -> RoundStatus | None:
        """Store everything in one transaction: the status, the new model, the observations and the rule's state."""
        reason = found.judgement.reason
        outcome = RoundStatus.PUBLISHED if reason is None else RoundStatus.QUARANTINED
        values = {
            "status": outcome,
            "reason": reason,
            "rule": found.rule.name,
            "rule_settings": {name: value for name, value in asdict(found.rule).items() if name != HIDDEN_SETTING},
            "score": found.judgement.document,
            "seconds": found.seconds,
            **({} if found.bounds is None else {"bounds": found.bounds}),
            **ending(),
        }
        mine = (RoundRow.id == found.round, RoundRow.status == RoundStatus.AGGREGATING, RoundRow.owner == owner)
        if not changed(session.execute(update(RoundRow).where(*mine).values(**values))):
            return None
        if outcome is RoundStatus.PUBLISHED:
            judged = found.judgement
            new = publish(
                session, origin="round", vector=judged.model, like=found.base, score=judged.after, round=found.round
            )
            session.get_one(RoundRow, found.round).result = new.version
        else:
            candidates.keep(session, found.round, found.judgement.model)
        # Somebody may have left since the updates were read: nothing about them is written.
        involved = {*found.participants, *found.draw.left_out, *found.refused, *found.unreadable}
        here = set(session.scalars(select(ParticipantRow.id).where(ParticipantRow.id.in_(involved))))
        session.add_all(one for one in self._observations(found) if one.participant in here)
        state = found.state
        for client in set(state.clients) - here:
            state = state.without(client)
        rule_states.save(session, state, found.projection, found.round, found.participants)
        rule_states.forget_steps_after(session, found.rule.rounds_remembered)
        forget_round(session, found.round)
        if found.unreadable:
            lost = {"round": found.round, "updates": len(found.unreadable)}
            session.add(AuditRow(at=now(), who="server", action="could not read updates", detail=lost))
        detail = {"round": found.round, "reason": reason or ""}
        session.add(AuditRow(at=now(), who="server", action=f"{outcome} a round", detail=detail))
        return outcome

    def _observations(self, found: _Aggregated) -> Iterator[ObservationRow]:
        """Yield what the rule saw of everybody who sent an update, and of those whose updates were all refused."""
        opinions = found.result.notes.get("opinions", {})
        established = found.draw.established
        columns = {
            "weight": found.result.weights,
            "positive": found.result.positive,
            "negative": found.result.negative,
            "reputation": found.result.reputation,
        }
        for row, participant in enumerate(found.participants):
            yield ObservationRow(
                round=found.round,
                participant=participant,
                refused=participant in found.refused,
                opinions=opinions.get(participant),
                established=established[participant],
                **{name: None if column is None else column[row].item() for name, column in columns.items()},
            )
        for participant in (*found.draw.left_out, *found.unreadable):  # without evidence, for or against
            if participant not in found.refused:
                seen = {"weight": 0.0, "established": established[participant]}
                yield ObservationRow(round=found.round, participant=participant, refused=False, **seen)
        for participant in sorted(set(found.refused) - set(found.participants)):
            reputation = found.rule.standing(found.state, participant)
            yield ObservationRow(round=found.round, participant=participant, refused=True, reputation=reputation)


def secret_factors(participants: list[str], key: Key, round: int) -> Floats:
    """Return the number around 1, which nobody can predict, that each participant's weight in a round is multiplied by.

    Whoever marks an update and looks for the mark in published models finds the weight times this factor.
    """
    found = []
    for participant in participants:
        # Not everybody's changes in the same round, or it would be known when.
        begun = int.from_bytes(key.hash("factor phase", participant)[:4])
        period = (round + begun) // ROUNDS_OF_A_FACTOR
        found.append(int.from_bytes(key.hash("factor", f"{participant} {period}")[:4]) / 2**32)
    return np.asarray(1 + SECRET_FACTOR * (2 * np.array(found) - 1))


def _check_enough(round: RoundRow, read: int, unreadable: Unreadable) -> None:
    """Refuse to aggregate too few updates, if some could not be read."""
    lost = len(unreadable.participants)
    if not lost:
        return
    log.error("updates could not be read, and are left out", extra={"round": round.id, "updates": lost})
    if read < round.minimum:
        raise TooFewJudgedError(f"{lost} of {read + lost} updates could not be read: they are damaged or missing")
