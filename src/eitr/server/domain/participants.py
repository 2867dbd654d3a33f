"""Participants: enrolment, secrets, their own data, and erasure.

When a participant leaves, everything about them is deleted except one thing: the reputation of somebody who enrolled by
invitation is kept under a keyed hash of the code, and applies again when they return with it. So nobody gets rid of a
bad reputation by leaving. Of the people of a study not even that is kept: they cannot return with their code.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database, is_busy
from eitr.server.db.tables import (
    AuditRow,
    InvitationBatchRow,
    InvitationRow,
    KeptReputationRow,
    ObservationRow,
    ParticipantRow,
    RefusalRow,
    RoundRow,
    RuleStateRow,
    UpdateRow,
)
from eitr.server.domain import moderation, notes, update_bytes
from eitr.server.domain.clock import now
from eitr.server.domain.errors import BusyError, InvitationNeededError, NotEnrolledError
from eitr.server.domain.invitations import INVITATION, new_codes, valid_invitation
from eitr.server.domain.keys import Key, new_secret, same, secret_hash
from eitr.server.domain.rounds import changed
from eitr.server.domain.rule_states import without_steps
from eitr.server.domain.study.erasure import forget_actions, forget_person
from eitr.server.domain.study.export import study_part

SEEN_EVERY = timedelta(minutes=10)
"""How exactly it is known when a participant was last there: not every request writes."""
CREDENTIALS = select(ParticipantRow.id, ParticipantRow.secret_hash, ParticipantRow.seen, ParticipantRow.banned).where(
    ParticipantRow.id.in_(bindparam("participants", expanding=True))
)
"""Made once, because every request of a participant runs it."""


class Access(Enum):
    """What somebody's id and secret let them do."""

    NONE = "nothing"
    OWN_DATA = "export and delete their data"
    FULL = "send updates, too"


@dataclass(frozen=True, slots=True)
class Enrolled:
    """The credentials of a new participant, told only once."""

    id: str
    secret: str


