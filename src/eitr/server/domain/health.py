"""What is wrong with a server, and what its operator can do about it.

Everything is derived from the database, the settings and the disk, with a few short queries: it is looked at on every
page of the dashboard. No participant is named: the words also go into alerts.
"""

import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from itertools import takewhile
from typing import Any

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from eitr.server.db.tables import (
    CandidateRow,
    ModelRow,
    ObservationRow,
    ParticipantRow,
    RoundRow,
    RoundStatus,
    UpdateRow,
)
from eitr.server.delivery.message import written
from eitr.server.domain import formal_privacy, moderation, pools
from eitr.server.domain.clock import now
from eitr.server.domain.rounds import TOO_FEW
from eitr.server.domain.switches import pause_of
from eitr.server.domain.trust import enough_trusted
from eitr.server.settings import ServerSettings

IN_A_ROW = 2
"""Rounds in a row that end badly before that is called a problem."""
MANY_IN_A_ROW = 4
"""... and a serious one."""
ROUNDS_LOOKED_AT = 50
FALL, SERIOUS_FALL = 0.02, 0.05
"""How far accuracy over all validation pages is below the best version's when that is a problem, and a serious one."""
CLASS_FALL = 0.10
"""The same for the pages of one class, which are fewer."""
MANY_EXCLUDED = 0.25
"""The share of a round's participants without weight from which on it is more than a few attackers."""
SHORT, SHORT_IN_A_ROW = 0.4, 3
"""To what part of their length bounds shorten steps, and in how many rounds in a row, for that to be told. First steps
are half as long anyway, and with four networks a little less: secret factors put one of them above a quarter."""
LATE = timedelta(minutes=2)
"""How late something must be before the worker is missed. A busy machine may be late by less."""
IDLE = timedelta(days=3)
AT = "@"
"""In a kind of problem: what follows is the machine that has it. Only there can one see that it has ended."""
LONGEST_HOST = 50
LITTLE_SPACE, HARDLY_ANY_SPACE = 1 << 30, 200 << 20
"""Bytes."""


class Severity(IntEnum):
    """How bad a problem is."""

    ADVICE = 1
    """Nothing is broken, and something could be better: shown, and no alert."""
    WARNING = 2
    SERIOUS = 3

    @property
    def word(self) -> str:
        """How it is called on pages and in messages."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class HealthProblem:
    """Something that is wrong."""

    kind: str
    """The name of this kind of problem; there is one of a kind at a time."""
    severity: Severity
    what: str
    """What happened, in a sentence."""
    do: str
    """What to do about it."""
    link: str
    """The page of the dashboard that says more."""
    since: datetime | None = None
    aside: str = ""
    """What only the dashboard adds, because it names an operator or quotes one."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What all checks look at."""

    session: Session
    settings: ServerSettings
    moment: datetime
    paused: bool
    under_way: Any
    """The row of the round under way, if there is one, without its plan."""
    ended: list[Any]
    """Rows of the last rounds that ended, newest first."""


Check = Callable[[Situation], HealthProblem | None]


def problems(session: Session, settings: ServerSettings) -> list[HealthProblem]:
    """Return what is wrong, the most serious first, and of those the newest."""
    situation = _situation(session, settings)
    found = [problem for check in CHECKS if (problem := check(situation)) is not None]
    return by_severity(found)


def by_severity(found: list[HealthProblem]) -> list[HealthProblem]:
    """Return problems in the order in which they are shown; what has no beginning comes last among its like."""
    return sorted(found, key=lambda one: (-one.severity, -one.since.timestamp() if one.since else 0.0))


def _situation(session: Session, settings: ServerSettings) -> Situation:
    columns = (
        RoundRow.id,
        RoundRow.status,
        RoundRow.base,
        RoundRow.opened,
        RoundRow.deadline,
        RoundRow.received,
        RoundRow.minimum,
        RoundRow.maximum,
        RoundRow.quorum,
        RoundRow.grace_seconds,
        RoundRow.complete,
        RoundRow.closed,
        RoundRow.lease,
        RoundRow.failures,
        RoundRow.ended,
        RoundRow.result,
        RoundRow.reason,
        RoundRow.decision,
        RoundRow.bounds,
    )
    last = select(*columns).order_by(RoundRow.id.desc()).limit(ROUNDS_LOOKED_AT)
    rows = session.execute(last).all()
    return Situation(
        session=session,
        settings=settings,
        moment=now(),
        paused=pause_of(session) is not None,
        under_way=next((row for row in rows if row.ended is None), None),
        ended=[row for row in rows if row.ended is not None],
    )


