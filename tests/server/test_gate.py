"""The last check before a model is published."""

from collections.abc import Callable

import numpy as np
import pytest
from sqlalchemy import update

from eitr.datasets.validation import Score
from eitr.model import Vector
from eitr.server.db.tables import RoundRow, RoundStatus
from eitr.server.domain.gate import Gate, Judgement
from eitr.taxonomy import NAMES
from tests.server.federation import Federation

BASE, TARGET = np.zeros(3, np.float32), np.ones(3, np.float32)


def gate(federation: Federation, margin: float = 0.01, class_margin: float = 0.05) -> Gate:
    return Gate(federation.scoring, margin, class_margin)


def score(accuracy: float, **classes: float) -> Score:
    return Score(accuracy, {name: classes.get(name.replace("-", "_"), accuracy) for name in NAMES})


def falling(by: float, **classes: float) -> Callable[[Vector], Score]:
    """Return a score that falls from 0.9 in proportion to the step."""
    return lambda model: score(0.9 - by * float(model[0]), **{n: 0.9 - c * float(model[0]) for n, c in classes.items()})


def judged(federation: Federation, scored: Callable[[Vector], Score], *references: Score) -> Judgement:
    return gate(federation).judge(BASE, TARGET, scored, list(references))


def test_a_step_that_loses_nothing_is_taken_whole(federation: Federation) -> None:
    found = judged(federation, falling(-0.01))
    assert (found.reason, found.length) == (None, 1.0)
    assert found.model is TARGET


@pytest.mark.parametrize(("loss", "length"), [(0.009, 1.0), (0.011, 0.5), (0.03, 0.25), (0.07, 0.125)])
def test_a_step_is_shortened_until_it_loses_no_more_than_the_margin(
    federation: Federation, loss: float, length: float
) -> None:
    found = judged(federation, falling(loss))
    assert (found.reason, found.length) == (None, length)
    assert found.model == pytest.approx(length * TARGET)
    assert found.after.accuracy == pytest.approx(0.9 - loss * length)
    assert found.document["length"] == length


def test_a_step_that_loses_too_much_at_any_length_is_refused_with_the_whole_loss(federation: Federation) -> None:
    found = judged(federation, falling(0.4))
    assert found.reason == "accuracy on the validation pages would fall from 0.900 to 0.500, by more than 0.01"
    assert found.length == 1.0


def test_small_losses_do_not_add_up(federation: Federation) -> None:
    # The base has lost 0.009 against the best version already.
    found = judged(federation, falling(0.01), score(0.9), score(0.9085))
    assert (found.reason, found.length) == (None, 0.125)
    assert judged(federation, falling(0.01), score(0.9), score(0.92)).reason is not None


def test_a_class_must_not_lose_more_than_its_margin(federation: Federation) -> None:
    assert judged(federation, falling(0.0, religion=0.04)).length == 1.0
    assert judged(federation, falling(0.0, religion=0.06)).length == 0.5
    refused = judged(federation, falling(0.0, religion=0.6))
    assert refused.reason is not None
    assert "about religion would fall from 0.900 to 0.300" in refused.reason


def test_a_base_below_the_best_may_be_kept_or_improved_but_not_worsened(federation: Federation) -> None:
    best = score(0.99)
    assert judged(federation, falling(0.0), best).reason is None
    assert judged(federation, falling(-0.01), best).reason is None
    assert judged(federation, falling(0.002), best).reason is not None


def test_references_are_the_first_and_the_best_published_version_judged_by_these_pages(federation: Federation) -> None:
    people = federation.enrol(4)
    found = []
    for accuracy, status, pages in [
        (0.7, RoundStatus.PUBLISHED, "other pages"),
        (0.8, RoundStatus.PUBLISHED, ""),
        (0.99, RoundStatus.QUARANTINED, ""),
        (0.9, RoundStatus.PUBLISHED, ""),
        (0.85, RoundStatus.PUBLISHED, ""),
    ]:
        number = federation.full_round(people)
        federation.worker().step()
        mine = {"accuracy": accuracy, "by_class": {}}
        stored = {"before": mine, "after": mine, "length": 1, "pages": pages or federation.scoring.digest}
        found.append(number)
        with federation.database.writing() as session:
            session.execute(update(RoundRow).where(RoundRow.id == number).values(status=status, score=stored))
    with federation.database.reading() as session:
        assert [one.accuracy for one in gate(federation).references(session)] == [0.8, 0.9]


def test_a_round_stores_how_much_of_its_step_was_taken(federation: Federation) -> None:
    number = federation.full_round(federation.enrol(4))
    federation.worker().step()
    found = federation.rounds.get(number)
    assert found is not None
    assert found.score is not None
    assert (found.score["length"], found.score["pages"]) == (1.0, federation.scoring.digest)
