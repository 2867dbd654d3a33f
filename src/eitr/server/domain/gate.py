"""The last check before a model is published: how far along a round's step the validation pages let it go.

A model is compared with the first and with the best version that the same pages have judged, in all and for each
class. Compared with the version before it alone, small losses would add up. A step that loses too much is shortened.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from eitr.datasets.validation import Score, ValidationSet
from eitr.model import Vector
from eitr.server.db.tables import RoundRow, RoundStatus

SHORTER = (0.5, 0.25, 0.125)
"""The parts of a step that are tried if the whole of it loses too much."""
FEWEST_PAGES = 20
"""A class with fewer validation pages is not judged alone: one page more or less would decide."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a round's step."""

    model: Vector
    length: float
    """How much of the step the model was moved by; 1 if it is not to be published."""
    before: Score
    after: Score
    reason: str | None
    """Why the model must not be published; None if it may."""
    pages: str
    """The digest of the validation pages."""

    @property
    def document(self) -> dict[str, Any]:
        """What is stored with the round."""
        before, after = asdict(self.before), asdict(self.after)
        return {"before": before, "after": after, "length": self.length, "pages": self.pages}


@dataclass(frozen=True, slots=True)
class Gate:
    """Judges models by validation pages."""

    pages: ValidationSet
    margin: float
    """How much accuracy a model may lose, over all pages; at least one page."""
    class_margin: float
    """... and over those of any class."""

    def references(self, session: Session) -> list[Score]:
        """Return the scores of the first and of the best version that these pages have judged; none before."""
        ended = session.execute(select(RoundRow.status, RoundRow.score).order_by(RoundRow.id))
        judged = [(status, score) for status, score in ended if score and score.get("pages") == self.pages.digest]
        scores = [_score(score["before"]) for _, score in judged[:1]]
        scores += [_score(score["after"]) for status, score in judged if status == RoundStatus.PUBLISHED]
        return [scores[0], max(scores, key=lambda score: score.accuracy)] if scores else []

    def judge(
        self, base: Vector, target: Vector, score: Callable[[Vector], Score], references: list[Score]
    ) -> Judgement:
        """Return the model that may be published, as near to the target as possible; or why none may."""
        before = score(base)
        whole = self._tried(base, target, 1.0, before, score, references)
        if whole.reason is None:
            return whole
        shorter = (self._tried(base, target, length, before, score, references) for length in SHORTER)
        return next((found for found in shorter if found.reason is None), whole)

    def _tried(
        self,
        base: Vector,
        target: Vector,
        length: float,
        before: Score,
        score: Callable[[Vector], Score],
        references: list[Score],
    ) -> Judgement:
        model = target if length == 1 else base + np.float32(length) * (target - base)
        after = score(model)
        return Judgement(model, length, before, after, self._loss(before, after, references), self.pages.digest)

    def _loss(self, before: Score, after: Score, references: list[Score]) -> str | None:
        """Return what a model loses that it must not lose.

        A base that is itself below the limit, because the operator went back to it, need not be improved at once.
        """
        for known in references or [before]:
            limit = known.accuracy - max(self.margin, 1 / sum(self.pages.counts.values()))
            if after.accuracy < min(limit, before.accuracy) - 1e-9:
                return (
                    f"accuracy on the validation pages would fall from {known.accuracy:.3f} to {after.accuracy:.3f}, "
                    f"by more than {self.margin:g}"
                )
            for name, share in known.by_class.items():
                limit = share - max(self.class_margin, 1 / self.pages.counts[name])
                if (
                    self.pages.counts[name] >= FEWEST_PAGES
                    and after.by_class[name] < min(limit, before.by_class[name]) - 1e-9
                ):
                    return (
                        f"accuracy on the validation pages about {name} would fall from {share:.3f} to "
                        f"{after.by_class[name]:.3f}, by more than {self.class_margin:g}"
                    )
        return None


def _score(stored: Mapping[str, Any]) -> Score:
    return Score(stored["accuracy"], stored["by_class"])