def _paused(at: Situation) -> HealthProblem | None:
    found = pause_of(at.session)
    if found is None:
        return None
    return HealthProblem(
        "paused",
        Severity.WARNING,
        f"Rounds have been paused since {written(found.since)}.",
        "Resume them on the overview when you have found out what you paused them for. Until then nobody can send.",
        "/#pause",
        found.since,
        f"Paused by {found.who}" + (f": {found.note}" if found.note else "."),
    )


def _quarantined(at: Situation) -> HealthProblem | None:
    """Look for rounds in a row whose models the gate did not let through, the newest of which nobody has dealt with.

    What became of older ones does not matter, unless it was published: then the row begins after it.
    """
    judged = [row for row in at.ended if row.status != RoundStatus.ABANDONED]
    failed = list(takewhile(lambda row: row.status == RoundStatus.QUARANTINED and row.result is None, judged))
    if len(failed) < IN_A_ROW or failed[0].decision is not None:
        return None
    return HealthProblem(
        "quarantined",
        Severity.SERIOUS if len(failed) >= MANY_IN_A_ROW else Severity.WARNING,
        f"{len(failed)} rounds in a row were quarantined: their models would have lost too much accuracy on the "
        f"validation pages. The model stays at version {failed[0].base}.",
        "Look at the newest of them: it says which class lost, and who took part. If a few participants stand out, "
        "they are probably the reason. If nobody does, people may have pages of a kind that the validation pages lack: "
        "add such pages to yours (EITR_VALIDATION_PAGES).",
        f"/rounds/{failed[0].id}",
        failed[-1].ended,
    )


def _undecided(at: Situation) -> HealthProblem | None:
    """Look for a quarantined round whose model is kept, where that is not part of a greater problem."""
    newest = at.session.execute(
        select(RoundRow.id, RoundRow.ended)
        .join(CandidateRow, CandidateRow.round == RoundRow.id)
        .order_by(RoundRow.id.desc())
        .limit(1)
    ).one_or_none()
    if newest is None or _quarantined(at) is not None:
        return None
    return HealthProblem(
        "undecided",
        Severity.ADVICE,
        f"Round {newest.id} waits for your decision: it was quarantined, and its model is kept.",
        "Look at what it would have lost. Then discard the model, retry, or publish it anyway. If another version is "
        "published first, the model is deleted.",
        f"/rounds/{newest.id}",
        newest.ended,
    )


def _too_few(at: Situation) -> HealthProblem | None:
    """Look for rounds in a row to which too few people sent."""

    def too_few(row: Any) -> bool:
        return row.status == RoundStatus.ABANDONED and (row.reason or "").startswith(TOO_FEW)

    failed = list(takewhile(too_few, at.ended))
    if len(failed) < IN_A_ROW:
        return None
    people = at.session.scalar(select(func.count()).select_from(ParticipantRow)) or 0
    newest, most = failed[0], max(row.received for row in failed)
    least = at.settings.minimum
    if people < least:
        do = f"Invite more people: {people} have enrolled, and a round needs {least}."
    else:
        do = f"Remind people to take part, or let rounds stay open longer (EITR_ROUND_SECONDS). {people} have enrolled."
    return HealthProblem(
        "too-few",
        Severity.WARNING if people else Severity.ADVICE,
        f"{len(failed)} rounds in a row were abandoned because too few people sent an update: {_updates(most)}; "
        f"{newest.minimum} are needed.",
        f"{do} You can also lower EITR_MINIMUM, but rounds of few people teach little and protect each of them less.",
        "/invitations" if people < least else f"/rounds/{newest.id}",
        failed[-1].ended,
    )


