"""Evaluate a model on labelled pages: the numbers of the model card."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from eitr.initial.corpus import Labelled
from eitr.initial.fit import vectors
from eitr.model import Network, Vector, predict
from eitr.pages.vocabulary import Vocabulary
from eitr.taxonomy import NAMES

BINS = 10


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Numbers about one model and one set of pages."""

    pages: int
    accuracy: float
    macro_recall: float
    """The mean of the recalls of the classes that occur."""
    recall: dict[str, float]
    """Of each class that occurs."""
    confidence: float
    """The mean probability of the class that was predicted."""
    calibration_error: float
    """Expected difference between confidence and accuracy, in ten bins of equal width."""

    def as_json(self) -> dict[str, object]:
        """Return the numbers, rounded, for a file."""
        return {
            key: {name: round(share, 4) for name, share in value.items()}
            if isinstance(value, dict)
            else round(value, 4)
            for key, value in asdict(self).items()
        }


def evaluate(network: Network, vector: Vector, vocabulary: Vocabulary, pages: Sequence[Labelled]) -> Evaluation:
    """Return how well a model predicts the labels of pages."""
    probabilities = predict(network, vector, vectors(vocabulary, [page.words for page in pages]))
    return evaluate_probabilities(probabilities, np.array([page.label for page in pages], np.int64))


def evaluate_probabilities(probabilities: NDArray[np.float32], labels: NDArray[np.int64]) -> Evaluation:
    """Compare predicted probabilities, shape (pages, classes), with the true classes."""
    right = probabilities.argmax(axis=1) == labels
    confidence = probabilities.max(axis=1).astype(np.float64)
    recall = {name: float(right[labels == label].mean()) for label, name in enumerate(NAMES) if (labels == label).any()}
    return Evaluation(
        pages=len(labels),
        accuracy=float(right.mean()),
        macro_recall=float(np.mean(list(recall.values()))),
        recall=recall,
        confidence=float(confidence.mean()),
        calibration_error=_calibration_error(confidence, right),
    )


def _calibration_error(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(confidence[bins == place].sum() - right[bins == place].sum()) for place in np.unique(bins)]
    return float(sum(gaps) / len(right))
