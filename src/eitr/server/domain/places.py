"""Places in a round: newcomers and single networks cannot take all of them, so that others still find one."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from eitr.server.db.tables import RoundRow, UpdateRow
from eitr.server.domain.bounds import Standing
from eitr.server.domain.trust import standings
from eitr.server.domain.updates import ReceivedUpdate

AT_A_TIME = 1000
"""Participants whose standing is asked for in one query."""

NOBODY = Standing()
"""The standing of somebody who has left since."""


class Places:
    """Says for whom there is no place: newcomers take half of a round, and those of one network a quarter of it."""

    def __init__(self, established_rounds: int) -> None:
        self._rounds = established_rounds
        self._known: tuple[int, dict[str, Standing]] = (0, {})
        """The standings that were looked up for one round: they do not change while it is open."""

    @staticmethod
    def plenty(maximum: int, received: int) -> bool:
        """Say whether so many updates can have come from anybody: no limit is reached yet."""
        return received <= max(1, maximum // 4)

    def missing(self, session: Session, round: Any, batch: Sequence[ReceivedUpdate]) -> set[str]:
        """Return which senders find no place in an open round, of which the id and the maximum are needed.

        The round stays locked: others that write to it at the same time wait, and all together keep within the limits.
        """
        session.execute(select(RoundRow.id).where(RoundRow.id == round.id).with_for_update())
        query = select(UpdateRow.participant, UpdateRow.network).where(UpdateRow.round == round.id)
        taken: dict[str, bytes | None] = {row.participant: row.network for row in session.execute(query)}
        known = self._standings(session, round.id, [*taken, *(sent.participant for sent in batch)])
        newcomers = [network for id, network in taken.items() if not known.get(id, NOBODY).keeps_a_place]
        count, by_network = len(newcomers), Counter(newcomers)
        half, quarter = max(1, round.maximum // 2), max(1, round.maximum // 4)
        found = set()
        for sent in batch:
            if sent.participant in taken or known.get(sent.participant, NOBODY).keeps_a_place:
                continue
            if count >= half or (sent.network is not None and by_network[sent.network] >= quarter):
                found.add(sent.participant)
            else:
                taken[sent.participant] = sent.network
                count, by_network[sent.network] = count + 1, by_network[sent.network] + 1
        return found

    def _standings(self, session: Session, round: int, people: Sequence[str]) -> dict[str, Standing]:
        of, known = self._known
        if of != round:
            known = {}
            self._known = (round, known)
        new = [id for id in dict.fromkeys(people) if id not in known]
        for start in range(0, len(new), AT_A_TIME):
            known.update(standings(session, new[start : start + AT_A_TIME], self._rounds))
        return known
