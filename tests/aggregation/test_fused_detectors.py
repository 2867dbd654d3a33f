"""Each detector of the fused rule alone: whom it doubts, whom it does not, and where it knows nothing."""

import numpy as np
import pytest

from eitr.aggregation.fused.collusion import Collusion, novelty
from eitr.aggregation.fused.direction import Direction, towards_majority
from eitr.aggregation.fused.features import cosines_of, deviation, falling, shortening, usual_length
from eitr.aggregation.fused.magnitude import Magnitude
from eitr.aggregation.fused.residual import Residual
from eitr.aggregation.fused.rule import DETECTORS, biases, weighed
from eitr.aggregation.fused.sketch import DIMENSIONS, limit_of, signs, towards_median
from eitr.aggregation.fused.validation import Validation
from eitr.robust.steps import folded_steps
from tests.aggregation.round_features import colluding, features_of, honest

each_detector = pytest.mark.parametrize("detector", DETECTORS, ids=lambda detector: detector.name)


def is_opinion(found, clients):
    parts = np.array([found.belief, found.disbelief, found.uncertainty])
    assert parts.shape == (3, clients)
    assert (parts >= 0).all()
    np.testing.assert_allclose(parts.sum(axis=0), 1, rtol=0, atol=1e-12)
    return found


def knows_nothing(found):
    return bool((found.uncertainty == 1).all())


def doubted(found):
    return np.flatnonzero(found.disbelief > found.belief).tolist()


def trusted(found):
    return np.flatnonzero((found.belief > 0) & (found.disbelief < 1e-9)).tolist()


@each_detector
@pytest.mark.parametrize("clients", [1, 2])
def test_one_or_two_clients_cannot_be_compared(detector, clients):
    steps = np.array([[1.0, 0.0], [-50.0, 0.0]])[:clients]
    features = features_of(
        steps, rejected=np.ones(clients), harm=np.full((clients, 2), 9.0), pushes=np.ones((clients, 2))
    )
    assert knows_nothing(is_opinion(detector.observe(features), clients))


@pytest.mark.parametrize("detector", [Residual(), Collusion()], ids=lambda detector: detector.name)
def test_what_is_usual_among_three_the_residuals_and_collusion_do_not_know(detector):
    features = features_of(honest(3), rejected=np.array([0.0, 0.0, 1.0]))
    assert knows_nothing(is_opinion(detector.observe(features), 3))


@each_detector
@pytest.mark.parametrize("clients", [1, 3, 4, 10])
def test_of_clients_that_stand_still_nobody_is_doubted(detector, clients):
    features = features_of(np.zeros((clients, 5)), harm=np.zeros((clients, 3)), pushes=np.zeros((clients, 3)))
    assert doubted(is_opinion(detector.observe(features), clients)) == []


@each_detector
@pytest.mark.parametrize("common", [0.95, 0.7, 0.3, 0.0])
@pytest.mark.parametrize("clients", [4, 5, 10, 40])
def test_among_honest_clients_nobody_is_doubted(detector, common, clients):
    rng = np.random.default_rng(clients)
    features = features_of(
        honest(clients, common, 4000, seed=clients),
        rejected=rng.uniform(0, 0.1, clients),
        harm=rng.normal(0, 0.1, (clients, 6)),
        pushes=rng.normal(0, 0.1, (clients, 6)),
    )
    assert doubted(is_opinion(detector.observe(features), clients)) == []


@pytest.mark.parametrize("common", [0.95, 0.7, 0.3, 0.0])
def test_of_three_honest_clients_nobody_is_doubted_for_its_direction(common):
    assert doubted(Direction().observe(features_of(honest(3, common, 4000)))) == []


@each_detector
def test_opinions_go_with_their_client_whatever_its_place(detector):
    rng = np.random.default_rng(3)
    steps = honest(9, seed=3)
    steps[0] *= -1
    steps[1] *= 30
    parts = {"rejected": rng.uniform(0, 1, 9), "harm": rng.normal(0, 2, (9, 4)), "pushes": rng.normal(size=(9, 4))}
    order = rng.permutation(9)
    one = detector.observe(features_of(steps, **parts))
    other = detector.observe(features_of(steps[order], **{name: table[order] for name, table in parts.items()}))
    np.testing.assert_allclose(other.belief, one.belief[order], rtol=0, atol=1e-9)
    np.testing.assert_allclose(other.disbelief, one.disbelief[order], rtol=0, atol=1e-9)


# The paper's residuals.


