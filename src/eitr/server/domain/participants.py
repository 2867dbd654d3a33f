"""Who takes part: enrolment, secrets, one's own data, and leaving.

A participant who leaves takes everything along but one thing: enrolled by invitation, the reputation waits, under a
keyed hash of the code, for whoever comes back with it. Nobody washes a bad name off by leaving.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database
from eitr.server.db.tables import (
    Invitation,
    Memory,
    Observation,
    Octets,
    Participant,
    Refusal,
    Round,
    Standing,
    Update,
)
from eitr.server.domain.clock import now
from eitr.server.domain.keys import Key, new_secret, same, secret_hash
from eitr.server.domain.rounds import changed
from eitr.server.domain.rule_states import packed, unpacked
from eitr.server.web.problems import Problem

INVITATION = "invitation"
SEEN_EVERY = timedelta(minutes=10)
"""How exactly it is known when a participant was last there: not every request writes."""


@dataclass(frozen=True, slots=True)
class Enrolled:
    """What a participant is told, once."""

    id: str
    secret: str


class Participants:
    """The participants of a server."""

    def __init__(self, database: Database, key: Key) -> None:
        self._database, self._key = database, key

    def enrol(self, code: str | None, *, invited_only: bool) -> Enrolled:
        """Add a participant; with the invitation of one who is there already, give that one a new secret."""
        if code is None and invited_only:
            raise Problem("invitation-needed", "This server enrols invited participants only: send their code.")
        secret, moment = new_secret(), now()
        invitation = None if code is None else self._key.hash(INVITATION, code)
        with self._database.writing() as session:
            if invitation is not None:
                self._check(session, invitation)
                known = session.scalar(select(Participant).where(Participant.invitation == invitation))
                if known is not None:
                    known.secret_hash, known.seen = secret_hash(secret), moment
                    return Enrolled(known.id, secret)
            added = Participant(
                id=uuid.uuid4().hex,
                secret_hash=secret_hash(secret),
                invitation=invitation,
                enrolled=moment,
                seen=moment,
            )
            session.add(added)
            try:
                session.flush()
            except IntegrityError:
                raise Problem("busy", "The same invitation is being used at this moment.") from None
            if invitation is not None:
                _welcome_back(session, added.id, invitation)
            return Enrolled(added.id, secret)

    def known(self, id: str, secret: str) -> bool:
        """Say whether there is such a participant with this secret, and note that they were there."""
        return self.all_known([(id, secret)])[0]

    def all_known(self, claims: Sequence[tuple[str, str]]) -> list[bool]:
        """Say of each pair of id and secret whether there is such a participant, and note that they were there."""
        with self._database.reading() as session:
            query = select(Participant.id, Participant.secret_hash, Participant.seen)
            found = {row.id: row for row in session.execute(query.where(Participant.id.in_({id for id, _ in claims})))}
        nobody, moment = secret_hash(""), now()
        right = []
        for id, secret in claims:
            row = found.get(id)
            # The work is the same whether or not the participant exists.
            right.append(same(nobody if row is None else row.secret_hash, secret_hash(secret)) and row is not None)
        back = {id for (id, _), one in zip(claims, right, strict=True) if one and moment - found[id].seen > SEEN_EVERY}
        if back:
            with self._database.writing() as session:
                session.execute(update(Participant).where(Participant.id.in_(back)).values(seen=moment))
        return right

    def export(self, id: str) -> dict[str, Any]:
        """Return everything that is kept about a participant, except what the rule thinks of them."""
        with self._database.reading() as session:
            found = session.get(Participant, id)
            if found is None:  # gone since they proved who they are
                raise Problem("not-enrolled", "The participant has left.")
            sent = session.scalars(select(Update).where(Update.participant == id).order_by(Update.id)).all()
            return {
                "participant": id,
                "enrolled": found.enrolled.isoformat(),
                "seen": found.seen.isoformat(),
                "invited": found.invitation is not None,
                "updates": [
                    {
                        "round": one.round,
                        "received": one.received.isoformat(),
                        "sha256": one.sha256.hex(),
                        "bytes": one.size,
                        "encoding": one.encoding,
                    }
                    for one in sent
                ],
            }

    def erase(self, id: str) -> None:
        """Delete a participant and everything about them; an update under way goes, too."""
        with self._database.writing() as session:
            erase(session, id)

    def invite(self, note: str) -> str:
        """Make an invitation and return its code, which is not kept."""
        code = new_secret()[:24]
        with self._database.writing() as session:
            session.add(Invitation(hash=self._key.hash(INVITATION, code), note=note, created=now()))
        return code

    def revoke(self, hash: bytes) -> bool:
        """End an invitation: who is there stays, nobody else comes with it."""
        valid = (Invitation.hash == hash, Invitation.revoked.is_(None))
        with self._database.writing() as session:
            done = session.execute(update(Invitation).where(*valid).values(revoked=now()))
            return changed(done)

    @staticmethod
    def _check(session: Session, invitation: bytes) -> None:
        found = session.get(Invitation, invitation)
        if found is None or found.revoked is not None:
            raise Problem("invitation-needed", "The invitation is unknown or was revoked; ask for a new one.")


def erase(session: Session, id: str) -> None:
    """Delete a participant, within a transaction; their updates in an open round no longer count."""
    found = session.get(Participant, id)
    if found is None:
        return
    if found.invitation is not None:
        for kept in session.scalars(select(Memory).where(Memory.participant == id)):
            # Of the past only how the participant behaved stays, as numbers between 0 and 1; no step is kept.
            history = {name: array for name, array in unpacked(kept.arrays).items() if array.dtype == np.float64}
            session.merge(
                Standing(
                    invitation=found.invitation, rule=kept.rule, rounds=kept.rounds, arrays=packed(history), since=now()
                )
            )
    open_rounds = select(Update.round).where(Update.participant == id, Update.id.in_(select(Octets.update)))
    session.execute(update(Round).where(Round.id.in_(open_rounds)).values(received=Round.received - 1))
    for table in (Update, Refusal, Observation, Memory):
        session.execute(delete(table).where(table.participant == id))
    session.execute(delete(Participant).where(Participant.id == id))


def _welcome_back(session: Session, id: str, invitation: bytes) -> None:
    """Give a participant the reputation that waits for whoever has this invitation."""
    for kept in session.scalars(select(Standing).where(Standing.invitation == invitation)).all():
        session.add(Memory(participant=id, rule=kept.rule, rounds=kept.rounds, arrays=kept.arrays))
        session.delete(kept)