def _failing(at: Situation) -> HealthProblem | None:
    """Look for aggregations that failed."""
    round = at.under_way
    if round is not None and round.failures:
        return HealthProblem(
            "failing",
            Severity.SERIOUS,
            f"The aggregation of round {round.id} failed {_times(round.failures)}. It is tried again.",
            "Look for errors in the log of the worker. Too little memory is a common reason.",
            f"/rounds/{round.id}",
            round.closed,
        )
    last = at.ended[0] if at.ended else None
    if last is not None and last.status == RoundStatus.ABANDONED and last.failures:
        return HealthProblem(
            "failing",
            Severity.SERIOUS,
            f"Round {last.id} was abandoned because its aggregation failed {_times(last.failures)}.",
            "Look for errors in the log of the worker. Too little memory is a common reason.",
            f"/rounds/{last.id}",
            last.ended,
        )
    return None


def _accuracy_fell(at: Situation) -> HealthProblem | None:
    """Compare the current version with the best one that the same validation pages have judged."""
    newest = select(ModelRow.version, ModelRow.origin, ModelRow.round).order_by(ModelRow.version.desc()).limit(1)
    version, origin, number = at.session.execute(newest).one()
    if origin != "round" or number is None:  # the shipped one, or one that the operator chose to go back to
        return None
    last = at.session.scalar(select(RoundRow.score).where(RoundRow.id == number))
    if not last or "after" not in last:
        return None
    best_version, best = _best(at.session, last.get("pages"))
    fall = best["accuracy"] - last["after"]["accuracy"]
    name, class_fall = _greatest_fall(best, last["after"])
    if fall < FALL and class_fall < CLASS_FALL:
        return None
    what = (
        f"Accuracy on the validation pages is {100 * last['after']['accuracy']:.1f} %, {100 * fall:.1f} points below "
        f"version {best_version}, the best so far."
    )
    if class_fall >= CLASS_FALL:
        what += f" On pages about {name} it is {100 * class_fall:.1f} points below."
    return HealthProblem(
        "accuracy",
        Severity.SERIOUS if fall >= SERIOUS_FALL else Severity.WARNING,
        what,
        f"Compare the versions. If version {best_version} is better for you, too, roll back to it.",
        f"/models/{version}",
        at.session.scalar(select(ModelRow.created).where(ModelRow.version == version)),
    )


def _best(session: Session, pages: str | None) -> tuple[int, dict[str, Any]]:
    """Return the best version that some validation pages have judged, and its score.

    Those are what published rounds led to, and what the first of them began with.
    """
    accuracy = RoundRow.score["after"]["accuracy"].as_float()
    digest = RoundRow.score["pages"].as_string()
    # Rounds of older programs have no digest.
    same_pages = digest.is_(None) if pages is None else digest == pages
    judged = select(RoundRow.base, RoundRow.result, RoundRow.score).where(
        # Not by its status: an operator can publish the model of a quarantined round, too.
        same_pages,
        accuracy.is_not(None),
        RoundRow.result.is_not(None),
    )
    first = session.execute(judged.order_by(RoundRow.id).limit(1)).one()
    best = session.execute(judged.order_by(accuracy.desc(), RoundRow.id).limit(1)).one()
    if first.score["before"]["accuracy"] >= best.score["after"]["accuracy"]:
        return first.base, first.score["before"]
    return best.result, best.score["after"]


def _greatest_fall(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, float]:
    """Return the class that lost most accuracy, and how much."""
    known = after.get("by_class") or {}
    falls = {name: share - known[name] for name, share in (before.get("by_class") or {}).items() if name in known}
    name = max(falls, key=lambda one: falls[one], default="")
    return name, falls.get(name, 0.0)


def _excluded(at: Situation) -> HealthProblem | None:
    """Count who had no weight in the last round that was aggregated; whom the operator muted is no news."""
    last = next((row for row in at.ended if row.status != RoundStatus.ABANDONED), None)
    if last is None:
        return None
    counted = (
        select(func.count(), func.sum(case((ObservationRow.weight == 0, 1), else_=0)))
        .join(ParticipantRow, ParticipantRow.id == ObservationRow.participant)
        .where(ObservationRow.round == last.id, ObservationRow.weight.is_not(None), ParticipantRow.muted.is_(None))
    )
    total, without = at.session.execute(counted).one()
    if not without:
        return None
    many = without > MANY_EXCLUDED * total
    return HealthProblem(
        "excluded",
        Severity.WARNING if many else Severity.ADVICE,
        f"{without} of {total} participants had no weight in round {last.id}: nothing of their updates is in the "
        "model.",
        "Look at why, detector by detector. Exclusion is how the rule deals with attackers, and few are no danger."
        if not many
        else "Look at why, detector by detector. So many are an attack, or people whose pages differ from all others': "
        "if you know them, the rule may be too strict for your federation.",
        f"/rounds/{last.id}",
        last.ended,
    )


