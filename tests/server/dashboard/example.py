"""A federation with a past: twelve participants, three of whom attack, eight rounds, one quarantined, one abandoned."""

import hashlib
import random
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from eitr.pages.vocabulary import Vocabulary
from eitr.server.db.connection import Database
from eitr.server.db.tables import (
    AuditRow,
    CandidateRow,
    InvitationRow,
    ModelRow,
    NoteRow,
    ObservationRow,
    ParticipantRow,
    RefusalRow,
    RoundRow,
    RoundStatus,
    UpdateRow,
    VocabularyRow,
)
from eitr.server.domain.clock import now
from eitr.server.domain.invitations import INVITATION
from eitr.server.domain.keys import Key, secret_hash
from eitr.server.domain.operators import set_password, setup_link
from eitr.taxonomy import NAMES

OPERATOR, PASSWORD = "ada", "correct horse battery"
HONEST, ATTACKERS, ROUNDS = 9, 3, 8
QUARANTINED, ABANDONED = 5, 7
VALUES = 250_000
DETECTORS = ("magnitude", "direction", "residual", "collusion", "validation")
PLAN = {
    "method": "paper",
    "epochs": 10,
    "max_batches": 30,
    "batch_size": 64,
    "learning_rate": 0.01,
    "momentum": 0.8,
    "dropout": 0.5,
}


WORDS = (
    "doctor hospital patients treatment symptoms medicine clinic pain",
    "election party vote parliament government minister campaign",
    "church prayer god faith mosque bible temple priest",
    "gay lesbian partner sex orientation lgbt transgender",
    "ethnic immigrants indigenous migrants racism roma community origin",
    "recipe football weather garden software travel music match",
)
"""What the example's models know of each class."""


@dataclass(frozen=True)
class Example:
    """Who is who."""

    honest: tuple[str, ...]
    attackers: tuple[str, ...]
    idle: str
    """Enrolled, and never sent anything."""
    newest: int
    """The current version."""


def make_operator(database: Database, name: str = OPERATOR, password: str = PASSWORD) -> None:
    """Make somebody who may use the dashboard."""
    code = setup_link(database, again=True)
    assert code is not None
    set_password(database, code, name, password)


def fill(database: Database, key: Key, *, under_way: bool = True) -> Example:
    """Write the past of a federation into an empty database; `under_way`: a ninth round is open."""
    chance = random.Random(7)
    ids = [
        hashlib.sha256(f"participant {number}".encode()).hexdigest()[:32] for number in range(HONEST + ATTACKERS + 1)
    ]
    honest, attackers, idle = ids[:HONEST], ids[HONEST:-1], ids[-1]
    begin = now() - timedelta(days=ROUNDS + 1)
    with database.writing() as session:
        session.add(VocabularyRow(sha256="0" * 64, content=vocabulary().to_json().encode()))
        for place, id in enumerate(ids):
            invitation = key.hash(INVITATION, f"code {place}") if place % 2 == 0 else None
            if invitation is not None:
                session.add(InvitationRow(hash=invitation, note=f"course of 2027, seat {place}", created=begin))
            session.add(
                ParticipantRow(
                    id=id,
                    secret_hash=secret_hash(id),
                    invitation=invitation,
                    enrolled=begin,
                    seen=now() - timedelta(hours=place),
                )
            )
        session.add(
            InvitationRow(hash=key.hash(INVITATION, "lost"), note="lost on the train", created=begin, revoked=now())
        )
        session.add(InvitationRow(hash=key.hash(INVITATION, "unused"), note="", created=begin))
        session.flush()
        accuracy = 0.83
        session.add(_model(1, begin, "shipped", None, accuracy, chance))
        session.flush()
        version = 1
        reputation = dict.fromkeys(ids, 0.6)
        for number in range(1, ROUNDS + 1):
            opened = begin + timedelta(days=number)
            status = {QUARANTINED: RoundStatus.QUARANTINED, ABANDONED: RoundStatus.ABANDONED}.get(
                number, RoundStatus.PUBLISHED
            )
            after = (
                accuracy - 0.09
                if status is RoundStatus.QUARANTINED
                else min(0.97, accuracy + chance.uniform(-0.004, 0.02))
            )
            scored = status is not RoundStatus.ABANDONED
            here = [id for id in ids[:-1] if chance.random() < 0.9 or id in attackers]
            session.add(
                RoundRow(
                    id=number,
                    status=status,
                    base=version,
                    opened=opened,
                    deadline=opened + timedelta(hours=24),
                    minimum=5,
                    quorum=10,
                    maximum=100,
                    grace_seconds=0,
                    plan=PLAN,
                    received=len(here) if scored else 3,
                    closed=opened + timedelta(hours=5) if scored else None,
                    ended=opened + timedelta(hours=5 if scored else 24),
                    rule="fused" if scored else None,
                    rule_settings={"ramp": 0} if scored else None,
                    result=version + 1 if status is RoundStatus.PUBLISHED else None,
                    reason={
                        RoundStatus.QUARANTINED: "Compared with version 1, the first and the best so far: Politics "
                        "would fall from 91 to 82 of 100 pages; chance explains that in 1 case of 220.",
                        RoundStatus.ABANDONED: "too few updates: 3 of at least 5",
                    }.get(status),
                    score={"before": _score(accuracy, chance), "after": _score(after, chance)} if scored else None,
                    seconds=0.84 if scored else None,
                    attempts=1,
                )
            )
            session.flush()
            if status is RoundStatus.QUARANTINED:
                session.add(CandidateRow(round=number, weights=bytes(4)))
            refused = [attackers[-1]] if number in (4, 6) else []
            for id in here if scored else here[:3]:
                session.add(_update(number, id, opened))
            for id in refused:
                session.add(
                    RefusalRow(
                        round=number, participant=id, reason="the update holds a NaN or an infinity", received=opened
                    )
                )
            if scored:
                for id in here:
                    bad = id in attackers
                    pull = (0.05 + 0.1 * attackers.index(id)) if bad else 0.93
                    reputation[id] += 0.35 * (pull + chance.uniform(-0.04, 0.04) - reputation[id])
                    seen = _observation(number, id, bad, reputation[id], len(here), id in refused, chance)
                    # Of the first rounds it was not noted who was a newcomer.
                    seen.established = None if number < 3 else not bad or number > 5
                    session.add(seen)
            if status is RoundStatus.PUBLISHED:
                version, accuracy = version + 1, after
                session.add(_model(version, opened + timedelta(hours=5), "round", number, accuracy, chance))
            done = {"round": number, "reason": ""}
            session.add(AuditRow(at=opened, who="server", action="opened a round", detail={"round": number}))
            session.add(AuditRow(at=opened + timedelta(hours=5), who="server", action=f"{status} a round", detail=done))
            session.flush()
        version += 1
        back = _model(version, now() - timedelta(hours=9), "rollback", None, accuracy, chance)
        back.restored = version - 2
        session.add(back)
        session.flush()
        if under_way:
            opened = now() - timedelta(hours=3)
            session.add(
                RoundRow(
                    id=ROUNDS + 1,
                    status=RoundStatus.OPEN,
                    under_way=True,
                    base=version,
                    opened=opened,
                    deadline=opened + timedelta(hours=24),
                    minimum=5,
                    quorum=10,
                    maximum=100,
                    grace_seconds=0,
                    plan=PLAN,
                    received=6,
                    attempts=0,
                )
            )
            session.flush()
            for place, id in enumerate((*honest[:5], attackers[1])):
                received = opened + timedelta(minutes=17 * place)
                session.add(_update(ROUNDS + 1, id, received))
        muted = session.get_one(ParticipantRow, attackers[1])
        muted.muted = now() - timedelta(hours=2)
        session.add_all(
            NoteRow(about=about, text=text, who=OPERATOR, at=now() - timedelta(hours=2))
            for about, text in (
                (f"participant {muted.id}", "Muted: its steps point away from everybody else's"),
                (f"round {QUARANTINED}", "Three attackers in one round.\nAsked the course for their laptops."),
                ("version 3", "Used in the first lecture."),
            )
        )
    return Example(tuple(honest), tuple(attackers), idle, version)


