"""The last check before a model is published."""

import json
from importlib.resources import files
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from eitr.datasets.validation import Right, ValidationSet
from eitr.model import Network, Vector
from eitr.model.classifier import Classifier
from eitr.model.private import PrivatePlan, trained_from
from eitr.model.validation import ValidationPages
from eitr.pages.page import Page
from eitr.pages.sparse import SparseRows
from eitr.server.db.tables import ModelRow, RoundRow
from eitr.server.domain.candidates import Decision
from eitr.server.domain.gate import Gate, Judgement, Reference, References
from eitr.server.domain.models import publish, roll_back
from eitr.server.domain.paired_test import chance_of_loss
from eitr.server.domain.retention import Retention
from eitr.server.domain.step_correction import projected, without_harm
from eitr.taxonomy import NAMES
from tests.examples import examples
from tests.server.federation import Federation

pytestmark = pytest.mark.either_database

BASE, TARGET = np.zeros(3, np.float32), np.ones(3, np.float32)
ROWS = [json.loads(line) for line in files("eitr").joinpath("assets", "validation.jsonl").open(encoding="utf-8")]
PAGES = ValidationSet()
GATE = Gate(PAGES, 0.01, 0.05)
POLITICS, RELIGION = NAMES.index("politics"), NAMES.index("religion")


def start() -> Right:
    """Nine of ten pages of each class are right."""
    return np.asarray(np.arange(len(PAGES.labels)) % 10 != 0)


def changed(right: Right, lost: int = 0, gained: int = 0, label: int | None = None) -> Right:
    """Lose and gain so many pages, of one class or of each in turn."""
    found = right.copy()
    mine = np.ones(len(right), bool) if label is None else PAGES.labels == label
    # Steps through the file spread the pages over all classes and both halves.
    places = np.argsort(np.arange(len(right)) * 379 % len(right))
    for count, before in ((lost, True), (gained, False)):
        chosen = [place for place in places if mine[place] and right[place] == before][:count]
        assert len(chosen) == count
        found[chosen] = not before
    return found


def versions(first: Right, best: Right | None = None, accepted: Right | None = None) -> References:
    return References(
        newest=2,
        first=Reference(1, first),
        best=Reference(1, first) if best is None else Reference(2, best),
        accepted=None if accepted is None else Reference(3, accepted),
    )


def judged(before: Right, after: Right, references: References | None = None) -> Judgement:
    """Judge a step at any length of which the model answers so."""
    references = versions(before) if references is None else references
    return GATE.judge(BASE, TARGET, lambda model: after if model.any() else before, references, lambda: TARGET)


def passes(before: Right, after: Right, references: References | None = None) -> bool:
    return judged(before, after, references).reason is None


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_chance_of_a_loss_is_that_of_the_sign_test(lost: int, gained: int) -> None:
    changed = lost + gained
    exact = sum(comb(changed, count) for count in range(lost, changed + 1)) / 2**changed
    assert chance_of_loss([1] * lost, [1] * gained) == pytest.approx(exact)
    assert chance_of_loss([7] * lost, [7] * gained) == pytest.approx(exact)


def test_pages_that_count_more_tell_more() -> None:
    # Of three pages, the heavy one alone is lost: the heavy one is lost in half of all cases.
    assert chance_of_loss([3], [1, 1]) == 0.5
    assert chance_of_loss([1, 1], [3]) == 0.625


def test_an_unchanged_model_always_passes() -> None:
    low = changed(start(), lost=200)
    for references in (versions(start()), versions(start(), changed(start(), gained=30)), versions(start(), None, low)):
        assert passes(low, low, references)


def test_a_clear_improvement_passes_even_if_one_class_moves_by_a_page() -> None:
    better = changed(changed(start(), gained=8, label=RELIGION), lost=1, label=POLITICS)
    found = judged(start(), better)
    assert (found.reason, found.length, found.model is TARGET) == (None, 1.0, True)


@pytest.mark.parametrize("label", range(len(NAMES)))
def test_a_loss_of_ten_points_in_a_class_never_passes(label: int) -> None:
    for others in ((label + 1) % len(NAMES), (label + 2) % len(NAMES)):
        after = changed(changed(start(), lost=11, label=label), gained=9, label=others)
        assert not passes(start(), after)


def test_a_small_loss_in_one_direction_is_no_chance_and_the_same_loss_among_many_changes_is() -> None:
    assert not passes(start(), changed(start(), lost=5))
    assert passes(start(), changed(start(), lost=15, gained=10))
    assert not passes(start(), changed(start(), lost=27, gained=20))  # more than the margin of 1 point: 6 pages