def _nobody_established(at: Situation) -> HealthProblem | None:
    """Look whether all who took part in the last round were newcomers, where that makes a difference."""
    if not at.settings.bounds or at.settings.published_noise:
        return None
    last = next((row for row in at.ended if row.status != RoundStatus.ABANDONED), None)
    if last is None:
        return None
    known = select(func.count(), func.sum(case((ObservationRow.established.is_(True), 1), else_=0))).where(
        ObservationRow.round == last.id, ObservationRow.established.is_not(None)
    )
    total, established = at.session.execute(known).one()
    if not total or established:
        return None
    return HealthProblem(
        "newcomers",
        Severity.ADVICE,
        f"All {total} participants of round {last.id} were newcomers. While nobody is established, rounds close at "
        "their deadline only.",
        "Wait until people have taken part in several rounds, or invite people whom you know as founders: they count "
        "as established from their first round on.",
        "/invitations",
        last.ended,
    )


def _crowded_networks(at: Situation) -> HealthProblem | None:
    """Look whether bounds shorten every step, and networks are above their share, as where most people share one."""
    if not at.settings.bounds or at.settings.published_noise:
        return None
    judged = [row for row in at.ended if row.status != RoundStatus.ABANDONED][:SHORT_IN_A_ROW]
    short = [row for row in judged if row.bounds and row.bounds["bounded_networks"] and row.bounds["length"] <= SHORT]
    if len(short) < SHORT_IN_A_ROW:
        return None
    return HealthProblem(
        "networks",
        Severity.ADVICE,
        f"The bounds shortened the steps of the last {SHORT_IN_A_ROW} aggregated rounds to {SHORT:.0%} or less, and "
        "in each of them a network was above its share. So the model learns slowly.",
        "If most people share a network, such as that of a school, and you know them, invite them with no limits for "
        "newcomers and shared networks: `eitr invite N --unbounded`, or the box where the dashboard makes invitations. "
        "Otherwise people of more networks are needed.",
        "/invitations",
        judged[-1].ended,
    )


def _worker_missing(at: Situation) -> HealthProblem | None:
    """Look for what a running worker would have done long ago. Workers say nothing of themselves."""
    if at.paused:
        return None
    due, what = _due(at)
    if due is None or at.moment < due + LATE:
        return None
    return HealthProblem(
        "worker",
        Severity.SERIOUS,
        f"No worker seems to run: {what} was due at {written(due)}.",
        "Start one: `eitr serve` runs rounds by itself unless EITR_WORKER=false or --no-worker is set; with those, run "
        "`eitr worker` with the same database. If one runs, look for errors in its log.",
        "/rounds",
        due,
    )


def _due(at: Situation) -> tuple[datetime | None, str]:
    """Return when a worker has to do something next, and what; None if it has nothing to do."""
    round = at.under_way
    if round is None:
        if not at.settings.automatic_rounds or not at.ended or _cannot_open(at):
            return None, ""
        return at.ended[0].ended + timedelta(seconds=at.settings.pause_seconds), "the next round"
    match round.status:
        case RoundStatus.OPEN:
            due = round.deadline
            counting = round.received - moderation.uncounted(at.session, round.id)
            full = counting >= round.quorum or round.received >= round.maximum
            if round.complete is not None and full and not _awaits_people(at):
                last = at.session.scalar(select(func.max(UpdateRow.received)).where(UpdateRow.round == round.id))
                # The last one who sent, was muted or was banned may be whom the round waited for.
                moments = (round.complete, last, moderation.latest(at.session))
                latest = max(one for one in moments if one is not None)
                due = min(due, latest + timedelta(seconds=round.grace_seconds))
            return due, f"the end of round {round.id}"
        case RoundStatus.CLOSING:
            return round.closed, f"the aggregation of round {round.id}"
        case _:
            return round.lease, f"the end of the aggregation of round {round.id}"


