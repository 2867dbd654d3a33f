"""Matched filters: how much of each candidate's step, under each label, is in an update.

With A = 1 the score of a step s in an update u is the inner product s'u / |s|: a plain matched filter. What varies
without the page, the cover pages, is made light by A = (C + ridge)^-1: with C the covariance of updates this is the
whitened filter, which is the best linear one; with C = the products of the pool's steps and a small ridge, it is what
is left after a least-squares fit of the pool's pages. Both are one formula, score = s'Au / sqrt(s'As).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from eitr.lab.simulation.privacy.by_label import choose, guesses
from eitr.lab.simulation.privacy.cover_part import ROUNDING, Spectrum, spectrum
from eitr.lab.simulation.privacy.layers import chunks
from eitr.lab.simulation.privacy.measures import Guesses
from eitr.lab.simulation.privacy.training import Pages, Training
from eitr.lab.simulation.privacy.view import Attacker, View

RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Regularisation, in multiples of the mean variance of a parameter."""
POWERS = (0.0, 0.5, 1.0)
"""By which power of its own length a candidate's score is weighed: long steps are easier to see."""

Setting = tuple[float, float]
"""A ridge and a power."""


def matched_filter(attacker: Attacker, real: View) -> Guesses:
    """Guess by the plain inner product with each candidate's step."""
    return _filtered(attacker, real, spectrum(attacker.cover.rows[:0]), (1.0,))


def least_squares(attacker: Attacker, real: View) -> Guesses:
    """Guess by what is left after a least-squares fit with the steps of all pages of the pool."""
    found = attacker.cover.pool_spectrum
    return _filtered(attacker, real, found, (ROUNDING * found.mean_variance or 1.0,))


def whitened_filter(attacker: Attacker, real: View) -> Guesses:
    """Guess with everything that is known about how updates vary: cover pages, noise, the other own pages."""
    others = _other_pages(attacker, attacker.uses)
    found = spectrum(torch.cat([attacker.cover.rows, others])) if len(others) else attacker.cover.spectrum
    return _filtered(attacker, real, found, ridges_for(attacker.training, found))


def difference(attacker: Attacker, real: View) -> Guesses:
    """Guess the page that was added between two updates."""
    found = attacker.cover.spectrum
    attacker = replace(attacker, simulated=attacker.simulated.added)
    return _filtered(attacker, real.added, found, ridges_for(attacker.training, found))


def known_cover(attacker: Attacker, real: View) -> Guesses | None:
    """Guess with the cover pages known, as if there were none: what is left are own pages and noise."""
    if real.parts is None or attacker.simulated.parts is None:
        return None
    found = spectrum(_other_pages(attacker, 1))
    variance = attacker.training.noise**2 / attacker.uses
    attacker = replace(attacker, simulated=replace(attacker.simulated, steps=attacker.simulated.parts))
    ridge = variance or ROUNDING * found.mean_variance or 1.0
    return _filtered(attacker, replace(real, steps=real.parts), found, (ridge,))


def ridges_for(training: Training, found: Spectrum) -> Sequence[float]:
    """Return the ridges to try: the noise is known, the rest stands for what simulations did not show."""
    return [training.noise**2 + share * found.mean_variance or 1.0 for share in RIDGES]


def _other_pages(attacker: Attacker, times: int) -> Tensor:
    """Return rows for the variance of the other own pages, where what a page adds is known exactly.

    Unlike cover pages and noise they are the same in all rounds: beside those of a single round they count `times`.
    """
    simulated = attacker.simulated
    if simulated.parts is None or simulated.own == 1:
        return attacker.cover.rows[:0]
    places = np.unique(simulated.candidates[:, : simulated.own].cpu().numpy())
    rows = attacker.training.templates(simulated.pages.at(torch.from_numpy(places).to(simulated.steps.device)))
    variation: Tensor = (rows - rows.mean(0)) * ((simulated.own - 1) * times / len(rows)) ** 0.5
    return variation


def _filtered(attacker: Attacker, real: View, found: Spectrum, ridges: Sequence[float]) -> Guesses:
    """Choose ridge, power and sharpness on simulated victims, and guess."""
    simulated, prior = attacker.simulated, attacker.prior
    rehearsed, observed = (attacker.centred(view.steps) for view in (simulated, real))
    tried = _of_candidates(attacker, found, ridges, simulated, rehearsed)
    settings = list(tried)
    number, sharpness = choose(simulated, list(tried.values()), prior)
    chosen = settings[number]
    scores = _of_candidates(attacker, found, chosen[:1], real, observed)[chosen]
    words = _scores(attacker, found, chosen[:1], attacker.words, observed)[chosen].permute(2, 0, 1)
    return guesses(simulated, tried[chosen], real, scores, words, prior, sharpness)


def _of_candidates(
    attacker: Attacker, found: Spectrum, ridges: Sequence[float], view: View, observed: Tensor
) -> dict[Setting, Tensor]:
    """Return the scores (victims, candidates, labels); a page that many victims have is computed once."""
    unique, back = np.unique(view.candidates.cpu().numpy(), return_inverse=True)
    places, inverse = (torch.from_numpy(one).to(observed.device) for one in (unique, back))
    inverse = inverse.reshape(view.candidates.shape)
    victims = torch.arange(len(inverse), device=observed.device).unsqueeze(1)
    scores = _scores(attacker, found, ridges, view.pages.inputs[places], observed)
    return {setting: one[inverse, :, victims] for setting, one in scores.items()}


def _scores(
    attacker: Attacker, found: Spectrum, ridges: Sequence[float], inputs: Tensor, observed: Tensor
) -> dict[Setting, Tensor]:
    """Return the scores (pages, labels, victims) of pages in the observed updates."""
    classes, size = attacker.training.layers.classes, attacker.training.layers.size
    seen = found.directions.T @ observed.T
    products = torch.empty(len(ridges), len(inputs), classes, len(observed), device=observed.device)
    squares = torch.empty(len(ridges), len(inputs), classes, device=observed.device)
    for part in chunks(len(inputs), size):
        for label in range(classes):
            labels = torch.full((len(inputs[part]),), label, device=observed.device)
            steps = attacker.training.templates(Pages(inputs[part], labels))
            along, plain = steps @ found.directions, steps @ observed.T
            for number, ridge in enumerate(ridges):
                light = found.variances / (found.variances + ridge)
                products[number, part, label] = (plain - (along * light) @ seen) / ridge
                squares[number, part, label] = ((steps**2).sum(1) - (along**2) @ light) / ridge
    return {
        (ridge, power): scores
        for number, ridge in enumerate(ridges)
        for power, scores in _normalised(products[number], squares[number].clamp_min(0.0).sqrt()).items()
    }


def _normalised(products: Tensor, norms: Tensor) -> dict[float, Tensor]:
    """Return s'Au / sqrt(s'As) by power, of s'Au (pages, labels, victims) and sqrt(s'As) (pages, labels)."""
    # What the cover pages explain wholly has no direction left, and says nothing.
    usable = (norms > ROUNDING * norms.max()).unsqueeze(2)
    units = torch.where(usable, products / norms.clamp_min(1e-30).unsqueeze(2), 0.0)
    units = units / units.std().clamp_min(1e-30)
    shares = (norms / norms.max().clamp_min(1e-30)).unsqueeze(2)
    return {power: units * shares**power for power in POWERS}
