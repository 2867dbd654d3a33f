import numpy as np
from hypothesis import given

from tests.aggregation import oracle
from tests.aggregation.cases import aggregate, populations
from tests.examples import examples


@examples(200, 40)
@given(populations(most_clients=20))
def test_the_model_is_the_median_of_every_parameter(updates):
    _, result = aggregate("median", updates)
    # The mean of two middle values is exact in float64 for float32 values; float64 may round differently by a bit.
    expected = oracle.median(updates)
    if updates.dtype == np.float32:
        np.testing.assert_array_equal(result.model, expected.astype(np.float32))
    else:
        np.testing.assert_allclose(result.model, expected, rtol=1e-15)
    np.testing.assert_allclose(result.weights, 1 / len(updates))


def test_an_even_number_of_clients_gives_the_mean_of_the_two_middle_values():
    _, result = aggregate("median", np.array([[0.0], [1.0], [2.0], [100.0]]))
    assert result.model.tolist() == [1.5]


def test_with_a_ramp_newcomers_count_less_in_the_median():
    old, state = ["a", "b"], None
    for _ in range(4):
        state, _ = aggregate("median", np.array([[0.0], [0.25]]), old, state, ramp=4)
    # Weights 1, 1 and three quarters: alone, the newcomers would be the majority.
    _, result = aggregate(
        "median", np.array([[0.0], [0.25], [9.0], [9.0], [9.0]]), [*old, "x", "y", "z"], state, ramp=4
    )
    assert result.model.tolist() == [0.25]


def test_with_a_ramp_half_of_the_weight_reached_exactly_gives_the_mean_of_the_neighbours():
    state = None
    for _ in range(2):
        state, _ = aggregate("median", np.array([[0.0]]), ["old"], state, ramp=2)
    _, result = aggregate("median", np.array([[0.0], [1.0], [3.0]]), ["old", "x", "y"], state, ramp=2)
    assert result.weights.tolist() == [0.5, 0.25, 0.25]
    assert result.model.tolist() == [0.5]


def test_ramped_clients_that_are_all_new_have_the_plain_median():
    updates = np.random.default_rng(0).normal(size=(7, 40))
    np.testing.assert_array_equal(aggregate("median", updates, ramp=5)[1].model, np.median(updates, axis=0))
