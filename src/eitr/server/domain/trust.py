"""Who is established: trust that participants earn in rounds, or that an operator gives with an invitation.

A round counts for those who were judged in it and had weight, if it had bounds, led to a new version, and nobody's
network had more than its share of it. Otherwise one network could make all of its identities established at once.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from sqlalchemy import Select, and_, func, or_, select
from sqlalchemy.orm import Session

from eitr.server.db.tables import (
    InvitationBatchRow,
    InvitationRow,
    ObservationRow,
    ParticipantRow,
    RoundRow,
    RoundStatus,
    UpdateRow,
)
from eitr.server.domain.bounds import ENOUGH, FEWEST_NETWORKS, Draw, Sender, Standing, draw, everybody
from eitr.server.domain.clock import now
from eitr.server.domain.keys import Key
from eitr.server.domain.limits import prefix_of
from eitr.server.domain.moderation import silenced

AWAITED_ROUNDS = 3
"""A round waits for established participants who sent in one of so many rounds before."""
EXPERIENCED_ROUNDS = 10
"""Rounds in which a federation must have had established participants to be no beginner."""
INVITED_LATELY = timedelta(days=7)
"""How long somebody counts as there who was trusted by invitation and was seen."""

People: TypeAlias = "Collection[str] | Select[*tuple[Any, ...]]"


def network_hash(key: Key, round: int, address: str) -> bytes:
    """Return what is stored of the network of an update: it tells who shares one, in this round only."""
    return key.hash("network", f"{round} {prefix_of(address)}")


def standings(session: Session, people: People, rounds: int) -> dict[str, Standing]:
    """Return how far each participant is trusted; `rounds` that count make somebody established."""
    earned = earned_rounds(session, people)
    query = (
        select(
            ParticipantRow.id,
            silenced().label("silenced"),
            func.coalesce(InvitationBatchRow.founders, False).label("founder"),
            func.coalesce(InvitationBatchRow.unbounded, False).label("unbounded"),
        )
        .outerjoin(
            InvitationRow, and_(InvitationRow.hash == ParticipantRow.invitation, InvitationRow.revoked.is_(None))
        )
        .outerjoin(InvitationBatchRow, InvitationBatchRow.id == InvitationRow.batch)
        .where(ParticipantRow.id.in_(people))
    )
    return {
        row.id: Standing(
            established=bool(row.founder) or earned.get(row.id, 0) >= rounds,
            unbounded=bool(row.unbounded),
            silenced=bool(row.silenced),
        )
        for row in session.execute(query)
    }


def earned_rounds(session: Session, people: People) -> dict[str, int]:
    """Return how many rounds count for each participant who took part in any.

    Only rounds count of which the observation is kept, and which were held within bounds: what a rule remembers tells
    neither whether somebody had weight nor from how many networks the others came.
    """
    networks = func.coalesce(RoundRow.bounds["networks"].as_integer(), 0)
    weighty = or_(ObservationRow.weight.is_(None), ObservationRow.weight > 0)
    query = (
        select(ObservationRow.participant, func.count().label("counted"))
        .join(RoundRow, RoundRow.id == ObservationRow.round)
        .where(
            ObservationRow.participant.in_(people),
            ~ObservationRow.refused,
            weighty,
            RoundRow.result.is_not(None),
            networks >= FEWEST_NETWORKS,
        )
        .group_by(ObservationRow.participant)
    )
    return {row.participant: row.counted for row in session.execute(query)}


def trusted_lately(session: Session, before: int, rounds: int) -> int:
    """Return how many trusted participants sent in the last rounds before one, or were invited as such and seen."""
    # Not abandoned ones: a time in which nobody comes must not make a federation a beginner again.
    judged = (RoundStatus.PUBLISHED, RoundStatus.QUARANTINED)
    last = select(RoundRow.id).where(RoundRow.id < before, RoundRow.status.in_(judged))
    last = last.order_by(RoundRow.id.desc()).limit(rounds)
    sent = select(ObservationRow.participant).where(
        ObservationRow.established.is_(True), ObservationRow.round.in_(last)
    )
    invited = (
        select(InvitationRow.hash)
        .join(InvitationBatchRow, InvitationBatchRow.id == InvitationRow.batch)
        .where(InvitationRow.revoked.is_(None), or_(InvitationBatchRow.founders, InvitationBatchRow.unbounded))
    )
    there = or_(
        ParticipantRow.id.in_(sent),
        and_(ParticipantRow.invitation.in_(invited), ParticipantRow.seen >= now() - INVITED_LATELY),
    )
    query = select(func.count()).select_from(ParticipantRow)
    return session.scalar(query.where(there, ~silenced())) or 0


def enough_trusted(session: Session, round: RoundRow, rounds: int) -> bool:
    """Say whether a round may close before its deadline, as far as those who sent are concerned.

    As many trusted participants must have sent as the quorum asks for, or as were there lately, and at least one:
    newcomers must not close a round before the others have come. In a full round, of which newcomers have half at
    most, one is enough: nobody who is awaited finds a place in it any more.
    """
    sent = select(UpdateRow.participant).where(UpdateRow.round == round.id)
    trusted = sum(one.trusted for one in standings(session, sent, rounds).values())
    if round.received >= round.maximum:
        return trusted >= 1
    return trusted >= max(1, min(round.quorum, trusted_lately(session, round.id, AWAITED_ROUNDS)))


@dataclass(frozen=True, slots=True)
class Drawing:
    """Draws whose updates are judged, as a server's settings say."""

    key: Key
    established_rounds: int
    bounds: bool

    def draw(self, session: Session, round: RoundRow) -> Draw:
        """Return the draw of a round: the same whenever it is made, and not to be foreseen."""
        query = (
            select(UpdateRow.participant, UpdateRow.network)
            .where(UpdateRow.round == round.id, UpdateRow.object.is_not(None))
            .order_by(UpdateRow.participant)
        )
        sent = select(UpdateRow.participant).where(UpdateRow.round == round.id)
        known = standings(session, sent, self.established_rounds)
        senders = [
            # Without a network, because bounds were lifted when it came, an update is from a network of its own.
            Sender(id, known[id], f"only {id}" if network is None else network.hex())
            for id, network in session.execute(query)
            if id in known
        ]
        # What formal privacy promises holds only if nobody's presence decides whether others are used.
        if not self.bounds or round.published_noise is not None:
            return everybody(senders)
        return draw(
            senders,
            lambda id: self.key.hash("draw", f"{round.id} {id}"),
            experienced=trusted_lately(session, round.id, EXPERIENCED_ROUNDS) >= ENOUGH,
            quorum=round.quorum,
            minimum=round.minimum,
        )