def _awaits_people(at: Situation) -> bool:
    """Say whether the open round has its quorum, and rightly stays open for established participants."""
    if not at.settings.bounds or at.settings.published_noise:
        return False
    return not enough_trusted(at.session, at.under_way, at.settings.established_rounds)


def _cannot_open(at: Situation) -> bool:
    return _no_pool(at) is not None or _privacy_spent(at) is not None


def _idle(at: Situation) -> HealthProblem | None:
    """Look for a server on which only the operator opens rounds, and has not done so."""
    last = at.ended[0] if at.ended else None
    if at.settings.automatic_rounds or at.paused or at.under_way is not None or last is None:
        return None
    if at.moment < last.ended + IDLE:
        return None
    return HealthProblem(
        "idle",
        Severity.ADVICE,
        f"No round has ended since {written(last.ended)}, and none is under way.",
        "Rounds do not open by themselves on this server (EITR_AUTOMATIC_ROUNDS=false): open one on the overview.",
        "/#now",
        last.ended,
    )


def _no_pool(at: Situation) -> HealthProblem | None:
    if at.settings.training == "paper":
        return None
    newest = select(ModelRow.vocabulary).order_by(ModelRow.version.desc()).limit(1)
    if pools.of_vocabulary(at.session, at.session.scalars(newest).one()) is not None:
        return None
    return HealthProblem(
        "no-pool",
        Severity.SERIOUS,
        "No round can open: the vocabulary of the current model has no pool of cover pages, which private training "
        "needs.",
        "Start a server in a new folder, whose model has a pool, or, for research, set EITR_TRAINING=paper.",
        "/models",
    )


def _privacy_spent(at: Situation) -> HealthProblem | None:
    found = formal_privacy.spent(at.session, at.settings)
    if found is None or not found.exhausted:
        return None
    return HealthProblem(
        "epsilon",
        Severity.WARNING,
        f"No more rounds open, because the privacy limit is reached: all rounds so far have cost an epsilon of "
        f"{found.epsilon:.2f}, one more would make it {found.next:.2f}, and EITR_EPSILON_LIMIT is {found.limit:g}.",
        "The current model stays in use. A higher limit weakens what participants were promised: ask them before you "
        "raise it.",
        "/#privacy",
    )


def _disk(at: Situation) -> HealthProblem | None:
    try:
        free = shutil.disk_usage(at.settings.folder).free
    except OSError:  # the folder of a server with another database may be gone
        return None
    if free >= LITTLE_SPACE:
        return None
    return HealthProblem(
        f"disk{AT}{socket.gethostname()[:LONGEST_HOST]}",
        Severity.SERIOUS if free < HARDLY_ANY_SPACE else Severity.WARNING,
        f"The disk of the server's folder is nearly full: {free / (1 << 20):.0f} MiB are left.",
        "Free some space or use a larger disk. Without space the server receives no updates; nothing that it has is "
        "lost. Old backups and logs are what usually fills a disk.",
        "/",
    )


def _shipped_validation(at: Situation) -> HealthProblem | None:
    if at.settings.validation_pages is not None:
        return None
    return HealthProblem(
        "validation",
        Severity.ADVICE,
        "New models are judged by the validation pages of the package. Everybody has these pages, so an attacker can "
        "make updates that look good on them.",
        'Write a few hundred pages of your own, and keep them secret: one line {"title": "...", "text": "...", '
        '"label": "health"} per page in a file, and EITR_VALIDATION_PAGES=that file. Then restart the server.',
        "/models",
    )


def _updates(count: int) -> str:
    return "1 update" if count == 1 else f"{count} updates"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


CHECKS: tuple[Check, ...] = (
    _worker_missing,
    _failing,
    _disk,
    _no_pool,
    _accuracy_fell,
    _quarantined,
    _undecided,
    _too_few,
    _excluded,
    _privacy_spent,
    _paused,
    _nobody_established,
    _crowded_networks,
    _idle,
    _shipped_validation,
)