class Participants:
    """The participants of a server."""

    def __init__(self, database: Database, key: Key) -> None:
        self._database, self._key = database, key

    def enrol(self, code: str | None, *, invited_only: bool) -> Enrolled:
        """Add a participant; with the invitation of one who is there already, give that one a new secret."""
        if code is None and invited_only:
            raise InvitationNeededError("This server enrols invited participants only: send their code.")
        secret, moment = new_secret(), now()
        invitation = None if code is None else self._key.hash(INVITATION, code)
        with self._database.writing() as session:
            if invitation is not None:
                valid_invitation(session, invitation)
                known = session.scalar(select(ParticipantRow).where(ParticipantRow.invitation == invitation))
                if known is not None:
                    known.secret_hash, known.seen = secret_hash(secret), moment
                    return Enrolled(known.id, secret)
            added = ParticipantRow(
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
                raise BusyError("The same invitation is being used at this moment.") from None
            if invitation is not None:
                _restore_reputation(session, added, invitation)
            return Enrolled(added.id, secret)

    def known(self, id: str, secret: str) -> bool:
        """Say whether there is such a participant with this secret, and note that they were there."""
        return self.access([(id, secret)])[0] is not Access.NONE

    def access(self, claims: Sequence[tuple[str, str]]) -> list[Access]:
        """Return what each pair of id and secret allows, and note that these participants were there."""
        with self._database.reading() as session:
            rows = session.execute(CREDENTIALS, {"participants": list({id for id, _ in claims})})
            found = {row.id: row for row in rows}
        nobody, moment = secret_hash(""), now()
        right = []
        for id, secret in claims:
            row = found.get(id)
            # The work is the same whether or not the participant exists.
            right.append(same(nobody if row is None else row.secret_hash, secret_hash(secret)) and row is not None)
        back = {id for (id, _), one in zip(claims, right, strict=True) if one and moment - found[id].seen > SEEN_EVERY}
        if back:
            self._note_seen(back, moment)
        return [
            Access.NONE if not one else Access.FULL if found[id].banned is None else Access.OWN_DATA
            for (id, _), one in zip(claims, right, strict=True)
        ]

    def _note_seen(self, ids: set[str], moment: datetime) -> None:
        """Note that participants were there, unless others write: then the next request does."""
        try:
            with self._database.writing(wait=0) as session:
                session.execute(update(ParticipantRow).where(ParticipantRow.id.in_(ids)).values(seen=moment))
        except OperationalError as error:
            if not is_busy(error):
                raise

    def export(self, id: str) -> dict[str, Any]:
        """Return everything that is kept about a participant, except what the rule thinks of them."""
        with self._database.reading() as session:
            found = session.get(ParticipantRow, id)
            if found is None:  # they have left since they were authenticated
                raise NotEnrolledError("The participant has left.")
            sent = session.scalars(select(UpdateRow).where(UpdateRow.participant == id).order_by(UpdateRow.id)).all()
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
                "study": None if found.invitation is None else study_part(session, found.invitation),
            }

    def erase(self, id: str) -> None:
        """Delete a participant and everything about them, including an update in an open round."""
        with self._database.writing() as session:
            erase(session, id)

    def invite(self, note: str) -> str:
        """Make one invitation and return its code, which is not kept."""
        return self.invite_batch(1, note, who="server")[0]

    def invite_batch(
        self, count: int, note: str, *, who: str, founders: bool = False, unbounded: bool = False
    ) -> list[str]:
        """Make a batch of invitations and return their codes, which are not kept.

        `founders` are established from their first round on. For `unbounded` people, the bounds on newcomers and on
        networks do not hold.
        """
        moment = now()
        with self._database.writing() as session:
            batch = InvitationBatchRow(note=note, created=moment, who=who, founders=founders, unbounded=unbounded)
            session.add(batch)
            session.flush()
            codes = new_codes(session, self._key, count, note, batch.id)
            detail = {"batch": batch.id, "count": count, "note": note, "founders": founders, "unbounded": unbounded}
            session.add(AuditRow(at=moment, who=who, action="made invitations", detail=detail))
        return codes

    def revoke(self, hash: bytes) -> bool:
        """Revoke an invitation; whoever enrolled with it stays."""
        valid = (InvitationRow.hash == hash, InvitationRow.revoked.is_(None))
        with self._database.writing() as session:
            done = session.execute(update(InvitationRow).where(*valid).values(revoked=now()))
            return changed(done)


def erase(session: Session, id: str) -> None:
    """Delete a participant, within a transaction; their updates in an open round no longer count.

    Whoever is in a study withdraws from it: nothing is kept but the keyed hash of the code.
    """
    found = session.get(ParticipantRow, id)
    if found is None:
        return
    withdrawn = found.invitation is not None and forget_person(session, found.invitation)
    if found.invitation is not None and not withdrawn:
        for kept in session.scalars(select(RuleStateRow).where(RuleStateRow.participant == id)):
            # Only the reputation is kept, as numbers between 0 and 1; nothing of the updates themselves.
            arrays = without_steps(kept.arrays)
            session.merge(
                KeptReputationRow(
                    invitation=found.invitation, rule=kept.rule, rounds=kept.rounds, arrays=arrays, since=now()
                )
            )
        moderation.keep_for_return(session, found)
    if withdrawn:
        forget_actions(session, id)
    open_rounds = select(UpdateRow.round).where(UpdateRow.participant == id, UpdateRow.object.is_not(None))
    session.execute(update(RoundRow).where(RoundRow.id.in_(open_rounds)).values(received=RoundRow.received - 1))
    update_bytes.forget_participant(session, id)
    for table in (RefusalRow, ObservationRow, RuleStateRow):
        session.execute(delete(table).where(table.participant == id))
    notes.forget_participant(session, id)
    session.execute(delete(ParticipantRow).where(ParticipantRow.id == id))


def _restore_reputation(session: Session, returned: ParticipantRow, invitation: bytes) -> None:
    """Give a participant the reputation that was kept under this invitation; who was muted or banned still is."""
    for kept in session.scalars(select(KeptReputationRow).where(KeptReputationRow.invitation == invitation)).all():
        if not moderation.restore(returned, kept):
            session.add(RuleStateRow(participant=returned.id, rule=kept.rule, rounds=kept.rounds, arrays=kept.arrays))
        session.delete(kept)