def test_whose_values_are_nearly_all_rejected_is_doubted():
    rejected = np.array([0.02, 0.03, 0.01, 0.04, 0.02, 0.03, 0.95])
    found = is_opinion(Residual().observe(features_of(honest(7), rejected=rejected)), 7)
    assert doubted(found) == [6]
    assert trusted(found) == [0, 1, 2, 3, 4, 5]


def test_where_everybody_has_values_rejected_nobody_stands_out():
    rejected = np.linspace(0.6, 0.7, 8)
    assert doubted(Residual().observe(features_of(honest(8), rejected=rejected))) == []


def test_a_few_rejected_values_are_nothing_even_among_clients_with_none():
    rejected = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.2])
    assert trusted(Residual().observe(features_of(honest(6), rejected=rejected))) == [0, 1, 2, 3, 4, 5]


def test_more_rejected_values_never_earn_more_trust():
    rest = np.full(7, 0.05)
    trust = [
        Residual().observe(features_of(honest(8), rejected=np.append(rest, share))).belief[7]
        for share in np.linspace(0, 1, 21)
    ]
    assert (np.diff(trust) <= 1e-12).all()
    assert trust[0] > trust[-1]


# Direction.


def test_who_goes_backwards_is_doubted():
    steps = honest(10)
    steps[[2, 5]] *= -1
    found = is_opinion(Direction().observe(features_of(steps)), 10)
    assert doubted(found) == [2, 5]
    assert trusted(found) == [0, 1, 3, 4, 6, 7, 8, 9]


def test_where_the_others_have_no_common_direction_nobody_goes_backwards():
    steps = np.eye(10)
    steps[0] *= -1
    assert doubted(Direction().observe(features_of(steps))) == []


def test_both_centres_must_be_on_ones_side():
    steps = honest(10)
    towards = features_of(steps).towards.copy()
    towards[3] = -0.5
    assert doubted(Direction().observe(features_of(steps, towards=towards))) == [3]
    steps[3] *= -1
    assert doubted(Direction().observe(features_of(steps, towards=np.full(10, 0.9)))) == [3]


def test_the_past_counts_too_not_only_the_step_of_the_round():
    past = honest(10)
    past[4] *= -1
    assert doubted(Direction().observe(features_of(np.eye(10), past))) == [4]


def test_a_minority_that_agrees_perfectly_does_not_turn_the_centre():
    steps = honest(10, common=0.8)
    steps[:4] = -steps[9]
    found = Direction().observe(features_of(steps))
    assert doubted(found) == [0, 1, 2, 3]


def test_the_cosine_with_the_majority_is_that_with_the_mean_of_its_other_members():
    steps = honest(5)
    steps[3:] = np.array([-steps[0], -steps[1]])
    found = towards_majority(cosines_of(steps @ steps.T))
    for client in range(5):
        others = steps[[member for member in range(3) if member != client]].mean(axis=0)
        assert found[client] == pytest.approx(steps[client] @ others / np.linalg.norm(others))


def test_vectors_without_a_majority_are_towards_nothing():
    assert towards_majority(np.zeros((4, 4))).tolist() == [0.0] * 4


# Collusion.


@pytest.mark.parametrize("common", [0.0, 0.3])
def test_clients_that_share_what_nobody_else_has_are_doubted(common):
    found = is_opinion(Collusion().observe(features_of(colluding(common))), 12)
    assert doubted(found) == [0, 1, 2]
    assert trusted(found) == list(range(3, 12))


BY_ITSELF = Collusion(far=1e9, too_far=2e9)
BY_DEVIATION = Collusion(common=1e9, too_common=2e9)


@pytest.mark.parametrize("detector", [BY_ITSELF, BY_DEVIATION], ids=["by itself", "by deviation"])
def test_where_honest_clients_share_nothing_either_way_of_judging_sees_colluders(detector):
    assert doubted(detector.observe(features_of(colluding()))) == [0, 1, 2]


def test_while_everybody_learns_the_same_only_deviations_tell():
    steps = honest(12, 0.8, 4000)
    steps[:3] = 1.5 * (steps[:3] + honest(1, 0.0, 4000, seed=9)[0])
    assert doubted(BY_DEVIATION.observe(features_of(steps))) == [0, 1, 2]
    assert doubted(BY_ITSELF.observe(features_of(steps))) == []


def test_a_direction_that_everybody_shares_is_no_collusion():
    assert doubted(Collusion().observe(features_of(honest(12, 0.95, 4000)))) == []


