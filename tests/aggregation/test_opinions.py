"""The algebra of opinions: whatever detectors say, their joined opinion is one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.aggregation.opinions import Opinion, cumulative_fusion, trust_discount
from tests.examples import examples

PRIOR = 2.0
amounts = st.floats(0, 1e6)
shares = st.floats(0, 1)


@st.composite
def opinions(draw):
    """Opinions that stand for some evidence: never dogmatic."""
    return Opinion.from_evidence([draw(amounts)], [draw(amounts)], draw(st.floats(1e-2, 1e2)))


@st.composite
def dogmatic(draw):
    """Opinions without uncertainty."""
    belief = draw(shares)
    return Opinion(np.array([belief]), np.array([1.0 - belief]), np.zeros(1))


any_opinion = opinions() | dogmatic() | st.just(Opinion.vacuous(1))


def parts(opinion):
    return np.array([opinion.belief, opinion.disbelief, opinion.uncertainty])


def assert_same(one, other, atol=1e-9):
    np.testing.assert_allclose(parts(one), parts(other), rtol=0, atol=atol)


def assert_opinion(found):
    assert np.isfinite(parts(found)).all()
    assert (parts(found) >= -1e-12).all()
    assert (parts(found) <= 1 + 1e-12).all()
    np.testing.assert_allclose(parts(found).sum(axis=0), 1, rtol=0, atol=1e-9)


@examples(300, 300)
@given(amounts, amounts, st.floats(1e-2, 1e2))
def test_evidence_gives_an_opinion_and_comes_back_from_it(positive, negative, prior):
    found = Opinion.from_evidence([positive], [negative], prior)
    assert_opinion(found)
    back = found.evidence(prior)
    np.testing.assert_allclose(np.concatenate(back), [positive, negative], rtol=1e-9, atol=1e-9)


def test_evidence_is_told_in_the_observations_of_the_prior_that_is_asked_for():
    for_it, against = Opinion.from_evidence([3.0], [1.0], 2.0).evidence(4.0)
    assert (for_it[0], against[0]) == (pytest.approx(6.0), pytest.approx(2.0))


def test_without_evidence_an_opinion_is_vacuous():
    assert_same(Opinion.from_evidence([0.0, 0.0], [0.0, 0.0], PRIOR), Opinion.vacuous(2))
    assert Opinion.vacuous(3).uncertainty.tolist() == [1.0] * 3


@examples(300, 300)
@given(any_opinion, shares)
def test_the_expectation_lies_between_belief_and_what_is_not_disbelieved(opinion, base_rate):
    expected = opinion.expectation(base_rate)
    assert (expected >= opinion.belief).all()
    assert (expected <= 1 - opinion.disbelief + 1e-12).all()


@examples(500, 500)
@given(any_opinion, any_opinion)
def test_joined_opinions_are_opinions(first, second):
    assert_opinion(cumulative_fusion(first, second))


@examples(300, 300)
@given(any_opinion, any_opinion)
def test_it_does_not_matter_who_speaks_first(first, second):
    assert_same(cumulative_fusion(first, second), cumulative_fusion(second, first), atol=1e-12)


@examples(500, 500)
@given(opinions(), opinions(), opinions())
def test_three_sources_may_be_joined_in_any_order(first, second, third):
    left = cumulative_fusion(cumulative_fusion(first, second), third)
    right = cumulative_fusion(first, cumulative_fusion(second, third))
    assert_same(left, right)


@examples(300, 300)
@given(any_opinion)
def test_who_knows_nothing_changes_nothing(opinion):
    for found in (cumulative_fusion(opinion, Opinion.vacuous(1)), cumulative_fusion(Opinion.vacuous(1), opinion)):
        assert_same(found, opinion, atol=1e-12)


evidence = st.tuples(st.floats(0, 1e4), st.floats(0, 1e4))


@examples(300, 300)
@given(evidence, evidence)
def test_evidence_of_independent_sources_adds_up(mine, theirs):
    joined = cumulative_fusion(*(Opinion.from_evidence([r], [s], PRIOR) for r, s in (mine, theirs)))
    expected = [mine[0] + theirs[0], mine[1] + theirs[1]]
    np.testing.assert_allclose(np.concatenate(joined.evidence(PRIOR)), expected, rtol=1e-9, atol=1e-9)


@examples(300, 300)
@given(any_opinion, any_opinion)
def test_more_sources_never_leave_more_uncertainty(first, second):
    joined = cumulative_fusion(first, second).uncertainty
    assert (joined <= np.minimum(first.uncertainty, second.uncertainty) + 1e-12).all()


@examples(300, 300)
@given(opinions(), opinions(), st.floats(1, 1e4))
def test_a_source_that_doubts_more_never_raises_the_expectation(first, second, more):
    positive, negative = second.evidence(PRIOR)
    worse = Opinion.from_evidence(positive, negative + more, PRIOR)
    before, after = (cumulative_fusion(first, other).expectation(0.5) for other in (second, worse))
    assert (after <= before + 1e-9).all()


def test_two_dogmatic_opinions_count_the_same_and_one_alone_decides():
    sure, opposed = (Opinion(np.array([b]), np.array([1 - b]), np.zeros(1)) for b in (1.0, 0.0))
    assert parts(cumulative_fusion(sure, opposed)).ravel().tolist() == [0.5, 0.5, 0.0]
    assert_same(cumulative_fusion(sure, Opinion.from_evidence([1.0], [99.0], PRIOR)), sure, atol=1e-12)


def test_clients_are_joined_each_for_itself():
    first = Opinion(np.array([1.0, 0.0, 0.2]), np.array([0.0, 0.0, 0.2]), np.array([0.0, 1.0, 0.6]))
    second = Opinion(np.array([0.0, 0.3, 0.1]), np.array([1.0, 0.3, 0.4]), np.array([0.0, 0.4, 0.5]))
    together = cumulative_fusion(first, second)
    for client in range(3):
        one, other = (Opinion(*(part[[client]] for part in parts(opinion))) for opinion in (first, second))
        np.testing.assert_array_equal(parts(cumulative_fusion(one, other))[:, 0], parts(together)[:, client])


@examples(300, 300)
@given(any_opinion)
def test_full_trust_changes_nothing_and_none_leaves_nothing(opinion):
    assert_same(trust_discount(1.0, opinion), opinion, atol=1e-12)
    assert_same(trust_discount(0.0, opinion), Opinion.vacuous(1), atol=1e-12)


@examples(300, 300)
@given(any_opinion, shares, shares)
def test_what_is_heard_through_two_is_trusted_by_the_product(opinion, first, second):
    through_both = trust_discount(first, trust_discount(second, opinion))
    assert_opinion(through_both)
    assert_same(through_both, trust_discount(first * second, opinion), atol=1e-12)


def test_every_client_may_be_discounted_by_its_own_trust():
    opinion = Opinion.from_evidence([3.0, 3.0, 3.0], [1.0, 1.0, 1.0], PRIOR)
    found = trust_discount([0.0, 0.5, 1.0], opinion)
    np.testing.assert_allclose(found.belief, [0.0, 0.25, 0.5])
    np.testing.assert_allclose(found.uncertainty, [1.0, 2 / 3, 1 / 3])
