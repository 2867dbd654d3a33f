"""What a federation learns from honest people, on a real server, and what its model loses by that.

    python -m benchmarks.learning [--data-dir DATA] [--rounds N] [--seeds N] [--to FILE]

Three studies, each with `eitr serve` in its default settings (the rule `fused`, private training) and participants who
talk HTTP with it: 10 and 50 people who correct four false alarms each, and 8 people with 20 pages of all kinds. The
pages are test pages of news-sections, which the model was not trained on. After every round, the published model is
judged by the pages that were used, by others of the same kind, and by the validation pages. The same with training of
all layers as in the paper shows what privacy costs. Writes a table, no text of pages.
"""

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.extension_pages import DATA
from benchmarks.markdown import table
from benchmarks.server_field import SQLITE, Cluster, our_server
from eitr.client import Participant
from eitr.datasets.interface import Labelled
from eitr.datasets.news_sections import SOURCE
from eitr.datasets.validation import ValidationSet
from eitr.errors import InputError
from eitr.model.classifier import Classifier
from eitr.model.round_plan import PAPER, PRIVATE
from eitr.pages import Page
from eitr.taxonomy import NAMES

ROOT = Path(__file__).resolve().parents[1]
NON_SENSITIVE = len(NAMES) - 1


@dataclass(frozen=True)
class Study:
    """Who takes part, with which pages."""

    title: str
    people: int
    each: int
    """Pages of each person."""
    corrections: bool
    """Pages that the model takes for sensitive and that are not; otherwise any."""
    training: str = PRIVATE


STUDIES = (
    Study("10 people correct 4 false alarms each", 10, 4, corrections=True),
    Study("50 people correct 4 false alarms each", 50, 4, corrections=True),
    Study("8 people with 20 mixed pages each", 8, 20, corrections=False),
)


@dataclass(frozen=True)
class Course:
    """Shares of pages that the model gets right, before the first round and after each."""

    used: list[float]
    similar: list[float]
    validation: list[float]
    classes: list[dict[str, float]]

    @property
    def worst_class(self) -> float:
        """The most that any class of the validation pages was ever below its start."""
        first = self.classes[0]
        return min(later[name] - share for later in self.classes for name, share in first.items())


def main() -> int:
    """Run the studies; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=DATA, help="the folder of the development data")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of each study")
    parser.add_argument("--seeds", type=int, default=3, help="how often each study is repeated, with other pages")
    parser.add_argument("--to", type=Path, default=ROOT / "bench-out" / "learning.md", help="the table")
    given = parser.parse_args()
    pages = [one for one in SOURCE.checked_pages(given.data_dir) if one.test]
    rows = []
    for study in [*STUDIES, *(replace(study, training=PAPER) for study in STUDIES)]:
        courses = []
        for seed in range(given.seeds):
            courses.append(course(study, pages, given.rounds, seed))
            print(study.title, study.training, f"seed {seed}:", row(study, courses[-1:])[2:], flush=True)
        rows.append(row(study, courses))
    given.to.parent.mkdir(exist_ok=True)
    head = ["study", "training", *COLUMNS]
    given.to.write_text(f"Means over {given.seeds} seeds, in %.\n\n{table(head, rows)}\n", "utf-8")
    print(given.to.read_text())
    return 0


COLUMNS = (
    "used pages right, before",
    "after 2 rounds",
    "at the end",
    "similar pages, before",
    "at the end",
    "validation, before",
    "lowest",
    "at the end",
    "worst class, points",
)


def row(study: Study, courses: Sequence[Course]) -> list[str]:
    """Return a study's line of the table: means over the seeds, in %."""
    numbers = np.mean(
        [
            [
                *(one.used[place] for place in (0, min(2, len(one.used) - 1), -1)),
                *(one.similar[place] for place in (0, -1)),
                *(one.validation[0], min(one.validation), one.validation[-1], one.worst_class),
            ]
            for one in courses
        ],
        axis=0,
    )
    return [study.title, study.training, *(f"{100 * number:.1f}" for number in numbers)]


