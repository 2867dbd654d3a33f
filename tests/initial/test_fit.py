from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eitr.initial.classifier import choose_vocabulary, headlines_and_pages
from eitr.initial.fit import Recipe, fit
from eitr.initial.material import material
from eitr.initial.sources import for_training, read_sources
from eitr.model import Vector

QUICK = Recipe(pages=300, rates=(0.3, 0.3), averaged=1, further_rates=(0.1, 0.1))


def trained(folder: Path, recipe: Recipe, *, real: bool = True) -> Vector:
    rows, sources = headlines_and_pages(for_training(read_sources(folder)))
    vocabulary = choose_vocabulary(rows, sources)
    return fit(
        vocabulary,
        rows,
        material(),
        sources=sources if real else None,
        recipe=recipe,
        seed=1,
        progress=lambda _: None,
    )


def test_the_model_is_the_mean_of_two_trainings(toy_sources: Path) -> None:
    first, further, mean = (trained(toy_sources, replace(QUICK, first_share=share)) for share in (1.0, 0.0, 0.25))
    assert np.abs(first - further).max() > 0.01
    assert mean == pytest.approx(0.25 * first + 0.75 * further, abs=1e-6)


def test_without_real_pages_there_is_one_training(toy_sources: Path) -> None:
    one, other = [trained(toy_sources, replace(QUICK, first_share=share), real=False) for share in (0.0, 0.5)]
    assert (one == other).all()