def test_what_is_usual_is_learned_from_clients_that_nobody_doubts():
    steps = colluding(clients=12, colluders=6)
    doubt = np.repeat([1.0, 0.0], 6)
    assert doubted(Collusion().observe(features_of(steps, doubt=doubt))) == list(range(6))


def test_with_fewer_than_four_undoubted_clients_nothing_is_usual():
    assert knows_nothing(Collusion().observe(features_of(colluding(), doubt=np.repeat([1.0, 0.0], [9, 3]))))


def test_those_that_bring_a_new_topic_together_are_not_taken_for_colluders():
    harm = np.zeros((12, 3))
    pushes = np.zeros((12, 3))
    pushes[:3, 2] = 1.0
    known = Collusion().observe(features_of(colluding(), harm=harm, pushes=pushes))
    harm[:, 2] = np.nan
    new = Collusion().observe(features_of(colluding(), harm=harm, pushes=pushes))
    assert doubted(known) == [0, 1, 2]
    assert (new.uncertainty[:3] == 1).all()
    assert trusted(new) == list(range(3, 12))


def test_novelty_is_nothing_where_nothing_can_be_new():
    steps, pushes = honest(4), np.ones((4, 2))
    assert novelty(features_of(steps)).tolist() == [0.0] * 4
    assert novelty(features_of(steps, harm=np.zeros((4, 2)), pushes=pushes)).tolist() == [0.0] * 4
    unknown = np.full((4, 2), np.nan)
    assert novelty(features_of(steps, harm=unknown, pushes=0 * pushes)).tolist() == [0.0] * 4


def novelty_of(*pushes: float) -> list[float]:
    """Return the novelty of clients that push a class nobody can test by so much."""
    harm = np.array([[0.0, np.nan]] * len(pushes))
    return novelty(
        features_of(honest(len(pushes)), harm=harm, pushes=np.array([[9.0, push] for push in pushes]))
    ).tolist()


def test_who_teaches_a_class_raises_it_by_more_than_the_others_lower_it():
    assert novelty_of(1.0, -0.3, -0.3, -0.2, 0.0, -0.3) == [1, 0, 0, 0, 0, 0]
    assert novelty_of(1.0, 0.0, 0.0, 0.0) == [1, 0, 0, 0]
    assert 0 < novelty_of(0.5, -0.3, -0.3, -0.2, 0.0, -0.3)[0] < 1


def test_who_sends_the_opposite_of_everybody_teaches_nothing():
    # They raise a class that nobody has by as much as the others lower it, for good.
    assert novelty_of(0.4, 0.4, 0.4, -0.4, -0.5, -0.3, -0.4, -0.4, -0.4, -0.4) == [0] * 10
    # Late, when the others have nothing left to lower, by several times as much: of next to nothing.
    assert novelty_of(0.03, 0.02, 0.02, -0.004, -0.005, -0.003, -0.004, -0.004, -0.004, -0.004) == [0] * 10


# Magnitude.


def test_steps_many_times_as_long_as_usual_and_next_to_none_are_doubted():
    steps = honest(8) * np.array([1, 1.1, 0.9, 1, 1, 1, 50, 1e-6])[:, None]
    found = is_opinion(Magnitude().observe(features_of(steps)), 8)
    assert doubted(found) == [6, 7]
    assert trusted(found) == [0, 1, 2, 3, 4, 5]


def test_the_longer_a_step_beyond_the_usual_the_less_it_is_trusted():
    trust = [
        Magnitude().observe(features_of(honest(6) * np.array([1, 1, 1, 1, 1, length])[:, None])).belief[5]
        for length in (1, 2, 3, 4, 8, 100, 1e6)
    ]
    assert (np.diff(trust) <= 0).all()
    assert trust[0] > 0.5
    assert trust[-1] == 0


def test_lengths_are_relative_to_the_round():
    steps = honest(5) * np.array([1, 1, 1, 1, 40.0])[:, None]
    for scale in (1e-20, 1.0, 1e6):
        assert doubted(Magnitude().observe(features_of(scale * steps))) == [4]


