"""Evaluate a global model: accuracy, accuracy of each class, and how well the attacks succeed."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eitr.errors import InputError
from eitr.lab.runs.image import Flip, PixelBackdoor
from eitr.lab.simulation.images.batches import ImagePreparation
from eitr.lab.simulation.images.poison import class_number
from eitr.lab.simulation.images.resnet import ResNet18, load_vector
from eitr.lab.simulation.images.training import arithmetic

AT_ONCE = 500
"""Test pictures in one go."""


class Score(NamedTuple):
    """One model, measured on the test pictures."""

    accuracy: float
    class_accuracy: NDArray[np.float64]
    """(classes,): NaN for a class without test pictures."""
    success: dict[str, float]
    """By attack: the share of its test pictures that are given its target."""


class Evaluator:
    """Measures models; on CPU in float32, on a GPU with the arithmetic of training."""

    def __init__(
        self,
        preparation: ImagePreparation,
        test: NDArray[np.int64],
        labels: NDArray[np.int64],
        classes: tuple[str, ...],
        width: int,
    ) -> None:
        """Take the numbers of the test pictures and the labels of all pictures."""
        if len(test) == 0:
            raise InputError("there are no test pictures")
        device = preparation.pixels.device
        self._preparation, self._classes = preparation, classes
        self._model = ResNet18(width, len(classes), device).eval()
        self._test = torch.from_numpy(test).to(device)
        self._labels = torch.from_numpy(labels[test]).to(device)

    def score(self, vector: Tensor, probes: tuple[Flip | PixelBackdoor, ...]) -> Score:
        """Measure a model, and the success of these attacks on it."""
        load_vector(self._model, vector)
        called = self._called(self._test)
        right = called == self._labels
        many = len(self._classes)
        of_class = torch.bincount(self._labels, minlength=many).double()
        per_class = torch.bincount(self._labels[right], minlength=many).double() / of_class
        success = {probe.name: self._success(probe, called) for probe in probes}
        return Score(float(right.double().mean()), per_class.cpu().numpy(), success)

    def _success(self, probe: Flip | PixelBackdoor, called: Tensor) -> float:
        target = class_number(self._classes, probe.target)
        if isinstance(probe, Flip):
            called = called[self._labels == class_number(self._classes, probe.source)]
        else:
            called = self._called(self._test[self._labels != target], triggered=True)
        return float((called == target).double().mean())

    @torch.inference_mode()
    def _called(self, pictures: Tensor, *, triggered: bool = False) -> Tensor:
        """Return the class that the model gives each picture."""
        with arithmetic(pictures.device):
            shown = (self._preparation.plain(some, triggered=triggered) for some in torch.split(pictures, AT_ONCE))
            return torch.cat([self._model(some).argmax(1) for some in shown])
