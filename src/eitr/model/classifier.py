"""A model and its vocabulary together: from pages to predictions, with the words that led to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Self

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.model.files import Model, load
from eitr.model.prediction import logit_batches, predict
from eitr.pages import Page, SparseRows, Vocabulary, tokens
from eitr.taxonomy import NAMES


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model makes of a page."""

    label: str
    probabilities: dict[str, float]


@dataclass(frozen=True, slots=True)
class Reason:
    """A word of the page and how much it spoke for the predicted label."""

    word: str
    weight: float
    """How far the log-odds of the predicted label fall without the word; negative where the word spoke against it."""


@dataclass(frozen=True, slots=True)
class Classifier:
    """Classifies pages. `Classifier.shipped()` is the one that comes with the package.

    >>> pages = [Page(title="Living with diabetes", text="Insulin, blood sugar and your doctor's advice")]
    >>> Classifier.shipped().classify(pages)[0].label
    'health'
    """

    model: Model
    vocabulary: Vocabulary

    def __post_init__(self) -> None:
        if self.model.network.inputs != len(self.vocabulary):
            raise InputError(
                f"the model takes {self.model.network.inputs} words, the vocabulary has {len(self.vocabulary)}"
            )

    @classmethod
    def shipped(cls) -> Self:
        """Return the initial model of this package."""
        with as_file(files("eitr").joinpath("assets")) as assets:
            return cls(load(assets / "model.safetensors"), Vocabulary.load(assets / "vocabulary.json"))

    def classify(self, pages: Sequence[Page]) -> list[Prediction]:
        """Return a prediction for each page."""
        return [_prediction(row) for row in self.probabilities(self.vocabulary.rows(pages))]

    def probabilities(self, rows: SparseRows) -> NDArray[np.float32]:
        """Return (rows, classes): the probabilities in the order of the taxonomy."""
        return predict(self.model.network, self.model.vector, rows)

    def reasons(self, page: Page) -> list[Reason]:
        """Return the page's known words, those that spoke most for the predicted label first.

        Of several forms that the model takes for one word, the page's most frequent is named. Each word is left out in
        turn and the page judged again, so a reason is what the model really did. The other words keep their values:
        the vector is not brought back to length 1.
        """
        words = tokens(page.content())
        columns, values = self.vocabulary.vector(words)
        if len(columns) == 0:
            return []
        without = ~np.eye(len(columns), dtype=np.bool_)
        kept = [(columns, values), *((columns[keep], values[keep]) for keep in without)]
        rows = SparseRows.of(kept, width=len(self.vocabulary))
        batches = logit_batches(self.model.network, self.model.vector, rows)
        odds = _log_odds(np.concatenate([logits for _, logits in batches]))
        fall = odds[0] - odds[1:]
        named = self.vocabulary.known(words)
        return [Reason(named[int(columns[place])], float(fall[place])) for place in np.argsort(-fall)]


def _prediction(probabilities: NDArray[np.float32]) -> Prediction:
    numbers = [round(float(number), 6) for number in probabilities]
    return Prediction(NAMES[int(np.argmax(probabilities))], dict(zip(NAMES, numbers, strict=True)))


def _log_odds(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return, for each row, the log-odds of the class that the first row is given.

    From logits, not from probabilities: of a page that is clearly one thing these are all 1, with a word or without.
    """
    label = int(np.argmax(logits[0]))
    others = np.delete(logits.astype(np.float64), label, axis=1)
    return np.asarray(logits[:, label] - np.logaddexp.reduce(others, axis=1))
