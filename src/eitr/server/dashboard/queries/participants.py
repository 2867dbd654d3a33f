"""Participants: their reputation now, and their rounds so far."""

import heapq
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any, Literal, TypeAlias

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, aliased, defer

from eitr.server.dashboard.queries.listing import Listing, cut
from eitr.server.db.tables import (
    InvitationBatchRow,
    InvitationRow,
    ObservationRow,
    ParticipantRow,
    RefusalRow,
    RoundRow,
    UpdateRow,
)
from eitr.server.domain import trust as trust_domain

Sort = Literal["reputation", "participant", "rounds", "replaced", "refused", "enrolled", "seen"]
Table: TypeAlias = "Select[*tuple[Any, ...]]"
COLUMNS = {"participant": "id", "replaced": "replaced_share"}
"""Where the page has another word than the field."""


@dataclass(frozen=True, slots=True)
class ParticipantSummary:
    """One participant as the list shows them."""

    id: str
    enrolled: datetime
    seen: datetime
    invited: bool
    reputation: float | None
    """After the last round they took part in; None before the first."""
    rounds: int
    """In how many an update of theirs was received."""
    replaced: int
    """In how many of them values lay so far from everybody else's that the rule replaced them."""
    replaced_share: float | None
    """Of all values they sent."""
    refused: int
    """In how many an invalid update was rejected."""
    muted: datetime | None
    banned: datetime | None


@dataclass(frozen=True, slots=True)
class ParticipantTrust:
    """How far a participant is trusted before their update is seen, and what the operator wrote about them."""

    word: str
    unbounded: bool
    """Whether their invitation lifts the bounds."""
    note: str
    """That of their invitation."""


@dataclass(frozen=True, slots=True)
class ParticipantRound:
    """What a participant did in one round, and what was made of it."""

    round: int
    status: str
    received: datetime | None
    observation: ObservationRow | None
    refusal: str | None


def summary(session: Session) -> list[ParticipantSummary]:
    """Return a summary of every participant, with one query over all observations."""
    return [_standing(row) for row in session.execute(_query())]


def standing(session: Session, id: str) -> ParticipantSummary | None:
    """Return the summary of one participant; None if there is no such participant."""
    row = session.execute(_query(id)).one_or_none()
    return None if row is None else _standing(row)


def trust(session: Session, ids: Collection[str], rounds: int) -> dict[str, ParticipantTrust]:
    """Return the trust in some participants; `rounds` that count make somebody established."""
    known = trust_domain.standings(session, ids, rounds)
    query = (
        select(ParticipantRow.id, InvitationRow.note, InvitationRow.revoked, InvitationBatchRow.founders)
        .join(InvitationRow, InvitationRow.hash == ParticipantRow.invitation)
        .outerjoin(InvitationBatchRow, InvitationBatchRow.id == InvitationRow.batch)
        .where(ParticipantRow.id.in_(ids))
    )
    invited = {row.id: row for row in session.execute(query)}

    def of(id: str) -> ParticipantTrust:
        by = invited.get(id)
        founder = by is not None and by.revoked is None and bool(by.founders)
        word = "founder" if founder else "established" if known[id].established else "newcomer"
        return ParticipantTrust(word, known[id].unbounded, "" if by is None else by.note)

    return {id: of(id) for id in known}


def sorted_page(everybody: list[ParticipantSummary], sort: Sort, *, descending: bool = False, page: int = 1) -> Listing:
    """Return one page of the participants; who has no number to sort by comes last."""
    column = COLUMNS.get(sort, sort)
    known = [one for one in everybody if getattr(one, column) is not None]
    known.sort(key=lambda one: one.id)
    known.sort(key=lambda one: getattr(one, column), reverse=descending)
    unknown = sorted((one for one in everybody if getattr(one, column) is None), key=lambda one: one.id)
    return cut([*known, *unknown], page)


def lowest(everybody: list[ParticipantSummary], count: int) -> list[str]:
    """Return the participants of the lowest reputations, lowest first."""
    known = [(one.reputation, one.id) for one in everybody if one.reputation is not None]
    return [id for _, id in heapq.nsmallest(count, known)]


def most_replaced(everybody: list[ParticipantSummary], count: int) -> list[ParticipantSummary]:
    """Return who had the greatest share of values replaced."""
    known = [one for one in everybody if one.replaced_share]
    return heapq.nsmallest(count, known, key=lambda one: (-(one.replaced_share or 0.0), one.id))


def observed(session: Session, participants: list[str], rounds: int) -> list[ObservationRow]:
    """Return what was seen of some participants in the last rounds, by round."""
    last = select(ObservationRow.round).distinct().order_by(ObservationRow.round.desc()).limit(rounds)
    query = select(ObservationRow).where(ObservationRow.round.in_(last), ObservationRow.participant.in_(participants))
    # Charts do not need the opinions, which are most of a row.
    query = query.options(defer(ObservationRow.opinions))
    return list(session.scalars(query.order_by(ObservationRow.round, ObservationRow.participant)))