def test_the_half_that_the_rule_does_not_see_must_not_lose_either() -> None:
    after = start()
    hidden = np.flatnonzero(~PAGES.shown & after)[:: len(NAMES) * 3][:6]
    after[hidden] = False
    after[np.flatnonzero(PAGES.shown & ~after)[:6]] = True
    reason = judged(start(), after).reason
    assert reason is not None
    assert "Accuracy over the pages that the rule does not see would fall from" in reason


def test_small_losses_do_not_add_up() -> None:
    best = changed(start(), gained=9)
    base = changed(best, lost=4)
    assert passes(best, base, versions(start(), best))
    assert not passes(base, changed(base, lost=4), versions(start(), best))
    # ... nor does it help that the first version was worse than both.
    assert passes(base, changed(base, lost=4), versions(start()))


def test_a_margin_of_one_allows_any_loss() -> None:
    found = Gate(PAGES, 1.0, 1.0).judge(
        BASE, TARGET, lambda model: start() & ~model.any(), versions(start()), lambda: TARGET
    )
    assert (found.reason, found.after.accuracy) == (None, 0.0)


def test_a_stricter_gate_allows_a_share_of_the_losses_and_says_so() -> None:
    before = start()
    after = changed(before, lost=25, gained=20)  # the margin is 1 point: 6 pages, or 3 at half of it
    assert GATE.refusal(before, after, versions(before)) is None
    refusal = GATE.stricter(0.5).refusal(before, after, versions(before))
    assert refusal is not None
    assert "0.5 times EITR_MARGIN=0.01 (few took part who are established)" in refusal
    assert Gate(PAGES, 1, 1).stricter(0.5).refusal(before, ~before, versions(before)) is None, "any loss is allowed"


def test_the_reason_says_in_words_which_class_loses_how_much_and_how_surely() -> None:
    after = changed(start(), lost=10, label=POLITICS)
    assert judged(start(), after).reason == (
        "Compared with version 1, the first and the best so far: Politics would fall from 91 to 81 of 100 pages; "
        "chance explains that in 1 case of 1,000. Accuracy over all pages would fall from 549 to 539 of 610 pages; "
        "chance explains that in 1 case of 1,000. The mean over classes would fall from 90.0 to 88.3 %; chance "
        "explains that in 1 case of 1,000."
    )
    within_noise = changed(start(), lost=12, gained=6, label=POLITICS)
    told = judged(start(), within_noise).reason
    assert told is not None
    assert "more than EITR_CLASS_MARGIN=0.05 allows (chance explains that in 1 case of 10)" in told


def test_a_step_goes_as_far_as_it_is_allowed_to() -> None:
    def grade(model: Vector) -> Right:
        return changed(start(), lost=int(12 * model[0]))

    found = GATE.judge(BASE, TARGET, grade, versions(start()), lambda: TARGET)
    assert (found.reason, found.length, found.corrected) == (None, 0.375, False)
    assert found.model == pytest.approx(0.375 * TARGET)
    assert found.document["length"] == 0.375


def test_a_step_without_its_harmful_part_is_taken_if_it_goes_farther() -> None:
    def grade(model: Vector) -> Right:
        return changed(start(), lost=min(500, int(100 * model[0])))

    harmless = np.array([0, 1, 1], np.float32)
    found = GATE.judge(BASE, TARGET, grade, versions(start()), lambda: harmless)
    assert (found.reason, found.length, found.corrected) == (None, 1.0, True)
    assert np.array_equal(found.model, harmless)
    refused = GATE.judge(BASE, 99 * TARGET, grade, versions(start()), lambda: 98 * TARGET)
    assert np.array_equal(refused.model, 99 * TARGET)  # the candidate is what was aggregated
    assert (refused.length, refused.corrected) == (1.0, False)


def test_a_version_that_the_operator_chose_is_what_later_ones_must_not_lose() -> None:
    chosen = changed(start(), lost=12, label=POLITICS)
    references = versions(start(), None, chosen)
    noisy = changed(changed(chosen, lost=3, label=POLITICS), gained=2, label=RELIGION)
    assert passes(chosen, noisy, references)  # later rounds go on from it
    assert not passes(chosen, noisy, versions(start()))
    assert not passes(chosen, changed(chosen, lost=6, label=POLITICS), references)
    assert not passes(chosen, changed(chosen, lost=10, label=RELIGION), references)
    # A model that has made up for the loss must not fall back.
    assert not passes(start(), chosen, references)


