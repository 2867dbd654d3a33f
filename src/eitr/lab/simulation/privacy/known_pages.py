"""Known pages, unknown labels: what the server of a study reads in updates on the pages that it gave out.

The server knows the pages of a participant, the model, the defence and the pool. It averages the updates of all rounds
in which the pages were used, subtracts what cover pages are expected to add, and looks for the labels that explain the
rest best: u = scale * sum_i t_i(label_i) + noise, where t_i(l) is the step of page i under label l. Starting from what
it believes without the update, it changes the label of one page after the other, as long as that is more probable.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitr.lab.runs.privacy import LabelRun
from eitr.lab.simulation.privacy.cover_part import Spectrum, spectrum
from eitr.lab.simulation.privacy.training import Pages, Training

RIDGES = (1e-3, 1e-1)
"""Regularisation, in multiples of the mean variance of a parameter."""
TRUST = (0.0, 0.1, 0.3, 1.0, 3.0, 30.0)
"""How much an update counts beside what is believed without it; 0: nothing."""
SWEEPS = 3
RELAXATION = 0.01
"""How much a label that is not mixed counts in the least squares, in multiples of a page's own square."""
SIMULATED = 100
"""Victims on which the attacker chooses its settings, at most."""


@dataclass(frozen=True)
class Study:
    """How participants train, and what the attacker knows of it."""

    training: Training
    """How updates are made."""
    templates: Training
    """The same, of the layers that the attacker looks at."""
    pages: Pages
    looked_at: Pages
    """The same pages, as the layers see them that the attacker looks at."""


@dataclass(frozen=True)
class Victims:
    """Participants of whom the server knows everything but the labels."""

    labels: Tensor
    """What they chose (victims, pages)."""
    products: Tensor
    """Inner products of the steps of all pages under all labels with the update (victims, pages * labels)."""
    squares: Tensor
    """Inner products of these steps with each other (victims, pages * labels, pages * labels)."""
    lengths: Tensor
    """As `squares`, not whitened: by them the sum of all own pages' steps is cut."""
    beliefs: dict[str, Tensor]
    """Logarithms of probabilities of labels (victims, pages, labels) without the update, by name."""


def read_labels(
    run: LabelRun, study: Study, train: NDArray[np.int64], test: NDArray[np.int64], rng: np.random.Generator
) -> dict[str, float]:
    """Return how often labels are right beyond what is known without updates, with intervals over the victims.

    `label` is compared with always naming the most frequent label; `label_page` with the classifier's opinion.
    """
    simulated = _drawn(run, study, train, min(run.victims, SIMULATED), rng)
    real = _drawn(run, study, test, run.victims, rng)
    expected, rows = study.training.cover(run.victims)
    # In the mean of several rounds, cover pages and noise vary less.
    start = study.training.layers.size - study.templates.layers.size
    found = spectrum(rows[:, start:] / run.uses**0.5)
    seen = [_seen(study, run, one, expected) for one in (simulated, real)]
    ridges = _ridges(run, study, found, seen[0])
    tried, asked = (_victims(run, study, *one, found, ridges) for one in zip((simulated, real), seen, strict=True))
    options = [
        (number, trust, relaxed) for number in range(len(ridges)) for trust in TRUST for relaxed in (False, True)
    ]
    numbers: dict[str, float] = {}
    for belief, name in (("share", "label"), ("page", "label_page")):
        chosen = max(options, key=lambda one: float(_right(study, tried[one[0]], belief, *one[1:]).mean()))
        right = _right(study, asked[chosen[0]], belief, *chosen[1:])
        before = _right(study, asked[0], belief, 0.0, False)
        gained = (right - before).cpu().numpy()
        numbers[f"{name}.known-pages"] = float(gained.mean())
        numbers[f"{name}_error.known-pages"] = 1.96 * float(gained.std(ddof=1)) / len(gained) ** 0.5
        numbers[f"{name}_without_update"] = float(before.mean())
    return numbers


@dataclass(frozen=True)
class Drawn:
    """Which pages participants were given (victims, pages), and the labels that they chose."""

    places: Tensor
    labels: Tensor


def _drawn(run: LabelRun, study: Study, places: NDArray[np.int64], count: int, rng: np.random.Generator) -> Drawn:
    device, classes = study.training.model.device, study.training.layers.classes
    drawn = torch.from_numpy(np.stack([rng.choice(places, run.pages, replace=False) for _ in range(count)])).to(device)
    own = torch.from_numpy(rng.random(drawn.shape) < run.opinion).to(device)
    any_class = torch.from_numpy(rng.integers(classes, size=drawn.shape)).to(device)
    return Drawn(drawn, torch.where(own, any_class, study.pages.labels[drawn]))


def _seen(study: Study, run: LabelRun, drawn: Drawn, expected: Tensor) -> Tensor:
    """Let participants train in all rounds, and return the part of the mean update that the attacker looks at."""
    steps, _ = study.training.observed(Pages(study.pages.inputs[drawn.places], drawn.labels), run.uses)
    return (steps - expected)[:, -study.templates.layers.size :]


def _ridges(run: LabelRun, study: Study, found: Spectrum, seen: Tensor) -> list[float]:
    """Return the ridges to try; where neither noise nor cover pages vary, shares of what an update has."""
    if study.training.noise or len(found.variances):
        return [study.training.noise**2 / run.uses + share * found.mean_variance for share in RIDGES]
    return [share * float((seen**2).mean()) for share in RIDGES]


