"""Random words on tensors: the same as one by one, uniform and normal."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

torch = pytest.importorskip("torch", reason="these are words on torch tensors; install eitr[lab]")

from eitr.model import random  # noqa: E402
from eitr.model.torch_random import draw, normal, uniform  # noqa: E402

COUNT = 200_000


def numbers(function, key=5, count=COUNT):
    return function(torch.tensor(key), torch.arange(count)).double().numpy()


def test_words_are_those_of_the_generator_also_at_the_ends_of_its_range():
    keys, counters = (0, 1, 2**31, 2**32 - 1), (0, 1, 12345, 2**32 - 1)
    drawn = draw(torch.tensor(keys)[:, None], torch.tensor(counters))
    assert drawn.tolist() == [[random.draw(key, counter) for counter in counters] for key in keys]


def test_uniform_numbers_lie_strictly_between_0_and_1():
    drawn = numbers(uniform)
    assert 0 < drawn.min() < 1e-4
    assert 1 - 1e-4 < drawn.max() < 1
    assert kstest(drawn, "uniform").pvalue > 0.01


def test_normal_numbers_have_the_moments_and_the_shape_of_the_normal_distribution():
    drawn = numbers(normal)
    assert drawn.mean() == pytest.approx(0, abs=0.01)
    assert drawn.var() == pytest.approx(1, abs=0.01)
    assert (drawn**3).mean() == pytest.approx(0, abs=0.05)
    assert (drawn**4).mean() == pytest.approx(3, abs=0.1)
    assert kstest(drawn, "norm").pvalue > 0.01


def test_a_normal_number_is_the_quantile_of_its_word_and_the_extreme_words_are_finite():
    words = np.array([random.draw(5, counter) for counter in range(1000)])
    assert numbers(normal, count=1000) == pytest.approx(norm.ppf((words + 0.5) / 2**32), rel=1e-6, abs=1e-7)
    least, most = 2462723854, 2715258765  # keys whose first words are the extreme ones
    assert [random.draw(key, 0) for key in (least, most)] == [0, 2**32 - 1]
    extremes = normal(torch.tensor([least, most]), torch.tensor(0)).tolist()
    assert extremes == pytest.approx([norm.ppf(0.5 / 2**32), -norm.ppf(0.5 / 2**32)], rel=1e-6)


def test_the_same_key_gives_the_same_bytes_and_other_keys_something_unrelated():
    first, second, other = numbers(normal), numbers(normal), numbers(normal, key=6)
    assert first.tobytes() == second.tobytes()
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.01
    assert normal(torch.tensor([1, 2])[:, None], torch.arange(3)).shape == (2, 3)
    assert normal(torch.tensor(1), torch.arange(3)).dtype == torch.float32