@given(st.integers(0, 2**32))
@examples(60, 20)
def test_a_walk_never_ends_more_than_the_bounds_below_the_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    strengths = rng.normal(1.3, 1.0, len(PAGES.labels))
    effects = rng.normal(0, 1.0, (len(PAGES.labels), 12))

    def grade(model: Vector) -> Right:
        return np.asarray(strengths + effects @ model > 0)

    harm = -effects.mean(axis=0) * 3  # what attackers would do
    model = np.zeros(12, np.float32)
    first = best = Reference(1, grade(model))
    for version in range(2, 12):
        target = (model + rng.normal(0, 0.05, 12) + 0.1 * harm).astype(np.float32)
        found = GATE.judge(model, target, grade, References(version, first, best, None), target.copy)
        if found.reason is None:
            model = found.model
            right = grade(model)
            if right.sum() > best.right.sum():
                best = Reference(version, right)
    last = grade(model)
    assert last.mean() >= best.right.mean() - 0.01 - 1e-9
    for label in range(len(NAMES)):
        mine = PAGES.labels == label
        assert last[mine].mean() >= max(first.right[mine].mean(), best.right[mine].mean()) - 0.05 - 1e-9


def last_layer() -> tuple[Network, Vector, ValidationPages]:
    """Return the last layer of the shipped model as a network of its own, and what it is given on the pages."""
    shipped = Classifier.shipped()
    network, vector = shipped.model
    layers = network.split(vector)
    given = shipped.vocabulary.rows([Page.from_row(row) for row in ROWS]).dense()
    for kernel, bias in layers[:-1]:
        given = np.maximum(given @ kernel + bias, 0)
    columns = np.arange(given.shape[1], dtype=np.int32)
    rows = SparseRows.of([(columns, row) for row in given], width=given.shape[1])
    small = Network(network.layers[-2:])
    return small, vector[trained_from(network, 1) :], ValidationPages(small, rows, PAGES.labels)


def test_honest_noise_is_seldom_quarantined() -> None:
    network, vector, pages = last_layer()
    shown = ValidationPages(network, pages.rows.take(np.flatnonzero(PAGES.shown)), pages.labels[PAGES.shown])
    people, plan = 20, PrivatePlan(learning_rate=0.04)
    outcomes = []

    def grade(model: Vector) -> Right:
        return np.asarray(pages.logits(model, np.arange(len(pages.labels))).argmax(axis=1) == pages.labels)

    for seed in range(4):
        rng = np.random.default_rng(seed)
        model = vector
        first = best = Reference(1, grade(vector))
        for version in range(2, 32):
            noise = rng.normal(0, plan.added_noise / np.sqrt(people), len(model))
            target = (model + noise).astype(np.float32)

            def corrected(base: Vector = model, target: Vector = target) -> Vector:
                return without_harm(network, base, target, shown, plan)

            found = GATE.judge(model, target, grade, References(version, first, best, None), corrected)
            outcomes.append(found.reason)
            if found.reason is None:
                model = found.model
                right = grade(model)
                best = Reference(version, right) if right.sum() > best.right.sum() else best
    assert sum(reason is not None for reason in outcomes) < len(outcomes) / 10


@given(st.integers(0, 2**32))
@examples(100, 50)
def test_a_projection_goes_against_no_direction_and_is_the_nearest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(4, 9))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    step = rng.normal(size=9)
    found = projected(step, directions)
    assert (directions @ found <= 1e-6).all()
    # The nearest point of a convex cone: what was taken away is at a right angle to what is left.
    assert (step - found) @ found == pytest.approx(0.0, abs=1e-6)


def test_a_corrected_step_raises_the_loss_of_no_class() -> None:
    shipped = Classifier.shipped()
    network, vector = shipped.model
    shown = PAGES.shown_pages(network, shipped.vocabulary)
    target = vector.copy()
    trained = trained_from(network, 1)
    target[trained:] += np.random.default_rng(1).normal(0, 1e-3, len(vector) - trained).astype(np.float32)
    found = without_harm(network, vector, target, shown, PrivatePlan())
    before, whole, after = shown.losses(np.stack([vector, target, found]))
    assert (whole > before + 1e-4).any()
    assert (after < before + 1e-5).all()
    assert np.array_equal(found[:trained], vector[:trained])


def test_the_halves_are_even_in_every_class_and_stay_when_pages_are_added(tmp_path: Path) -> None:
    for label in range(len(NAMES)):
        mine = PAGES.labels == label
        assert abs(int(PAGES.shown[mine].sum()) - int(mine.sum()) / 2) <= 2
    rows = [{"title": f"page {number}", "text": "vote", "label": "politics"} for number in range(40)]
    few, more = tmp_path / "few.jsonl", tmp_path / "more.jsonl"
    few.write_text("\n".join(map(json.dumps, rows[10:])))
    more.write_text("\n".join(map(json.dumps, rows)))
    assert np.array_equal(ValidationSet(few).shown, ValidationSet(more).shown[10:])
    assert 0 < ValidationSet(few).shown.sum() < 30


