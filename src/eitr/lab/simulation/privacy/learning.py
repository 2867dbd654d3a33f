"""What a defence costs: the accuracy after many rounds of honest clients, and how many corrections are learned."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitr.lab.simulation.privacy.layers import TrainedLayers
from eitr.lab.simulation.privacy.training import Pages, Training
from eitr.model.round_plan import FULL_STEP

CLIENTS, EACH = 10, 4
"""Participants of a round, and own pages of each."""
ROUNDS = 40
CORRECTION_ROUNDS = 10

TrainingOf = Callable[[Tensor], Training]
"""Returns how clients train a model."""


def after_rounds(training_of: TrainingOf, model: Tensor, pages: Pages, places: NDArray[np.int64], seed: int) -> Tensor:
    """Return the model after 40 rounds: the mean of ten updates, each with four pages that are new in every round."""
    rng = np.random.default_rng((seed, 2))
    for _ in range(ROUNDS):
        drawn = rng.choice(places, (CLIENTS, EACH))
        model = _round(training_of, model, pages.at(torch.from_numpy(drawn).to(model.device)))
    return model


def corrections_learned(
    training_of: TrainingOf, model: Tensor, pages: Pages, wrong: NDArray[np.int64], seed: int
) -> float:
    """Return the share of corrected pages that are right after ten rounds in which ten people correct four each."""
    if len(wrong) < CLIENTS * EACH:
        return float("nan")
    drawn = np.random.default_rng((seed, 3)).choice(wrong, (CLIENTS, EACH), replace=False)
    theirs = pages.at(torch.from_numpy(drawn).to(model.device))
    layers = training_of(model).layers
    for _ in range(CORRECTION_ROUNDS):
        model = _round(training_of, model, theirs)
    return accuracy(layers, model, Pages(theirs.inputs.flatten(0, 1), theirs.labels.flatten()))


def accuracy(layers: TrainedLayers, model: Tensor, pages: Pages) -> float:
    """Return the share of the pages whose most probable class is theirs."""
    return float(right(layers, model, pages).double().mean())


def right(layers: TrainedLayers, model: Tensor, pages: Pages) -> Tensor:
    """Return for each page whether its most probable class is its own."""
    return layers.logits(model, pages.inputs).argmax(-1) == pages.labels


def _round(training_of: TrainingOf, model: Tensor, own: Pages) -> Tensor:
    training = training_of(model)
    step = training.updates(own)[0].mean(0) - training.subtracted
    deviation = training.defence.published_noise * training.reach / len(own.labels)
    step += deviation * torch.randn(step.shape, device=step.device, generator=training.generator)
    return model + (step if training.exact is None else step * min(1.0, len(own.labels) / FULL_STEP))
