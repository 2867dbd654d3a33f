"""How well an attack did, over many victims: areas under ROC curves with their intervals, best guesses, labels."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from eitr.lab.simulation.privacy.view import View

BEST = 3
"""An own page among so many best candidates counts as found."""


@dataclass(frozen=True)
class Guesses:
    """What an attack says about each victim; what it says nothing about is None."""

    view: View
    """The victims, and what is sought of them."""
    own: Tensor | None = None
    """Scores of the own pages (victims, own pages), by an attacker who does not know their labels."""
    others: Tensor | None = None
    """Scores of the pages that are not the victim's (victims, other pages)."""
    own_known: Tensor | None = None
    """As `own`, by an attacker who knows every page's label."""
    others_known: Tensor | None = None
    labels: Tensor | None = None
    """The guessed label of each own page (victims, own pages)."""
    words: Tensor | None = None
    """A score for each word of the vocabulary (victims, words)."""


def measured(guesses: Guesses, words: Tensor) -> dict[str, float]:
    """Return the measures of an attack by name; `words` says which words each page has (pages, words)."""
    sought = guesses.view.candidates[:, : guesses.view.own]
    labels, present = guesses.view.pages.labels[sought], words[sought].any(1)
    found: dict[str, float] = {}
    if guesses.own is not None and guesses.others is not None:
        found |= _with_interval("auc", areas(guesses.own, guesses.others))
        found["best"] = float(among_best(guesses.own, guesses.others).mean())
    if guesses.own_known is not None and guesses.others_known is not None:
        found |= _with_interval("auc_label_known", areas(guesses.own_known, guesses.others_known))
    if guesses.labels is not None:
        right = float((guesses.labels == labels).double().mean())
        found["label"] = right - float(torch.bincount(labels.flatten()).max() / labels.numel())
    if guesses.words is not None:
        found |= _with_interval("words", word_areas(guesses.words, present))
    return found


def among_best(own: Tensor, others: Tensor) -> Tensor:
    """Return how probably each own page is among the best candidates; of those with equal scores, some are named.

    >>> among_best(torch.tensor([[2.0], [0.0]]), torch.tensor([[2.0, 2.0, 2.0, 2.0], [1.0, 1.0, 1.0, -1.0]])).tolist()
    [[0.6], [0.0]]
    """
    all_of_them = torch.cat([own, others], 1).unsqueeze(1)
    better = (all_of_them > own.unsqueeze(2)).sum(2)
    same = (all_of_them == own.unsqueeze(2)).sum(2)
    return ((BEST - better).double() / same).clamp(0.0, 1.0)


def areas(own: Tensor, others: Tensor) -> Tensor:
    """Return the area under the ROC curve of each victim: how often an own page scores above another one.

    >>> areas(torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, 0.0]])).tolist()
    [0.625]
    """
    above = (own.unsqueeze(2) > others.unsqueeze(1)).double()
    same = (own.unsqueeze(2) == others.unsqueeze(1)).double()
    return (above + same / 2).mean((1, 2))


def word_areas(scores: Tensor, present: Tensor) -> Tensor:
    """Return for each victim how often one of its words scores above the same word at a victim without it.

    A word is compared with itself alone, so that knowing which words are frequent gives 0.5. `scores` and `present`
    are (victims, words). Words that all victims have, and victims without words, are left out.

    >>> scores = torch.tensor([[9.0, 1.0], [8.0, 0.0]])
    >>> word_areas(scores, torch.tensor([[True, False], [False, False]])).tolist()
    [1.0]
    """
    found = []
    for mine, has in zip(scores, present, strict=True):
        lacking = ~present[:, has]
        theirs, counts = scores[:, has], lacking.sum(0)
        above = (mine[has] > theirs).double() + (mine[has] == theirs).double() / 2
        shares = (above * lacking).sum(0)[counts > 0] / counts[counts > 0]
        if len(shares):
            found.append(shares.mean())
    return torch.stack(found) if found else scores.new_full((1,), 0.5).double()


def _with_interval(name: str, values: Tensor) -> dict[str, float]:
    """Return the mean over the victims, and half of its 95 % interval."""
    numbers = values.cpu().numpy()
    half = 1.96 * float(np.std(numbers, ddof=1)) / len(numbers) ** 0.5 if len(numbers) > 1 else float("nan")
    return {name: float(numbers.mean()), f"{name}_error": half}
