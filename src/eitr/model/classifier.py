"""A model and its vocabulary together: from pages to predictions, with the words that led to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from eitr.errors import InputError
from eitr.model.answer import CannotTell, answer
from eitr.model.files import Model, load
from eitr.model.prediction import logit_batches, predict
from eitr.pages import Page, SparseRows, Vocabulary
from eitr.pages.sparse import Row
from eitr.taxonomy import NAMES, NON_SENSITIVE

MAX_REASONS = 8
MIN_WEIGHT = 0.01
"""A word that moves the log-odds by less is no reason."""
MAX_TRIED = 40
"""Of a long page, so many words are tried as reasons: the lightest decide nothing."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model makes of a page.

    There are three answers: a topic (`shown`), that the model cannot tell (`cannot_tell`), or else "not sensitive".
    """

    label: str
    """The most probable class, however probable it is."""
    probabilities: dict[str, float]
    shown: str | None
    """The sensitive topic that the extension would show with its default settings."""
    cannot_tell: CannotTell | None
    """Why the model cannot tell what the page is about, if so."""
    known_words: int
    """How many different words of the vocabulary the page has; forms of one word count once."""
    language: str
    """One of `eitr.pages.language.LANGUAGES`, "other", "foreign" or "unknown"."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A word of the page and how much it spoke for the predicted label."""

    word: str
    weight: float
    """How far the log-odds of the predicted label fall without the word."""


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
            return cls.load(assets)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the classifier of a folder with the files `model.safetensors` and `vocabulary.json`."""
        return cls(load(folder / "model.safetensors"), Vocabulary.load(folder / "vocabulary.json"))

    def classify(self, pages: Sequence[Page]) -> list[Prediction]:
        """Return a prediction for each page."""
        languages: list[str] = []
        vectors: list[Row] = []
        for page in pages:
            language, words = self.vocabulary.read(page)
            languages.append(language)
            vectors.append(self.vocabulary.vector(words))
        chances = self.probabilities(SparseRows.of(vectors, width=len(self.vocabulary))).tolist()
        return [
            _prediction(row, language, len(columns))
            for row, language, (columns, _) in zip(chances, languages, vectors, strict=True)
        ]

    def probabilities(self, rows: SparseRows) -> NDArray[np.float32]:
        """Return (rows, classes): the probabilities in the order of the taxonomy."""
        return predict(self.model.network, self.model.vector, rows)

    def reasons(self, page: Page) -> list[Reason]:
        """Return the words that spoke for the predicted label, at most eight, those that spoke most first.

        Each of the page's heaviest words is left out in turn and the page judged again, so a reason is what the model
        really did. The other words keep their values: the vector is not brought back to length 1. Words that only stand
        in menus, banners and notices are none, as they do not count. Of several forms that the model takes for one
        word, the page's most frequent is named. `extension/src/core/leading_words.ts` computes the same.
        """
        words = self.vocabulary.read(page).tokens
        columns, values = self.vocabulary.vector(words)
        tried = np.argsort(-values, kind="stable")[:MAX_TRIED]
        kept = [(columns, values), *((np.delete(columns, place), np.delete(values, place)) for place in tried)]
        rows = SparseRows.of(kept, width=len(self.vocabulary))
        batches = logit_batches(self.model.network, self.model.vector, rows)
        odds = _log_odds(np.concatenate([logits for _, logits in batches]))
        named = self.vocabulary.known(words)
        reasons = [
            Reason(named[int(columns[place])], float(fall))
            for place, fall in zip(tried, odds[0] - odds[1:], strict=True)
            if fall >= MIN_WEIGHT
        ]
        return sorted(reasons, key=lambda reason: -reason.weight)[:MAX_REASONS]


def _prediction(probabilities: list[float], language: str, known_words: int) -> Prediction:
    numbers = [round(number, 6) for number in probabilities]
    topic, cannot_tell = answer(numbers, language, known_words)
    return Prediction(
        label=NAMES[numbers.index(max(numbers))],
        probabilities=dict(zip(NAMES, numbers, strict=True)),
        shown=None if topic is None or topic == NON_SENSITIVE else NAMES[topic],
        cannot_tell=cannot_tell,
        known_words=known_words,
        language=language,
    )


def _log_odds(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return, for each row, the log-odds of the class that the first row is given.

    From logits, not from probabilities: of a page that is clearly one thing these are all 1, with a word or without.
    """
    label = int(np.argmax(logits[0]))
    others = np.delete(logits.astype(np.float64), label, axis=1)
    return np.asarray(logits[:, label] - np.logaddexp.reduce(others, axis=1))
