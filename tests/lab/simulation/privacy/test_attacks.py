"""Attacks find what is there to find, and nothing where noise hides it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from eitr.lab.runs.privacy import ANY, CORRECTIONS, Defence, PrivacyRun
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.privacy.attacks import ATTACKS
from eitr.lab.simulation.privacy.measures import areas, word_areas
from eitr.lab.simulation.privacy.run import run_all
from eitr.model.private import largest_auc
from tests.lab.simulation.privacy.conftest import ALL_CLIPPED, NO_DEFENCE

HIDDEN = Defence(cover_pages=60)


def test_without_a_defence_an_update_gives_its_page_away(measure):
    found = measure(NO_DEFENCE)
    for attack in ("moved-rows", "subspace"):
        assert found[f"auc.{attack}"] > 0.95, attack
    # Ten epochs are not one step along the page's gradient, which is what filters look for.
    for attack in ("matched-filter", "least-squares", "whitened-filter", "difference"):
        assert found[f"auc.{attack}"] > 0.8, attack
    assert found["best.moved-rows"] > 0.9
    assert found["words.moved-rows"] > 0.99
    assert found["label.label-bias"] > 0.5
    assert "auc.known-cover" not in found


def test_without_noise_cover_pages_hide_little_from_a_whitened_filter(measure):
    found = measure(replace(HIDDEN, noise=0.0, layers=2), choice=CORRECTIONS)
    assert found["auc.whitened-filter"] > 0.9
    assert found["auc.whitened-filter"] > found["auc.matched-filter"]
    assert found["auc.known-cover"] > 0.99
    assert found["auc_label_known.likelihood-ratio"] == 1.0


@pytest.mark.parametrize("own_pages", [1, 4])
@pytest.mark.parametrize("choice", [ANY, CORRECTIONS])
def test_with_the_noise_of_the_default_every_attack_stays_within_the_bound(choice, own_pages, measure):
    found = measure(HIDDEN, choice=choice, own_pages=own_pages, victims=150)
    for attack in ATTACKS:
        for name in ("auc", "auc_label_known"):
            if f"{name}.{attack}" in found:
                error = found[f"{name}_error.{attack}"]
                assert found[f"{name}.{attack}"] < largest_auc(4.0, 1) + 2 * error, (name, attack)
        assert found.get(f"label.{attack}", 0.0) < 0.15, attack


@pytest.mark.parametrize(("noise", "uses"), [(1.0, 1), (2.0, 4)])
def test_the_likelihood_ratio_reaches_the_bound_where_all_gradients_are_cut(noise, uses, measure):
    defence = replace(HIDDEN, clip=ALL_CLIPPED, noise=noise, own_limit=0.0)
    found = measure(defence, own_pages=16, uses=uses, victims=300)
    error = found["auc_label_known_error.likelihood-ratio"]
    assert error < 0.03
    assert found["auc_label_known.likelihood-ratio"] == pytest.approx(largest_auc(noise, uses), abs=2 * error)


def test_averaging_over_rounds_tells_more(measure):
    defence = replace(HIDDEN, noise=2.0)
    once, often = (measure(defence, uses=uses, victims=150)["auc.known-cover"] for uses in (1, 20))
    assert often > once + 0.1


def test_a_cell_does_not_depend_on_those_computed_before_it(examples, start):
    cells = [
        PrivacyRun(data="tiny", start="tiny", defence=replace(NO_DEFENCE, cover_pages=20, layers=1), own_pages=own,
                   victims=10, candidates=30, simulated=20)
        for own in (1, 4)
    ]  # fmt: skip
    cpu = Context(device=torch.device("cpu"))
    *_, after = run_all(cells, examples, start, cpu)
    [alone] = run_all(cells[1:], examples, start, cpu)
    assert after.arrays == alone.arrays


def test_frequency_alone_tells_no_words():
    rng = np.random.default_rng(0)
    frequency = torch.linspace(0.1, 0.9, 50)
    present = torch.from_numpy(rng.random((40, 50))) < frequency
    assert float(areas_of_words(frequency.expand(40, -1), present)) == 0.5
    assert float(areas_of_words(frequency + 0.01 * present, present)) == 1.0


def areas_of_words(scores, present):
    return word_areas(scores, present).mean()


def test_an_area_counts_ties_half():
    assert areas(torch.zeros(2, 3), torch.zeros(2, 4)).tolist() == [0.5, 0.5]