def _victims(
    run: LabelRun, study: Study, drawn: Drawn, seen: Tensor, found: Spectrum, ridges: Sequence[float]
) -> list[Victims]:
    """Return what is known of participants, once for each ridge."""
    parts = [_products(study, places, one, found, ridges) for places, one in zip(drawn.places, seen, strict=True)]
    classes = study.training.layers.classes
    beliefs = {"share": _shares(drawn.labels, classes), "page": _opinions(run, study, drawn.places)}
    return [
        Victims(
            drawn.labels,
            torch.stack([part[0][number] for part in parts]),
            torch.stack([part[1][number] for part in parts]),
            torch.stack([part[2] for part in parts]),
            beliefs,
        )
        for number in range(len(ridges))
    ]


def _products(
    study: Study, places: Tensor, seen: Tensor, found: Spectrum, ridges: Sequence[float]
) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Return, for one victim and each ridge, the whitened inner products; and the plain ones of the steps."""
    classes = study.templates.layers.classes
    inputs = study.looked_at.inputs[places].repeat_interleave(classes, 0)
    labels = torch.arange(classes, device=places.device).repeat(len(places))
    steps = study.templates.templates(Pages(inputs, labels))
    along, towards, plain = steps @ found.directions, found.directions.T @ seen, steps @ steps.T
    products, squares = [], []
    for ridge in ridges:
        light = found.variances / (found.variances + ridge)
        products.append((steps @ seen - (along * light) @ towards) / ridge)
        squares.append((plain - (along * light) @ along.T) / ridge)
    return products, squares, plain


def _shares(labels: Tensor, classes: int) -> Tensor:
    """Return what is believed about a page of which only the shares of labels are known."""
    counts = torch.bincount(labels.flatten(), minlength=classes) + 1.0
    return (counts / counts.sum()).log().expand(*labels.shape, -1)


def _opinions(run: LabelRun, study: Study, places: Tensor) -> Tensor:
    """Return what is believed about a page that the classifier has judged."""
    logits = study.training.layers.logits(study.training.model, study.pages.inputs[places])
    chances = torch.softmax(logits, -1)
    return ((1 - run.opinion) * chances + run.opinion / chances.shape[-1]).clamp_min(1e-6).log()


def _right(study: Study, victims: Victims, belief: str, trust: float, relaxed: bool) -> Tensor:
    """Return the share of labels that are guessed for each victim."""
    guessed = _guessed(study, victims, victims.beliefs[belief], trust, relaxed)
    return (guessed == victims.labels).double().mean(1)


def _guessed(study: Study, victims: Victims, belief: Tensor, trust: float, relaxed: bool) -> Tensor:
    """Return the most probable labels that changing one after the other finds (victims, pages).

    The start is what is believed without the update or, `relaxed`, the least squares of labels that may be mixed.
    """
    count, pages, classes = belief.shape
    guessed = belief.argmax(-1)
    if not trust:
        return guessed
    everyone = torch.arange(count, device=belief.device)
    if relaxed:
        guessed = _relaxed(study, victims, belief).view(count, pages, classes).argmax(-1)
    squares = victims.squares.diagonal(dim1=1, dim2=2).view(count, pages, classes)
    for _ in range(SWEEPS):
        chosen = torch.nn.functional.one_hot(guessed, classes).to(victims.products.dtype).flatten(1)
        scale = _scale(study, victims, chosen)
        total = torch.einsum("vij,vj->vi", victims.squares, chosen)
        for page in range(pages):
            mine = slice(page * classes, (page + 1) * classes)
            total -= victims.squares[everyone, page * classes + guessed[:, page]]
            gain = scale * (victims.products[:, mine] - scale * total[:, mine]) - scale**2 * squares[:, page] / 2
            guessed[:, page] = (trust * gain + belief[:, page]).argmax(1)
            total += victims.squares[everyone, page * classes + guessed[:, page]]
    return guessed


def _relaxed(study: Study, victims: Victims, belief: Tensor) -> Tensor:
    """Return how much of each page's label is in the update (victims, pages * labels), near the belief where unsure."""
    prior = belief.exp().flatten(1).to(victims.products.dtype)
    scale = _scale(study, victims, prior).unsqueeze(2).clamp_min(1e-12)
    squares, products = scale**2 * victims.squares, scale.squeeze(2) * victims.products
    ridge = RELAXATION * squares.diagonal(dim1=1, dim2=2).mean(1)[:, None, None]
    unit = torch.eye(prior.shape[1], device=prior.device, dtype=prior.dtype)
    left = products - torch.einsum("vij,vj->vi", squares, prior)
    moved: Tensor = prior + torch.linalg.solve(squares + ridge.clamp_min(1e-12) * unit, left)
    return moved


def _scale(study: Study, victims: Victims, chosen: Tensor) -> Tensor:
    """Return by what the sum of the steps is multiplied in the update (victims, 1): known exactly, or fitted."""
    exact = study.training.exact
    if exact is not None:
        if not exact.defence.own_limit:
            return torch.ones(len(chosen), 1, device=chosen.device)
        lengths = torch.einsum("vi,vij,vj->v", chosen, victims.lengths, chosen).clamp_min(1e-30).sqrt()
        cut: Tensor = (exact.defence.own_limit * exact.reach / lengths).clamp_max(1.0).unsqueeze(1)
        return cut
    along = (chosen * victims.products).sum(1)
    square = torch.einsum("vi,vij,vj->v", chosen, victims.squares, chosen).clamp_min(1e-30)
    return (along / square).clamp_min(0.0).unsqueeze(1)
