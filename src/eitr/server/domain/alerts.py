"""Alerts: telling operators of problems outside the dashboard, once, and once more when a problem has ended.

Every process of a server looks again and again, so that one also tells of a worker that has died. A row per problem
decides who raises it, and a lease in the row who sends it. What could not be delivered is tried again, later each time.
This runs in a thread of its own: a mail server that does not answer delays nothing else.
"""

import logging
import secrets
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from eitr.server.db.connection import Database
from eitr.server.db.tables import AlertRow, AuditRow
from eitr.server.delivery.channels import channels_of
from eitr.server.delivery.failures import DeliveryError
from eitr.server.delivery.message import Channel, Event, Message
from eitr.server.domain import health
from eitr.server.domain.clock import now
from eitr.server.domain.health import HealthProblem, Severity
from eitr.server.domain.rounds import changed
from eitr.server.settings import ServerSettings

LEASE_SECONDS = 300.0
"""How long the process that sends a message may take before another one sends it."""
FIRST_WAIT, LONGEST_WAIT = 60.0, 3600.0
"""How long after a failure the next attempt is, in seconds: twice as long each time, up to an hour."""
GIVE_UP = timedelta(days=1)
"""How long it is tried to tell that a problem has ended."""
STOP_SECONDS = 5.0
"""How long a process that ends waits for a message that is being sent."""
log = logging.getLogger("eitr.alerts")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a message on one channel."""

    channel: str
    error: str
    """Why it was not delivered, or not to everybody; nothing if it was."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A message that this process has to send."""

    row: AlertRow
    channel: Channel
    event: Event
    attempts: int


class Alerts:
    """Raises, sends and ends alerts."""

    def __init__(self, database: Database, settings: ServerSettings) -> None:
        self._database, self._settings = database, settings
        self.channels: Sequence[Channel] = channels_of(settings)
        self._before: set[str] | None = None
        """What the last look found: only what is found twice is told, for a restart takes a moment."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="alerts", daemon=True)

    def start(self) -> None:
        """Look and send, again and again, in a thread; if there is no channel, do nothing."""
        if self.channels:
            self._thread.start()

    def stop(self) -> None:
        """Stop; a message that is being sent gets a few seconds."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        while not self._stop.wait(self._settings.alert_seconds):
            try:
                self.step()
            except Exception:
                log.exception("problems could not be looked for; this is tried again")

    def step(self) -> None:
        """Look once, and send what is due."""
        with self._database.reading() as session:
            problems = health.problems(session, self._settings)
            active = dict(session.execute(select(AlertRow.kind, AlertRow.id).where(AlertRow.active.is_(True))).all())
        found = {one.kind: one for one in problems if one.severity > Severity.ADVICE}
        before, self._before = self._before, set(found)
        if before is not None:
            for kind in found.keys() & before - active.keys():
                self._raise(found[kind])
            for kind in active.keys() - found.keys() - before:
                if _is_ours(kind):
                    self._end(active[kind], kind)
        while not self._stop.is_set() and (task := self._claimed(found.keys())) is not None:
            self._send(task, found.get(task.row.kind))

    def test(self) -> list[Outcome]:
        """Send a test message on every channel; return what became of it."""
        moment, server = now(), self._settings.own_address
        message = Message(
            id=f"test-{secrets.token_hex(8)}",
            event=Event.TEST,
            kind="test",
            what="This is a test alert. Alerts of this server arrive here.",
            do="Nothing: no problem was found, an operator asked for this message.",
            raised=moment,
            server=server,
            link=f"{server}/" if server else "",
        )
        return [Outcome(channel.name, _error(channel, message)) for channel in self.channels]

    def _raise(self, problem: HealthProblem) -> None:
        moment = now()
        try:
            with self._database.writing() as session:
                row = AlertRow(kind=problem.kind, active=True, text=problem.what, raised=moment, delivered={})
                session.add(row)
                session.flush()
                detail = {"kind": problem.kind, "text": problem.what}
                session.add(AuditRow(at=moment, who="server", action="raised an alert", detail=detail))
        except IntegrityError:  # another process was faster
            return
        log.warning("a problem was found", extra={"kind": problem.kind})

    def _end(self, id: int, kind: str) -> None:
        moment = now()
        with self._database.writing() as session:
            still = update(AlertRow).where(AlertRow.id == id, AlertRow.active.is_(True))
            if changed(session.execute(still.values(active=None, ended=moment))):
                session.add(AuditRow(at=moment, who="server", action="ended an alert", detail={"kind": kind}))

    def _claimed(self, found: Set[str]) -> _Task | None:
        """Take a message that is due, so that no other process sends it; None if there is none.

        `found` are the problems that there are now, as far as this machine can see them.
        """
        moment = now()
        with self._database.reading() as session:
            if next(self._due(session.scalars(_open_rows(moment)).all(), found, moment), None) is None:
                return None
        with self._database.writing() as session:
            rows = session.scalars(_open_rows(moment).with_for_update(skip_locked=True)).all()
            due = next(self._due(rows, found, moment), None)
            if due is None:
                return None
            row, channel, event = due
            attempts = _entry(row, channel.name, event).get("attempts", 0) + 1
            lease = moment + timedelta(seconds=LEASE_SECONDS)
            _write(row, channel.name, event, attempts=attempts, next=lease.isoformat())
            return _Task(row, channel, event, attempts)

    def _due(
        self, rows: Sequence[AlertRow], found: Set[str], moment: datetime
    ) -> Iterator[tuple[AlertRow, Channel, Event]]:
        """Yield what is to be sent now. Of a problem that is over, only its end is still of interest."""
        for row in rows:
            if row.ended is None and row.kind not in found:
                continue
            event = Event.RAISED if row.ended is None else Event.ENDED
            for channel in self.channels:
                entry = _entry(row, channel.name, event)
                if "at" not in entry and ("next" not in entry or datetime.fromisoformat(entry["next"]) <= moment):
                    yield row, channel, event

    def _send(self, task: _Task, problem: HealthProblem | None) -> None:
        row, name = task.row, task.channel.name
        error = ""
        values: dict[str, Any] = {}
        try:
            error = task.channel.send(self._message(row, task.event, problem))
            values = {"at": now().isoformat()}
        except DeliveryError as failure:
            error = str(failure)
            wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(task.attempts - 1, 10))
            values = {"next": (now() + timedelta(seconds=wait)).isoformat()}
        if error:
            log.warning("an alert was not delivered", extra={"channel": name, "kind": row.kind, "reason": error})
            values["error"] = error
        with self._database.writing() as session:
            kept = session.get(AlertRow, row.id, with_for_update=True)
            if kept is not None:
                _write(kept, name, task.event, attempts=task.attempts, **values)

    def _message(self, row: AlertRow, event: Event, problem: HealthProblem | None) -> Message:
        server = self._settings.own_address
        return Message(
            id=_id(row, event),
            event=event,
            kind=row.kind,
            severity=problem.severity.word if problem else "",
            what=problem.what if problem and event is Event.RAISED else row.text,
            do=problem.do if problem else "",
            raised=row.raised,
            ended=row.ended,
            link=server + problem.link if problem and server else server,
            server=server,
            answers=_id(row, Event.RAISED) if event is Event.ENDED else "",
        )


