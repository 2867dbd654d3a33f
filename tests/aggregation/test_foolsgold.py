from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given

from eitr.aggregation import Round, make_rule
from eitr.aggregation.foolsgold import foolsgold_shares
from eitr.errors import InputError
from tests.aggregation import oracle
from tests.aggregation.cases import aggregate, histories, names
from tests.examples import examples


@examples(200, 40)
@given(histories(kinds=("ordinary", "tied", "shifted", "colluding", "constant", "one_stands_out"), most_clients=7))
def test_weights_follow_the_similarity_of_steps_accumulated_over_a_clients_rounds(history):
    rule = make_rule("foolsgold")
    state = rule.init()
    sums: dict[str, np.ndarray] = {}
    base = np.zeros(history.rounds[0][1].shape[1], dtype=np.float32)
    for number, (ids, updates) in enumerate(history.rounds):
        before = base + np.float32(number / 4)
        state, result = rule.update(state, Round(before, updates, ids))
        for client, update in zip(ids, updates, strict=True):
            sums[client] = sums.get(client, 0) + (np.float64(update) - before)
        weights = oracle.foolsgold([sums[client] for client in ids])
        # The logit has no bounded slope at its ends: compare where rounding of float32 sums is not blown up.
        moved = [sums[client] * (1 + 1e-6 * (row % 2)) + 1e-7 * row for row, client in enumerate(ids)]
        assume(np.abs(weights - oracle.foolsgold(moved)).max() < 1e-3)
        np.testing.assert_allclose(result.weights, weights, atol=2e-3)
        np.testing.assert_allclose(
            result.model, result.weights @ np.float64(updates), atol=1e-6 * (1 + np.abs(updates).max())
        )


def test_sybils_that_send_the_same_share_nothing():
    rng = np.random.default_rng(0)
    honest = rng.normal(size=(4, 50))
    sybil = rng.normal(size=50)
    updates = np.vstack([honest, sybil, sybil, sybil])
    _, result = aggregate("foolsgold", updates)
    assert (result.weights[4:] == 0).all()
    assert (result.weights[:4] > 0.1).all()


def test_sybils_that_took_turns_are_found_by_their_accumulated_steps():
    rng = np.random.default_rng(1)
    goal, state = rng.normal(size=(2, 60)), None
    for number in range(2):  # in each round the two differ, over two rounds they went the same way
        updates = np.vstack([rng.normal(size=(3, 60)), goal[number], goal[1 - number]])
        state, result = aggregate("foolsgold", updates, None, state)
    assert (result.weights[3:] == 0).all()
    assert (result.weights[:3] > 0.2).all()


def test_all_equal_clients_weigh_the_same():
    _, result = aggregate("foolsgold", np.full((4, 6), 0.75))
    assert result.weights.tolist() == [0.25] * 4
    assert result.model.tolist() == [0.75] * 6


def test_clients_that_differ_by_rounding_alone_weigh_the_same():
    way = np.random.default_rng(3).normal(size=50)
    updates = np.outer([0.1, 0.3, 0.7, 1.1], way).astype(np.float32)
    _, result = aggregate("foolsgold", updates)
    assert result.weights.tolist() == [0.25] * 4


def test_clients_that_did_not_move_are_similar_to_nobody():
    _, result = aggregate("foolsgold", np.zeros((3, 4)))
    np.testing.assert_allclose(result.weights, 1 / 3)
    assert result.model.tolist() == [0.0] * 4


def test_all_shares_zero_become_uniform():
    assert foolsgold_shares(np.ones((3, 3))).tolist() == [1.0, 1.0, 1.0]


def test_a_single_client_has_all_the_weight():
    _, result = aggregate("foolsgold", np.array([[3.0, 4.0]]))
    assert result.weights.tolist() == [1.0]
    assert result.model.tolist() == [3.0, 4.0]


def test_the_matrix_of_similarities_is_left_as_it_was():
    cosine = np.array([[1.0, 0.5], [0.5, 1.0]])
    foolsgold_shares(cosine)
    assert cosine.tolist() == [[1.0, 0.5], [0.5, 1.0]]


def test_more_parameters_than_a_block_are_summed_whole():
    rng = np.random.default_rng(2)
    updates = rng.normal(size=(3, (1 << 16) + 7)).astype(np.float32)
    updates[:, -7:] *= 300  # what decides stands in the second block
    _, result = aggregate("foolsgold", updates)
    np.testing.assert_allclose(result.weights, oracle.foolsgold(updates), atol=1e-4)


def test_a_base_is_needed():
    rule = make_rule("foolsgold")
    with pytest.raises(InputError, match="needs the global parameters"):
        rule.update(rule.init(), Round(None, np.ones((2, 3)), names(2)))


def test_a_model_of_another_size_is_refused_also_by_a_state_that_does_not_say_its_size():
    state, _ = aggregate("foolsgold", np.ones((2, 3)))
    with pytest.raises(InputError, match="steps of 3 parameters, the updates have 4"):
        aggregate("foolsgold", np.ones((2, 4)), None, replace(state, parameters=0))


@pytest.mark.parametrize("degrees", [(0, 20, 60, 130), (0, 50, 100, 150), (0, 35, 80, 200, 300), (10, 40, 75), (0, 80)])
def test_partly_similar_clients_keep_part_of_their_weight(degrees):
    radians = np.radians(degrees)
    updates = np.column_stack([np.cos(radians), np.sin(radians)]) * np.arange(1, len(degrees) + 1)[:, None]
    _, result = aggregate("foolsgold", updates)
    np.testing.assert_allclose(result.weights, oracle.foolsgold(updates), atol=1e-5)


def test_some_weights_lie_strictly_between_nothing_and_all():
    shares = foolsgold_shares(np.array([[1.0, 0.45, 0.0], [0.45, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    assert shares[0] == shares[1] == pytest.approx(np.log(0.55 / 0.45) + 0.5)
    assert shares[2] == 1.0
