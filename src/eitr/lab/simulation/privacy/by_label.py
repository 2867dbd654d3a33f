"""From scores for each candidate and label to guesses; every choice is made on the attacker's simulated victims."""

from collections.abc import Sequence

import torch
from torch import Tensor

from eitr.lab.simulation.privacy.measures import Guesses, areas
from eitr.lab.simulation.privacy.view import View

SHARPNESS = (0.3, 1.0, 3.0, 30.0)
"""How much the best label of a candidate counts beside its others: near 0 their mean by prior, large the best alone."""
TRUST = (0.0, 0.1, 0.3, 1.0, 3.0, 30.0)
"""How much a score counts beside the prior when a label is guessed; 0: the most frequent label."""


def over_labels(scores: Tensor, prior: Tensor, sharpness: float) -> Tensor:
    """Return one score of scores (..., labels): the soft maximum, with the labels' prior."""
    return torch.logsumexp(sharpness * scores + prior, -1) / sharpness


def of_true_label(view: View, scores: Tensor) -> Tensor:
    """Return the scores (victims, candidates) under each candidate's true label."""
    return scores.gather(2, view.labels().unsqueeze(2)).squeeze(2)


def choose(simulated: View, options: Sequence[Tensor], prior: Tensor) -> tuple[int, float]:
    """Return which option of scores (victims, candidates, labels), with which sharpness, tells most pages."""
    tried = {
        (number, sharpness): float(areas(*simulated.split(over_labels(scores, prior, sharpness))).mean())
        for number, scores in enumerate(options)
        for sharpness in SHARPNESS
    }
    return max(tried, key=lambda setting: tried[setting])


def guesses(
    simulated: View,
    simulated_scores: Tensor,
    real: View,
    scores: Tensor,
    words: Tensor,
    prior: Tensor,
    sharpness: float,
) -> Guesses:
    """Return what is guessed of scores (victims, candidates, labels) and, for words, (victims, words, labels)."""
    truth = simulated.labels()[:, : simulated.own]

    def guessed(found: Tensor, trust: float) -> Tensor:
        return (trust * found + prior).argmax(-1)

    trust = max(
        TRUST, key=lambda one: float((guessed(simulated_scores[:, : simulated.own], one) == truth).double().mean())
    )
    own, others = real.split(over_labels(scores, prior, sharpness))
    own_known, others_known = real.split(of_true_label(real, scores))
    return Guesses(
        view=real,
        own=own,
        others=others,
        own_known=own_known,
        others_known=others_known,
        labels=guessed(scores[:, : real.own], trust),
        words=over_labels(words, prior, sharpness),
    )