def test_a_single_page_is_seen_by_rule_and_gate(tmp_path: Path) -> None:
    for title in ("a", "b", "c", "d"):
        (tmp_path / "one.jsonl").write_text(json.dumps({"title": title, "label": "health"}))
        assert ValidationSet(tmp_path / "one.jsonl").shown.all()


def better(federation: Federation) -> Vector:
    """Return a model that gets more validation pages right than the first version."""
    grade = PAGES.grader(Network(), Classifier.shipped().vocabulary)
    first = grade(federation.base).sum()
    rng = np.random.default_rng(0)
    while True:
        found = federation.base.copy()
        found[federation.first :] += rng.normal(0, 0.1, len(found) - federation.first).astype(np.float32)
        if grade(found).sum() > first:
            return found


def add(federation: Federation, vector: Vector, round: int | None = None) -> int:
    """Publish a version."""
    with federation.database.writing() as session:
        like = session.get_one(ModelRow, 1)
        return publish(session, origin="round", vector=vector, like=like, round=round).version


def references(federation: Federation) -> References:
    with federation.database.reading() as session:
        return GATE.references(session)


def test_references_are_the_first_version_the_best_one_and_the_one_that_an_operator_chose(
    federation: Federation,
) -> None:
    assert references(federation).best.version == 1
    add(federation, np.zeros_like(federation.base))
    good = better(federation)
    add(federation, good)
    add(federation, good)
    found = references(federation)
    assert (found.first.version, found.best.version, found.accepted, found.newest) == (1, 3, None, 4)
    assert found.best.right.sum() > found.first.right.sum()
    roll_back(federation.database, 2, "ada")
    found = references(federation)
    assert found.accepted is not None
    assert (found.best.version, found.accepted.version) == (3, 5)


def test_a_version_that_was_published_anyway_is_not_the_best(federation: Federation) -> None:
    number = federation.rounds.open()
    assert number is not None
    version = add(federation, better(federation), number)
    with federation.database.writing() as session:
        round = session.get_one(RoundRow, number)
        round.decision, round.result = Decision.PUBLISHED_ANYWAY, version
    found = references(federation)
    assert found.accepted is not None
    assert (found.best.version, found.accepted.version) == (1, version)


def test_versions_are_judged_once_unless_the_pages_change_or_the_best_one_is_gone(federation: Federation) -> None:
    good = better(federation)
    add(federation, good)
    add(federation, np.zeros_like(good))
    number = federation.rounds.open()
    score = {"pages": PAGES.digest, "best": 1, "newest": 3}
    for stored, best in (
        (score, 1),
        ({**score, "newest": 1}, 2),
        ({**score, "pages": "other"}, 2),
        ({"pages": PAGES.digest}, 2),  # of an older program
        ({**score, "best": 3}, 3),
    ):
        with federation.database.writing() as session:
            session.get_one(RoundRow, number).score = stored
        assert references(federation).best.version == best, stored
    with federation.database.writing() as session:
        session.get_one(ModelRow, 3).weights = b""
    assert references(federation).best.version == 2


def test_a_round_stores_how_much_of_its_step_was_taken_and_what_it_was_compared_with(federation: Federation) -> None:
    number = federation.full_round(federation.enrol(4))
    federation.worker().step()
    found = federation.rounds.get(number)
    assert found is not None
    assert found.score is not None
    assert (found.score["length"], found.score["corrected"]) == (1.0, False)
    assert (found.score["pages"], found.score["best"], found.score["newest"]) == (PAGES.digest, 1, 1)


def test_the_best_version_is_kept_however_old_it_is(address: str, tmp_path: Path) -> None:
    federation = Federation(tmp_path, address, keep_models=1)
    add(federation, better(federation))
    for _ in range(3):
        add(federation, federation.base)
    number = federation.rounds.open()
    with federation.database.writing() as session:
        session.get_one(RoundRow, number).score = {"pages": PAGES.digest, "best": 2, "newest": 5}
    Retention(federation.database, federation.settings).run()
    with federation.database.reading() as session:
        kept = [one.version for one in session.scalars(select(ModelRow).order_by(ModelRow.version)) if one.weights]
    assert kept == [1, 2, 5]
    federation.close()