def course(study: Study, pages: Sequence[Labelled], rounds: int, seed: int) -> Course:
    """Run a study on a server of its own."""
    used, similar = chosen(study, pages, seed)
    scoring = ValidationSet()
    found = Course([], [], [], [])
    for model in models(study, used, rounds):
        found.used.append(right(model, used))
        found.similar.append(right(model, similar))
        score = scoring.score(*model.model, model.vocabulary)
        found.validation.append(score.accuracy)
        found.classes.append(score.by_class)
    return found


def chosen(study: Study, pages: Sequence[Labelled], seed: int) -> tuple[list[Labelled], list[Labelled]]:
    """Return the pages of all participants, and others of the same kind."""
    model = Classifier.shipped()
    said = answers(model, pages)
    labels = np.array([one.label for one in pages])
    kind = np.ones(len(pages), bool)
    if study.corrections:
        kind = (labels == NON_SENSITIVE) & (said != NON_SENSITIVE)
    places = np.random.default_rng(seed).permutation(np.flatnonzero(kind))
    wanted = study.people * study.each
    if len(places) < wanted + 20:
        raise InputError(f"only {len(places)} pages are of this kind: {wanted} and some others are needed")
    return [pages[place] for place in places[:wanted]], [pages[place] for place in places[wanted:]]


def models(study: Study, used: Sequence[Labelled], rounds: int) -> Iterator[Classifier]:
    """Yield the model before the first round, and after each; people without pages left stay away."""
    settings = {
        "EITR_QUORUM": str(study.people),
        "EITR_MINIMUM": "1",
        "EITR_BOUNDS": "false",
        "EITR_PAUSE_SECONDS": "0",
        "EITR_POLL_SECONDS": "0.05",
        "EITR_ROUND_SECONDS": "3600",
    }
    folder = Path(tempfile.mkdtemp())
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        cluster = Cluster(SQLITE, folder)
        stack.callback(cluster.close)
        server = stack.enter_context(
            our_server(
                cluster,
                folder,
                "ours",
                participants=study.people,
                training=study.training,
                settings=settings,
                worker=True,
            )
        )
        people = [
            stack.enter_context(
                Participant(
                    f"http://127.0.0.1:{server.process.port}",
                    id=ticket.split(".")[0],
                    secret=ticket.split(".")[1],
                    allow_all_layers=study.training == PAPER,
                )
            )
            for ticket in server.tickets
        ]
        counts: list[Counter[Page]] = [Counter() for _ in people]
        starts = [study.each * number for number in range(study.people + 1)]
        shares = [used[start:end] for start, end in pairwise(starts)]
        before = 0
        yield people[0].model()
        for _ in range(rounds):
            number = people[0].wait_for_round(after=before).id
            if all_used_up(study, counts, shares):
                yield people[0].model()
                continue
            for person, count, own in zip(people, counts, shares, strict=True):
                uses = count if study.training == PRIVATE else None
                person.take_part([one.page for one in own], [one.label for one in own], after=before, uses=uses)
            before = number
            people[0].wait_for_round(after=number, seconds=600)
            yield people[0].model()


def all_used_up(study: Study, counts: Sequence[Counter[Page]], shares: Sequence[Sequence[Labelled]]) -> bool:
    """Say whether nobody has a page left that may be used; all participants have equally many turns."""
    return study.training == PRIVATE and sum(counts[0].values()) >= 2 * len({one.page for one in shares[0]})


def answers(model: Classifier, pages: Sequence[Labelled]) -> NDArray[np.int64]:
    """Return the most probable class of each page."""
    rows = model.vocabulary.rows([one.page for one in pages])
    return np.asarray(model.probabilities(rows).argmax(axis=1), np.int64)


def right(model: Classifier, pages: Sequence[Labelled]) -> float:
    """Return the share of pages whose most probable class is the right one."""
    return float((answers(model, pages) == np.array([one.label for one in pages])).mean())


if __name__ == "__main__":
    sys.exit(main())