def _update(round: int, id: str, received: datetime) -> UpdateRow:
    return UpdateRow(
        round=round, participant=id, sha256=bytes(32), encoding="float32", size=1_000_000, received=received
    )


def _score(accuracy: float, chance: random.Random) -> dict[str, object]:
    return {"accuracy": accuracy, "by_class": _by_class(accuracy, chance)}


def _by_class(accuracy: float, chance: random.Random) -> dict[str, float]:
    usual = (0.03, 0.01, -0.02, -0.05, -0.08, 0.02)
    return {
        name: min(1.0, accuracy + more + chance.uniform(-0.01, 0.01)) for name, more in zip(NAMES, usual, strict=True)
    }


def vocabulary() -> Vocabulary:
    """Return a vocabulary of a few words of each class; it has no pool."""
    words = [word for known in WORDS for word in known.split()]
    return Vocabulary(tuple(words), np.ones(len(words)))


def _weights(version: int) -> bytes:
    """Return the weights of a linear model: each word speaks for its class, which later versions know better."""
    kernel = np.zeros((len(vocabulary().words), len(NAMES)), np.float32)
    place = 0
    for label, known in enumerate(WORDS):
        for word in known.split():
            kernel[place, label] = 1.0 if len(word) % (ROUNDS + 1) < version + 3 else -0.2
            place += 1
    bias = np.array([0, 0, 0, 0, 0, 0.1], np.float32)
    return np.concatenate([kernel.ravel(), bias]).astype("<f4").tobytes()


def _model(
    version: int, created: object, origin: str, round: int | None, accuracy: float, chance: random.Random
) -> ModelRow:
    return ModelRow(
        version=version,
        created=created,
        origin=origin,
        round=round,
        layers=[len(vocabulary().words), len(NAMES)],
        weights=_weights(version),
        sha256=hashlib.sha256(bytes([version])).hexdigest(),
        vocabulary="0" * 64,
        accuracy=accuracy,
        class_accuracy=_by_class(accuracy, chance),
    )


def _observation(
    round: int, id: str, bad: bool, reputation: float, voters: int, refused: bool, chance: random.Random
) -> ObservationRow:
    def said(strength: float) -> dict[str, float]:
        sure = chance.uniform(0.5, 0.95)
        disbelief = sure * min(1.0, max(0.0, strength + chance.uniform(-0.05, 0.05)))
        return {"belief": round_(sure - disbelief), "disbelief": round_(disbelief), "uncertainty": round_(1 - sure)}

    opinions = {name: said(chance.uniform(0.4, 1.0) if bad else 0.06) for name in DETECTORS}
    opinions["fused"] = said(0.9 if bad else 0.04)
    negative = int(VALUES * (chance.uniform(0.15, 0.4) if bad else chance.uniform(0.0, 0.02)))
    share = 0.0 if bad and round > 2 else 0.4 if bad else chance.uniform(0.9, 1.3)
    return ObservationRow(
        round=round,
        participant=id,
        weight=share / voters,
        positive=VALUES - negative,
        negative=negative,
        reputation=reputation,
        opinions=opinions,
        refused=refused,
    )


def round_(value: float) -> float:
    """Return a number as rules write opinions down."""
    return round(value, 4)
