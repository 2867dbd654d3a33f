"""What an operator can do about one participant: mute them, or ban them.

Updates of a muted participant are accepted as before and count for nothing, and the participant is not told. Updates of
a banned one are refused. Rounds leave out both: their updates have no weight, are no evidence for or against anybody,
and do not help a round to reach its quorum or its minimum.
"""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database
from eitr.server.db.tables import AuditRow, KeptReputationRow, NoteRow, ParticipantRow, UpdateRow
from eitr.server.domain.clock import now
from eitr.server.domain.notes import SHOWN_ID, about_participant


class Measure(StrEnum):
    """What can be done; each is a column of the participants, which says since when."""

    MUTED = "muted"
    BANNED = "banned"


WORDS = {
    (Measure.MUTED, True): ("muted a participant", "Muted"),
    (Measure.MUTED, False): ("unmuted a participant", "Unmuted"),
    (Measure.BANNED, True): ("banned a participant", "Banned"),
    (Measure.BANNED, False): ("lifted the ban of a participant", "Ban lifted"),
}
"""What the audit log and the note say when a measure is taken or lifted."""


def take(database: Database, id: str, measure: Measure, who: str, reason: str) -> bool:
    """Mute or ban a participant; return False if they are not there, or it was done before."""
    return _set(database, id, measure, who, reason, on=True)


def lift(database: Database, id: str, measure: Measure, who: str, reason: str) -> bool:
    """Unmute a participant or lift their ban; return False if there is nothing to lift."""
    return _set(database, id, measure, who, reason, on=False)


def silenced() -> ColumnElement[bool]:
    """Return the condition for participants whose updates count for nothing: the muted and the banned."""
    return ParticipantRow.muted.is_not(None) | ParticipantRow.banned.is_not(None)


def left_out(session: Session) -> set[str]:
    """Return the participants whose updates count for nothing."""
    return set(session.scalars(select(ParticipantRow.id).where(silenced())))


def uncounted(session: Session, round: int) -> int:
    """Return how many updates of a round count for nothing."""
    query = select(func.count(UpdateRow.id)).join(ParticipantRow, ParticipantRow.id == UpdateRow.participant)
    return session.scalar(query.where(UpdateRow.round == round, silenced())) or 0


def latest(session: Session) -> datetime | None:
    """Return when a participant was last muted or banned; None if nobody is."""
    muted, banned = session.execute(select(func.max(ParticipantRow.muted), func.max(ParticipantRow.banned))).one()
    return max((at for at in (muted, banned) if at is not None), default=None)


def keep_for_return(session: Session, leaving: ParticipantRow) -> None:
    """Keep under a participant's invitation that they are muted or banned: leaving must not undo it.

    It is kept where reputations are kept for their return, with the measure in the place of the rule's name.
    """
    for measure in Measure:
        since = getattr(leaving, measure)
        if since is not None and leaving.invitation is not None:
            session.merge(
                KeptReputationRow(invitation=leaving.invitation, rule=measure, rounds=0, arrays=b"", since=since)
            )


def restore(returned: ParticipantRow, kept: KeptReputationRow) -> bool:
    """Apply a kept measure to the participant who came back; return False if it is not a measure but a reputation."""
    if kept.rule not in set(Measure):
        return False
    setattr(returned, kept.rule, kept.since)
    return True


def _set(database: Database, id: str, measure: Measure, who: str, reason: str, *, on: bool) -> bool:
    action, said = WORDS[measure, on]
    with database.writing() as session:
        found = session.get(ParticipantRow, id, with_for_update=True)
        if found is None or (getattr(found, measure) is not None) is on:
            return False
        moment = now()
        setattr(found, measure, moment if on else None)
        detail = {"participant": id[:SHOWN_ID], "reason": reason}
        session.add(AuditRow(at=moment, who=who, action=action, detail=detail))
        session.add(NoteRow(about=about_participant(id), text=f"{said}: {reason}", who=who, at=moment))
        return True