def undelivered(session: Session) -> HealthProblem | None:
    """Return as a problem that alerts do not reach operators; it is for the dashboard, because it cannot be sent."""
    for row in session.scalars(_open_rows(now())):
        event = Event.RAISED if row.ended is None else Event.ENDED
        for name in row.delivered:
            entry = _entry(row, name, event)
            if "error" in entry and "at" not in entry:
                return HealthProblem(
                    "alerts",
                    Severity.WARNING,
                    f"An alert could not be delivered by {name}: {entry['error']}.",
                    "Check EITR_ALERT_WEBHOOK, EITR_ALERT_EMAIL and the mail server, restart, and send a test alert. "
                    "It is tried again by itself, at least once an hour.",
                    "/alerts",
                    row.raised,
                )
    return None


def found_problems(session: Session, settings: ServerSettings) -> list[HealthProblem]:
    """Return everything that the dashboard shows as a problem."""
    found, failing = health.problems(session, settings), undelivered(session)
    return found if failing is None else health.by_severity([*found, failing])


def count(database: Database, settings: ServerSettings) -> int:
    """Return how many problems there are, advice not counted."""
    with database.reading() as session:
        return sum(one.severity > Severity.ADVICE for one in found_problems(session, settings))


def _open_rows(moment: datetime) -> Select[AlertRow]:
    """Return the query of alerts of which something may have to be sent, oldest first."""
    recent = AlertRow.active.is_(True) | (AlertRow.ended > moment - GIVE_UP)
    return select(AlertRow).where(recent).order_by(AlertRow.id)


def _is_ours(kind: str) -> bool:
    """Say whether this machine can see that a problem has ended: others' disks it cannot see."""
    _, at, host = kind.partition(health.AT)
    return not at or host == socket.gethostname()[: health.LONGEST_HOST]


def _entry(row: AlertRow, channel: str, event: Event) -> Mapping[str, Any]:
    found: Mapping[str, Any] = row.delivered.get(channel, {}).get(event, {})
    return found


def _write(row: AlertRow, channel: str, event: Event, **values: Any) -> None:
    """Note how far the delivery is. A new object each time: a change within one would not be noticed."""
    row.delivered = {**row.delivered, channel: {**row.delivered.get(channel, {}), event.value: values}}


def _id(row: AlertRow, event: Event) -> str:
    return f"alert-{row.id}-{row.raised:%Y%m%dT%H%M%S%f}-{event}"


def _error(channel: Channel, message: Message) -> str:
    try:
        return channel.send(message)
    except DeliveryError as error:
        return str(error)