def test_a_majority_that_sends_next_to_nothing_does_not_make_the_others_too_long():
    lengths = np.array([1e-9, 1e-9, 1e-9, 1e-9, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert trusted(Magnitude().observe(features_of(honest(9) * lengths[:, None]))) == [4, 5, 6, 7, 8]


# Validation.


def test_who_ruins_a_class_is_doubted():
    harm = np.zeros((6, 4))
    harm[2, 3] = 20.0
    found = is_opinion(Validation().observe(features_of(honest(6), harm=harm)), 6)
    assert doubted(found) == [2]
    assert trusted(found) == [0, 1, 3, 4, 5]


def test_good_done_to_other_classes_does_not_make_up_for_harm():
    harm = np.zeros((6, 4))
    harm[2] = [-20.0, -20.0, -20.0, 20.0]
    assert doubted(Validation().observe(features_of(honest(6), harm=harm))) == [2]


def test_harm_that_everybody_does_is_nobodys():
    assert doubted(Validation().observe(features_of(honest(6), harm=np.full((6, 4), 20.0)))) == []


def test_without_trusted_pages_nothing_is_known():
    assert knows_nothing(Validation().observe(features_of(honest(6))))
    assert knows_nothing(Validation().observe(features_of(honest(6), harm=np.full((6, 4), np.nan))))


def test_a_class_without_trusted_pages_is_not_asked_about():
    harm = np.random.default_rng(0).normal(0, 0.1, (6, 3))
    blind = np.insert(harm, 1, np.nan, axis=1)
    one, other = (Validation().observe(features_of(honest(6), harm=table)) for table in (harm, blind))
    np.testing.assert_array_equal(one.belief, other.belief)
    np.testing.assert_array_equal(one.disbelief, other.disbelief)


# What they stand on.


def test_whoever_sends_next_to_nothing_has_no_say_in_the_usual_length():
    assert usual_length(np.array([1e-9, 1e-9, 2.0, 3.0, 4.0])) == 3.0
    assert usual_length(np.zeros(4)) == 0.0


def test_steps_are_shortened_never_lengthened():
    lengths = np.array([0.0, 0.5, 1.0, 1.0, 1e6])
    short = shortening(lengths)
    assert (short <= 1).all()
    assert (lengths * short <= usual_length(lengths) * (1 + 1e-12)).all()
    assert short[:4].tolist() == [1.0] * 4


def test_steps_without_length_are_shortened_to_numbers():
    assert np.isfinite(shortening(np.zeros(3))).all()


def test_a_fall_is_straight_and_bounded():
    assert falling(np.array([-9.0, 1.0, 1.25, 2.0, 9.0]), 1.0, 2.0).tolist() == [1.0, 1.0, 0.75, 0.0, 0.0]


def test_a_vector_without_length_is_similar_to_none():
    steps = np.array([[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]])
    assert cosines_of(steps @ steps.T).round(12).tolist() == [[1.0, 0.0, 1.0], [0.0] * 3, [1.0, 0.0, 1.0]]
    assert towards_median(np.zeros((3, 4))).tolist() == [0.0] * 3


def test_a_robust_deviation_is_that_of_normal_numbers_and_outliers_do_not_move_it():
    values = np.random.default_rng(0).normal(5.0, 2.0, 20_000)
    assert deviation(values) == pytest.approx(2.0, rel=0.05)
    values[:2000] = 1e9
    assert deviation(values) == pytest.approx(2.0, rel=0.2)


def test_claims_count_in_medians_up_to_a_cap_and_not_at_all_without():
    shares, counts = np.array([1.0, 1.0, 1.0, 0.5, 1.0]), np.array([0.0, 50.0, 100.0, 150.0, 1e9])
    np.testing.assert_allclose(weighed(shares, counts, 2.0), np.array([0.0, 0.5, 1.0, 0.75, 2.0]) / 4.25)
    for ignored in (weighed(shares, counts, 0.0), weighed(shares, None, 2.0), weighed(shares, np.zeros(5), 2.0)):
        np.testing.assert_allclose(ignored, shares / 4.5)


def test_where_nobody_has_a_share_or_claims_anything_all_weigh_the_same():
    assert weighed(np.zeros(4), None, 0.0).tolist() == [0.25] * 4
    assert weighed(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, 5.0, 5.0]), 2.0).tolist() == [0.25] * 4


def test_the_steps_of_the_output_biases_are_the_last_numbers():
    base = np.arange(6, dtype=np.float32)
    updates = np.stack([base, base + 1]).astype(np.float32)
    assert biases(updates, base, 2).tolist() == [[0.0, 0.0], [1.0, 1.0]]


# The projection.


def projected(steps, seed=0, limit=np.inf):
    clients, parameters = steps.shape
    chosen = {"limit": limit, "signs": signs(seed, parameters), "dimensions": DIMENSIONS}
    return folded_steps(steps.astype(np.float32), np.zeros(parameters, np.float32), np.arange(clients), **chosen)


