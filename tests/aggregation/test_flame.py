import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.aggregation import Round, make_rule
from eitr.aggregation.flame import majority
from tests.aggregation.cases import aggregate, names
from tests.examples import examples


def flame(updates):
    """The formula, read plainly, without noise; whom to keep is told by `majority`."""
    lengths = np.linalg.norm(updates, axis=1)
    cosines = np.array([[a @ b / (np.linalg.norm(a) * np.linalg.norm(b)) for b in updates] for a in updates])
    kept = majority(1 - cosines)
    median = np.median(lengths)
    return np.mean(
        [update * min(1, median / length) for update, length in zip(updates[kept], lengths[kept], strict=True)], axis=0
    )


@examples(60, 20)
@given(st.integers(1, 12), st.integers(0, 2**32))
def test_the_majoritys_steps_are_clipped_to_the_median_length_and_averaged(size, seed):
    rng = np.random.default_rng(seed)
    updates = rng.normal(0, 0.1, (size, 15)) + rng.normal(0, 0.2, 15)
    updates[: size // 3] *= -3
    _, result = aggregate("flame", updates, **{"lambda": 0.0})
    np.testing.assert_allclose(result.model, flame(updates), rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 13, 30])
def test_the_cluster_is_that_of_hdbscan(size):
    cluster = pytest.importorskip("sklearn.cluster")
    rng = np.random.default_rng(size)
    for trial in range(60):
        points = rng.normal(size=(size, 3))
        points[: rng.integers(0, size)] += rng.choice([0.5, 2, 9])
        if trial % 3 == 0:
            points = np.round(points)  # ties
        points += 0.01  # no zero steps
        lengths = np.linalg.norm(points, axis=1)
        distances = np.clip(1 - points @ points.T / np.outer(lengths, lengths), 0, 2)
        distances = np.round(distances, 9)  # equal to the last bit where they are equal
        np.fill_diagonal(distances, 0)
        finder = cluster.HDBSCAN(
            min_cluster_size=size // 2 + 1, min_samples=1, metric="precomputed", allow_single_cluster=True, copy=True
        )
        labels = finder.fit(distances).labels_
        assert majority(distances).tolist() == (labels == 0).tolist()


@pytest.mark.parametrize("size", range(1, 12))
def test_more_than_half_are_always_kept(size):
    for seed in range(20):
        points = np.random.default_rng(seed).normal(size=(size, 2))
        kept = majority(np.linalg.norm(points[:, None] - points, axis=2))
        assert kept.sum() > size / 2


def test_attackers_that_go_another_way_are_left_out_and_a_long_step_is_clipped():
    rng = np.random.default_rng(0)
    updates = rng.normal(0, 0.05, (10, 200)) + 0.1
    updates[:3] = -updates[:3]
    updates[9] *= 1000
    _, result = aggregate("flame", updates, **{"lambda": 0.0})
    assert (result.weights[:3] == 0).all()
    median = np.median(np.linalg.norm(updates, axis=1))
    assert np.linalg.norm(result.model) <= median


def test_the_noise_is_as_large_as_it_should_be_and_changes_from_round_to_round():
    updates = np.random.default_rng(1).normal(0, 0.1, (5, 10_000))
    median = np.median(np.linalg.norm(updates, axis=1))
    plain, rule = make_rule("flame", **{"lambda": 0.0}), make_rule("flame", **{"lambda": 0.01})
    noises = []
    for index in (1, 1, 2):
        round = Round(np.zeros(10_000), updates, names(5), index)
        noises.append(rule.update(rule.init(), round)[1].model - plain.update(plain.init(), round)[1].model)
    assert noises[0].std() == pytest.approx(0.01 * median, rel=0.03)
    np.testing.assert_array_equal(noises[0], noises[1])
    assert abs(np.corrcoef(noises[0], noises[2])[0, 1]) < 0.05
    other = make_rule("flame", seed=1, **{"lambda": 0.01})
    _, result = other.update(other.init(), Round(np.zeros(10_000), updates, names(5), 1))
    assert abs(np.corrcoef(noises[0], result.model)[0, 1]) < 0.05


def test_clients_that_did_not_move_leave_the_model_where_it_is():
    updates = np.zeros((5, 4))
    _, result = aggregate("flame", updates)
    assert result.model.tolist() == [0.0] * 4
    updates[:2] = [[1.0, 0, 0, 0], [0, 1.0, 0, 0]]
    _, result = aggregate("flame", updates)
    assert result.model.tolist() == [0.0] * 4
    assert np.flatnonzero(result.weights).tolist() == [2, 3, 4]
