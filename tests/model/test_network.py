import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eitr.errors import InputError
from eitr.model import Network

LAYERS = st.lists(st.integers(1, 12), min_size=2, max_size=5).map(tuple)


def test_the_default_network_has_264678_parameters() -> None:
    assert Network().size == 1000 * 256 + 256 + 256 * 32 + 32 + 32 * 6 + 6 == 264_678


@settings(deadline=None)
@given(LAYERS)
def test_the_layers_tile_the_vector_kernel_first_row_by_row(layers: tuple[int, ...]) -> None:
    network = Network(layers)
    vector = np.arange(network.size, dtype=np.float32)
    parts = [part.ravel() for layer in network.split(vector) for part in layer]
    assert np.concatenate(parts).tolist() == vector.tolist()
    assert [layer.kernel.shape for layer in network.split(vector)] == list(network.shapes)


def test_layers_are_views_of_the_vector() -> None:
    network = Network((3, 2, 2))
    vector = np.zeros(network.size, np.float32)
    network.split(vector)[1].bias[:] = 7
    assert vector[-2:].tolist() == [7, 7]


def test_initial_parameters_fill_each_layers_range_and_depend_on_the_seed_alone() -> None:
    network = Network()
    first, again, other = network.initial(1), network.initial(1), network.initial(2)
    network.check(first)
    assert first.tobytes() == again.tobytes()
    assert (first != other).mean() > 0.99
    for inputs, layer in zip(network.layers, network.split(first), strict=False):
        bound = 1 / np.sqrt(inputs)
        assert 0.9 * bound < np.abs(layer.kernel).max() <= bound
        assert np.abs(layer.bias).max() <= bound
        assert abs(layer.kernel.mean()) < 5 * bound / np.sqrt(3 * layer.kernel.size)


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        (np.zeros(8), "float32"),
        (np.zeros(7, np.float32), "expected 8 parameters"),
        (np.zeros((2, 4), np.float32), "got shape 2x4"),
        (np.float32(0).reshape(()), "got shape none"),
        (np.array([0] * 7 + [np.nan], np.float32), "NaN or an infinity"),
        (np.array([np.inf] + [0] * 7, np.float32), "NaN or an infinity"),
    ],
)
def test_a_vector_that_does_not_fit_is_refused(vector: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Network((3, 2)).check(vector)


@pytest.mark.parametrize("layers", [(), (5,), (5, 0), (5, -1, 6), (10**9, 6), (2,) * 65])
def test_an_impossible_network_is_refused(layers: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="layer"):
        Network(layers)
