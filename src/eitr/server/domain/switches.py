"""What an operator can switch on and off while the server runs: the pause of all rounds.

While rounds are paused, none opens, none closes and none is aggregated; only an aggregation that has begun is finished.
The open round stays as it is. Who asks for it is told that there is no round, and updates to it are refused: otherwise
attackers, who know its number, could fill it while honest participants cannot see it. When rounds go on, it gets the
time back.
"""

from sqlalchemy import exists, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database
from eitr.server.db.tables import AuditRow, RoundRow, RoundStatus, SwitchRow
from eitr.server.domain.clock import now

PAUSE = "pause"
PAUSED = exists(select(SwitchRow.name).where(SwitchRow.name == PAUSE))
"""Whether rounds are paused, as a part of a query."""


def pause_of(session: Session) -> SwitchRow | None:
    """Return since when rounds are paused, by whom and why; None if they are not."""
    return session.get(SwitchRow, PAUSE)


def pause(database: Database, who: str, note: str) -> bool:
    """Pause all rounds; return False if they are paused already."""
    moment = now()
    try:
        with database.writing() as session:
            if pause_of(session) is not None:
                return False
            session.add(SwitchRow(name=PAUSE, since=moment, who=who, note=note))
            session.add(AuditRow(at=moment, who=who, action="paused rounds", detail={"note": note}))
    except IntegrityError:  # another operator was faster
        return False
    return True


def resume(database: Database, who: str) -> bool:
    """Let rounds go on; return False if they are not paused. The open round gets the time that the pause took."""
    moment = now()
    with database.writing() as session:
        found = session.scalar(select(SwitchRow).where(SwitchRow.name == PAUSE).with_for_update())
        if found is None:
            return False
        session.delete(found)
        lasted = moment - found.since
        open_round = select(RoundRow).where(RoundRow.status == RoundStatus.OPEN)
        for one in session.scalars(open_round.with_for_update()):
            one.deadline += lasted
            if one.complete is not None:
                one.complete += lasted
        detail = {"seconds": round(lasted.total_seconds())}
        session.add(AuditRow(at=moment, who=who, action="resumed rounds", detail=detail))
    return True
