"""What the extension showed on pages with labels: counts by source, and every page that it got wrong."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from benchmarks.markdown import table
from eitr.taxonomy import NAMES, NON_SENSITIVE

INTRODUCTION = """# What the extension shows on real pages

Written by `python -m benchmarks.extension_verdicts --data-dir DATA`. Each page is served on this machine to Chromium
with the extension as it is built, after consent and with default settings; nothing outside can be reached. The answer
is what the badge and the popup show first: a topic, "not sensitive", or "cannot tell".

- **False alarm**: a page that is not sensitive gets a topic.
- **Miss**: a sensitive page does not get its topic: it gets *another topic*, is called *not sensitive*, or the answer
  is *cannot tell*.
- **Cannot tell** also counts, in the last column, the pages that are not sensitive.

The 65 saved pages are test pages of a reader mode. They come without labels; ours are in
`benchmarks/labelled_pages.py`, given by one reader who knew the model's answers. A "?" behind a label says that another
reader might choose another one.

The other pages are HTML of ten of the model's sources, without scripts, style sheets and redirects, labelled by site or
title. The model was **trained on the text** of some of them. Only the others say how it does on pages that it does not
know, and even these are of sites that it knows.
[How the model does on sources that it was not trained on](evaluation.md) is measured without a browser.
"""


class Outcome(StrEnum):
    """How an answer compares with the page's label."""

    RIGHT = "right"
    FALSE_ALARM = "false alarm"
    OTHER_TOPIC = "another topic"
    NOT_SENSITIVE = "not sensitive"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Answer:
    """What is shown for a page."""

    shown: str | None
    """A class; None for "cannot tell"."""
    cannot_tell: str | None
    """Why not, if so."""
    probability: float
    """Of the most probable class."""
    language: str
    known_words: int

    def __str__(self) -> str:
        return self.shown or f"cannot tell ({self.cannot_tell})"

    def agrees(self, other: "Answer") -> bool:
        """Say whether the two answers tell the reader the same."""
        return (self.shown, self.cannot_tell) == (other.shown, other.cannot_tell)


@dataclass(frozen=True, slots=True)
class Result:
    """A page, what the extension showed for it, and what Python says of the same HTML."""

    identifier: str
    source: str
    label: str
    trained_on: bool
    doubtful: bool
    extension: Answer
    python: Answer
    difference: str
    """Why the two answers differ; empty if they do not."""

    @property
    def outcome(self) -> Outcome:
        """How the extension's answer compares with the label."""
        shown = self.extension.shown
        if shown is None:
            return Outcome.CANNOT_TELL
        if shown == self.label:
            return Outcome.RIGHT
        if not self.sensitive:
            return Outcome.FALSE_ALARM
        return Outcome.NOT_SENSITIVE if shown == NAMES[NON_SENSITIVE] else Outcome.OTHER_TOPIC

    @property
    def sensitive(self) -> bool:
        return self.label != NAMES[NON_SENSITIVE]

    @property
    def missed(self) -> bool:
        return self.sensitive and self.outcome is not Outcome.RIGHT


def counts(results: Sequence[Result]) -> list[int]:
    """Return how many pages there are, and how many of each column of the table (`COLUMNS`)."""
    outcomes = Counter((result.sensitive, result.outcome) for result in results)
    return [
        len(results),
        outcomes[True, Outcome.RIGHT] + outcomes[False, Outcome.RIGHT],
        outcomes[False, Outcome.FALSE_ALARM],
        sum(result.missed for result in results),
        outcomes[True, Outcome.OTHER_TOPIC],
        outcomes[True, Outcome.NOT_SENSITIVE],
        outcomes[True, Outcome.CANNOT_TELL],
        outcomes[True, Outcome.CANNOT_TELL] + outcomes[False, Outcome.CANNOT_TELL],
    ]


COLUMNS = (
    "pages",
    "right",
    "false alarms",
    "misses",
    "of these another topic",
    "not sensitive",
    "cannot tell",
    "cannot tell, all",
)


def report(results: Sequence[Result], setting: str) -> str:
    """Return the page of docs/; `setting` says what it was measured with."""
    sources = list(dict.fromkeys(result.source for result in results))
    parts = [
        INTRODUCTION,
        setting,
        "\n## Summary\n",
        _count_table(
            [
                ("all", results),
                *((_trained(known), [one for one in results if one.trained_on is known]) for known in (False, True)),
            ]
        ),
        "\n## By source\n",
        _count_table(
            (f"{source}, {_trained(known)}", chosen)
            for source in sources
            for known in (False, True)
            if (chosen := [one for one in results if one.source == source and one.trained_on is known])
        ),
        "\n## By label\n",
        _count_table((label, [one for one in results if one.label == label]) for label in NAMES),
        "\n## Where Python answers differently\n",
        _differences(results),
        "\n## The pages\n",
        *(_listed(f"{source}: {title}", chosen) for source in sources for title, chosen in _wrong(results, source)),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _trained(known: bool) -> str:
    return "trained on" if known else "not trained on"


def _count_table(groups: Iterable[tuple[str, Sequence[Result]]]) -> str:
    return table(["", *COLUMNS], [[name, *map(str, counts(chosen))] for name, chosen in groups])


def _differences(results: Sequence[Result]) -> str:
    """Tell of how many pages the two answers differ, why, and on which."""
    differing = [result for result in results if result.difference]
    lines = [
        "The same HTML, read by `eitr classify`: "
        f"{len(results) - len(differing)} of {len(results)} answers are those of the extension."
    ]
    if differing:
        rows = [
            [one.identifier, f"{one.label}{_doubt(one)}", str(one.extension), str(one.python), one.difference]
            for one in differing
        ]
        lines += ["", table(["page", "label", "extension", "Python", "why"], rows)]
    return "\n".join(lines)


def _wrong(results: Sequence[Result], source: str) -> Iterable[tuple[str, list[Result]]]:
    """Yield the lists of a source that are not empty, each with its title."""
    of_source = [result for result in results if result.source == source]
    for title, chosen in (
        ("false alarms", [one for one in of_source if one.outcome is Outcome.FALSE_ALARM]),
        ("misses", [one for one in of_source if one.missed]),
        (
            "cannot tell, not sensitive",
            [one for one in of_source if one.outcome is Outcome.CANNOT_TELL and not one.sensitive],
        ),
    ):
        if chosen:
            yield title, chosen


def _listed(title: str, chosen: Sequence[Result]) -> str:
    rows = [
        [
            result.identifier,
            f"{result.label}{_doubt(result)}",
            str(result.extension),
            f"{result.extension.probability:.2f}",
            result.extension.language,
            "yes" if result.trained_on else "no",
        ]
        for result in chosen
    ]
    listed = table(["page", "label", "shown", "probability", "language", "trained on"], rows)
    return f"<details><summary>{title} ({len(chosen)})</summary>\n\n{listed}\n\n</details>\n"


def _doubt(result: Result) -> str:
    return "?" if result.doubtful else ""