def voters(session: Session, rounds: list[int]) -> dict[int, int]:
    """Return how many updates were judged, with a weight, in each of some rounds."""
    judged = (ObservationRow.weight > 0) | ObservationRow.reputation.is_not(None)
    counted = func.count(ObservationRow.weight).filter(judged)
    query = select(ObservationRow.round, counted).where(ObservationRow.round.in_(rounds))
    return {row[0]: row[1] for row in session.execute(query.group_by(ObservationRow.round))}


def lines_of_no_weight(session: Session, rounds: Collection[int]) -> dict[int, float]:
    """Return the reputation below which an update had no weight, by round, where the rule has such a line.

    The rule `fused` gives a client no weight if its reputation is at most `low` times that of the median client.
    """
    settings = session.execute(select(RoundRow.id, RoundRow.rule_settings).where(RoundRow.id.in_(rounds)))
    low = {row[0]: row[1]["low"] for row in settings if row[1] and "low" in row[1]}
    query = select(ObservationRow.round, ObservationRow.reputation).where(
        ObservationRow.round.in_(low), ObservationRow.weight.is_not(None)
    )
    found: dict[int, list[float]] = defaultdict(list)
    for round, reputation in session.execute(query):
        if reputation is not None:
            found[round].append(reputation)
    return {round: low[round] * median(values) for round, values in sorted(found.items())}


def history(session: Session, id: str, most: int) -> list[ParticipantRound]:
    """Return the last rounds of one participant, newest first."""
    query = (
        select(RoundRow.id, RoundRow.status, UpdateRow.received, ObservationRow, RefusalRow.reason)
        .outerjoin(UpdateRow, (UpdateRow.round == RoundRow.id) & (UpdateRow.participant == id))
        .outerjoin(ObservationRow, (ObservationRow.round == RoundRow.id) & (ObservationRow.participant == id))
        .outerjoin(RefusalRow, (RefusalRow.round == RoundRow.id) & (RefusalRow.participant == id))
        .where(UpdateRow.id.is_not(None) | ObservationRow.round.is_not(None) | RefusalRow.round.is_not(None))
        .order_by(RoundRow.id.desc())
        .limit(most)
    )
    return [ParticipantRound(*row) for row in session.execute(query)]


def _query(only: str | None = None) -> Table:
    """Return the query of everybody, or of one: then within each part, so that the others are not counted first."""

    def of(query: Table, participant: Any) -> Table:
        return query if only is None else query.where(participant == only)

    sent = of(select(UpdateRow.participant, func.count().label("rounds")), UpdateRow.participant)
    refused = of(select(RefusalRow.participant, func.count().label("times")), RefusalRow.participant)
    seen = of(
        select(
            ObservationRow.participant,
            func.max(ObservationRow.round).filter(ObservationRow.reputation.is_not(None)).label("last"),
            func.count().filter(ObservationRow.negative > 0).label("replaced"),
            func.sum(ObservationRow.negative).label("negative"),
            func.sum(ObservationRow.positive + ObservationRow.negative).label("all"),
        ),
        ObservationRow.participant,
    )
    sent_by = sent.group_by(UpdateRow.participant).subquery("sent")
    refused_by = refused.group_by(RefusalRow.participant).subquery("refused")
    seen_of = seen.group_by(ObservationRow.participant).subquery("seen")
    latest = aliased(ObservationRow)
    query = (
        select(
            ParticipantRow.id,
            ParticipantRow.enrolled,
            ParticipantRow.seen,
            ParticipantRow.invitation.is_not(None).label("invited"),
            latest.reputation,
            func.coalesce(sent_by.c.rounds, 0).label("rounds"),
            func.coalesce(seen_of.c.replaced, 0).label("replaced"),
            (seen_of.c.negative * 1.0 / func.nullif(seen_of.c["all"], 0)).label("replaced_share"),
            func.coalesce(refused_by.c.times, 0).label("refused"),
            ParticipantRow.muted,
            ParticipantRow.banned,
        )
        .outerjoin(sent_by, sent_by.c.participant == ParticipantRow.id)
        .outerjoin(seen_of, seen_of.c.participant == ParticipantRow.id)
        .outerjoin(latest, (latest.round == seen_of.c.last) & (latest.participant == ParticipantRow.id))
        .outerjoin(refused_by, refused_by.c.participant == ParticipantRow.id)
    )
    return of(query, ParticipantRow.id)


def _standing(row: Any) -> ParticipantSummary:
    found = row._asdict()
    if found["replaced_share"] is not None:
        found["replaced_share"] = float(found["replaced_share"])  # PostgreSQL's sums are decimals
    return ParticipantSummary(**found)