@pytest.mark.parametrize("parameters", [1, 100, DIMENSIONS - 1, DIMENSIONS, DIMENSIONS + 1, 3 * DIMENSIONS + 17])
def test_a_projection_has_one_length_whatever_the_models(parameters):
    assert projected(np.ones((2, parameters))).shape == (2, DIMENSIONS)


@pytest.mark.parametrize("seed", range(3))
def test_a_projection_keeps_inner_products(seed):
    steps = np.concatenate([honest(6, common, 50_001, seed) for common in (0.0, 0.5, 0.9)])
    steps *= np.linspace(0.1, 10, len(steps))[:, None]
    small = projected(steps, seed)
    lengths = np.linalg.norm(steps, axis=1)
    error = np.abs(small @ small.T - steps @ steps.T) / np.outer(lengths, lengths)
    assert error.max() < 5 / np.sqrt(DIMENSIONS)
    assert error.max() > 0


def test_a_short_vector_is_kept_exactly():
    steps = honest(4, 0.5, DIMENSIONS)
    small = projected(steps)
    np.testing.assert_allclose(small @ small.T, steps @ steps.T, atol=1e-6)


def test_a_projection_is_linear():
    steps = honest(2, 0.5, 9000)
    both = projected((2 * steps[0] - 3 * steps[1])[None])[0]
    np.testing.assert_allclose(both, 2 * projected(steps)[0] - 3 * projected(steps)[1], atol=1e-6)


def test_a_projection_is_its_seeds_and_the_same_every_time():
    steps = honest(1, 0.0, 9000)
    signs.cache_clear()
    first = projected(steps, 1)
    signs.cache_clear()
    np.testing.assert_array_equal(first, projected(steps, 1))
    assert np.abs(first @ projected(steps, 2).T)[0, 0] < 0.1
    assert set(np.unique(signs(1, 9000))) == {-1.0, 1.0}
    assert abs(signs(1, 9000).mean()) < 0.05


@pytest.mark.parametrize("seed", [1, 2**32 - 1, 2**32, 2**255 + 9])
def test_signs_of_any_seed_are_balanced_and_those_before_the_start_are_zero(seed):
    whole, part = signs(seed, 9001), signs(seed, 9001, 4000)
    assert set(np.unique(whole)) == {-1.0, 1.0}
    assert abs(whole.mean()) < 0.05
    assert not part[:4000].any()
    np.testing.assert_array_equal(part[4000:], whole[4000:])
    assert abs((whole * signs(seed + 1, 9001)).mean()) < 0.05


def test_a_secret_seed_is_one_that_a_short_one_does_not_reach():
    """Also not the one with the same last 32 bits."""
    assert (signs(2**200 + 7, 9000) != signs(7, 9000)).mean() > 0.4


def test_a_few_huge_numbers_of_a_step_do_not_drown_the_others():
    steps = honest(1, 0.0, 9000)
    loud = steps.copy()
    loud[0, :3] = 1e6
    limit = limit_of(1.0, 9000)
    quiet_sketch, loud_sketch = projected(steps, limit=limit)[0], projected(loud, limit=limit)[0]
    cosine = quiet_sketch @ loud_sketch / np.linalg.norm(quiet_sketch) / np.linalg.norm(loud_sketch)
    assert cosine > 0.95


def test_less_harm_is_evidence_where_undoubted_clients_hardly_differ():
    steps, rng = honest(), np.random.default_rng(4)
    harm = rng.normal(0, 0.05, (len(steps), 6))
    harm[0, 2] += 1.5  # between the fixed limits
    told = Validation().observe(features_of(steps, harm=harm)).expectation(0.5)
    assert told[0] < 0.1 < 0.9 < told[1:].min()
    harm[1:, 2] += np.linspace(-0.8, 0.8, len(steps) - 1)  # they differ: each has other pages of this class
    assert Validation().observe(features_of(steps, harm=harm)).expectation(0.5)[0] > 0.4


def test_honest_clients_that_differ_much_may_resemble_each_other():
    rng = np.random.default_rng(5)
    steps = rng.normal(size=(9, 4000)) + rng.normal(0, 0.4, (9, 4)) @ rng.normal(size=(4, 4000))  # topics of one's own
    features = features_of(steps)
    assert features.cosines_together[~np.eye(9, dtype=bool)].max() > 0.25
    told, strict = (
        detector.observe(features).expectation(0.5) for detector in (Collusion(), Collusion(apart=(0.0, 0.0)))
    )
    assert np.median(told) > 0.9
    assert told.mean() > strict.mean() + 0.05
