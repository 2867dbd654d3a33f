"""Which chart shows what."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy.orm import Session

from eitr.server.dashboard import charts
from eitr.server.dashboard.charts import SHAPES, Chart, Series
from eitr.server.dashboard.queries import models, participants, rounds
from eitr.server.dashboard.queries.participants import ParticipantSummary
from eitr.server.dashboard.queries.rounds import Participation
from eitr.server.dashboard.rendering import NOTHING, share, short
from eitr.server.db.tables import ObservationRow
from eitr.taxonomy import TOPICS

MOST_LINES = 20
"""Participants in one chart: more lines could not be distinguished."""
HIGHLIGHTED = 3
MOST_BARS = 12
MOST_ROUNDS = 100
MOST_TILES = 30
"""Rounds in the table of tiles: narrower ones are not seen."""
MOST_VERSIONS = 100
MOST_PARTICIPATIONS = 50
PARTS = (
    ("established", "part-established"),
    ("newcomers", "part-newcomers"),
    ("counted", "part-counted"),
    ("not judged", "part-unjudged"),
    ("weight 0", "part-excluded"),
    ("muted or banned", "part-muted"),
    ("rejected", "part-rejected"),
)
"""What the columns of the participation are made of, from the bottom up."""


def reputations(session: Session, everybody: list[ParticipantSummary]) -> Chart | None:
    """Return the reputations of the lowest participants over rounds; None if nobody has one."""
    lowest = participants.lowest(everybody, MOST_LINES)
    found = _by_participant(participants.observed(session, lowest, MOST_ROUNDS))
    series = []
    for place, id in reversed(list(enumerate(lowest))):  # the lowest are drawn last, on top
        points = [(one.round, one.reputation) for one in found.get(id, ()) if one.reputation is not None]
        if points:
            low = place < HIGHLIGHTED
            style = f"low{place + 1}" if low else "other"
            series.append(Series(short(id), points, style, SHAPES[place] if low else ""))
    if not series:
        return None
    worst = series[-1]
    told = f"One line per participant. The lowest now is {worst.name} with {worst.points[-1][1]:.2f}."
    limits = participants.lines_of_no_weight(session, {x for one in series for x, _ in one.points})
    if limits:
        series.append(Series("Weight 0 below this line", list(limits.items()), "limit", "", "weight 0 below"))
        told += f" Below the thin dashed line, now at {list(limits.values())[-1]:.2f}, updates have weight 0."
    return charts.lines(
        "reputations",
        "Reputations over time",
        told,
        "Round",
        series,
        note=_some(len(lowest), len(everybody)),
    )


def reputation_of(observations: Sequence[ObservationRow], id: str) -> Chart | None:
    """Return the reputation of one participant over rounds; None if there is none."""
    points = [(one.round, one.reputation) for one in observations if one.reputation is not None]
    if not points:
        return None
    return charts.lines(
        "reputation",
        "Reputation over time",
        f"From {points[0][1]:.2f} in round {points[0][0]} to {points[-1][1]:.2f} in round {points[-1][0]}.",
        "Round",
        [Series(short(id), points, "low1")],
    )


def weights(session: Session, everybody: list[ParticipantSummary]) -> Chart | None:
    """Return what the lowest participants counted for, round by round; None if no rule gave weights."""
    lowest = participants.lowest(everybody, MOST_LINES)
    seen = participants.observed(session, lowest, MOST_TILES)
    newest_first = sorted({one.round for one in seen if one.weight is not None}, reverse=True)
    if not newest_first:
        return None
    voters = participants.voters(session, newest_first)
    found = _by_participant(seen)
    rows = [
        (short(id), {one.round: one.weight * voters[one.round] for one in found[id] if one.weight is not None})
        for id in lowest
        if id in found
    ]
    last = [values[newest_first[0]] for _, values in rows if newest_first[0] in values]
    silent = sum(value < 0.005 for value in last)
    note = _some(len(lowest), len(everybody))
    updates = f"{_times(len(last), 'update')}{' shown' if note else ''}"
    return charts.tiles(
        "weights",
        "Weights by round",
        "How much each update counted, compared with an equal share; the newest round is on the left. In the last "
        + (f"round, {silent} of {updates} had no weight." if silent else f"round, all {updates} counted."),
        "Round",
        newest_first,
        rows,
        note=note,
    )


def replaced(everybody: list[ParticipantSummary]) -> Chart | None:
    """Return who had most values replaced; None if nobody had."""
    found = participants.most_replaced(everybody, MOST_BARS)
    if not found:
        return None
    rows = [
        (short(one.id), one.replaced_share or 0.0, f"{share(one.replaced_share)}, {_times(one.replaced, 'round')}")
        for one in found
    ]
    return charts.bars(
        "replaced",
        "Outlying values",
        "Share of a participant's values that lay so far from everybody else's that they were replaced, and in how "
        f"many rounds. Most: {rows[0][0]} with {rows[0][2]}.",
        ("Participant", "Replaced"),
        rows,
    )


def participation(session: Session) -> Chart | None:
    """Return who took part in the last rounds and how many of them counted; None before the first round."""
    found = rounds.participation(session, MOST_PARTICIPATIONS)
    if not found:
        return None
    counted = [_parts(one) for one in found]
    columns = [
        (one.round, values, f"Round {one.round}, {one.status}: {_said(values)}")
        for one, values in zip(found, counted, strict=True)
    ]
    headings = ("Round", "Status", "Updates", "Established", "Newcomers", "Weight 0", "Muted or banned", "Rejected")
    rows = [
        (str(one.round), one.status, str(one.received), *(str(number) if one.judged else NOTHING for number in numbers))
        for one in found
        for numbers in [(one.established, one.newcomers, one.without_weight, one.left_out, one.rejected)]
    ]
    return charts.stacks(
        "participation",
        "Participation and exclusions",
        f"Updates of the last {_times(len(found), 'round')}, the newest on the left. Those with weight 0, of muted or "
        "banned participants, and rejected ones did not change the model.",
        "Round, newest on the left",
        PARTS,
        columns,
        (headings, rows),
    )


def _parts(one: Participation) -> list[int]:
    return [
        one.established_counted,
        one.newcomers_counted,
        one.other_counted,
        0 if one.judged else one.received,
        one.without_weight,
        one.left_out,
        one.rejected,
    ]


def _said(values: Sequence[int]) -> str:
    return ", ".join(f"{value} {name}" for value, (name, _) in zip(values, PARTS, strict=True) if value) or "nobody"


def accuracies(session: Session) -> Chart | None:
    """Return the accuracy over versions, of all pages and of each class; None if no version was scored."""
    versions = [one for one in models.latest(session, MOST_VERSIONS) if one.accuracy is not None]
    if not versions:
        return None
    series = []
    for place, topic in enumerate(TOPICS):
        points = [
            (one.version, one.class_accuracy[topic.name])
            for one in versions
            if one.class_accuracy and topic.name in one.class_accuracy
        ]
        if points:
            series.append(Series(topic.title, points, f"topic-{topic.name}", SHAPES[place]))
    overall = [(one.version, one.accuracy) for one in versions if one.accuracy is not None]
    series.append(Series("All pages", overall, "overall", ""))
    lowest = min(value for one in series for _, value in one.points)
    low = max(0.0, int(lowest * 10 - 1e-9) / 10)
    return charts.lines(
        "accuracies",
        "Accuracy over versions",
        f"Share of the validation pages whose class is found. Version {overall[-1][0]} finds {share(overall[-1][1])}."
        + (f" The y-axis begins at {low:g}." if low else ""),
        "Version",
        series,
        low=min(low, 0.9),
    )


def _by_participant(observations: Sequence[ObservationRow]) -> dict[str, list[ObservationRow]]:
    found: dict[str, list[ObservationRow]] = defaultdict(list)
    for one in observations:
        found[one.participant].append(one)
    return found


def _some(shown: int, total: int) -> str:
    return f"The {shown} lowest of {total} participants are shown." if shown < total and shown >= MOST_LINES else ""


def _times(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
