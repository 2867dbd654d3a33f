"""The last check before a model is published: how far along a round's step the validation pages let it go.

A model is compared, page by page, with the first and with the best version: over all pages, as the mean over classes,
in each class, and over the half of the pages that the rule has not seen. Compared with the version before it alone,
small losses would add up. A step that loses too much is shortened, or loses the part that does harm.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from eitr.datasets.validation import Right, Score, ValidationSet
from eitr.model import Network, Vector
from eitr.model.round_plan import RoundPlan
from eitr.pages.vocabulary import Vocabulary
from eitr.server.db.tables import ModelRow, RoundRow, VocabularyRow
from eitr.server.domain.candidates import Decision
from eitr.server.domain.paired_test import Measure
from eitr.server.domain.step_correction import without_harm
from eitr.taxonomy import TOPICS

LENGTHS = (1.0, 0.75, 0.5, 0.375, 0.25, 0.125, 0.0625)
"""How much of a step is tried, until the validation pages allow it."""
FEWEST_PAGES = 20
"""A class with fewer validation pages is not judged alone: one page more or less would decide."""
LEVEL = 0.05
"""A loss that chance explains less often is refused, however small. Over all classes together it is the same."""
GRID = 64
"""Weights of pages in the mean over classes are multiples of 1 / 64 of a page of the largest class."""
MOST_NAMED = 3
"""So many losses are named in a reason: the least probable ones."""
_FORCED = select(RoundRow.result).where(RoundRow.decision == Decision.PUBLISHED_ANYWAY)
"""The versions that an operator published although they lost accuracy."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A published version that models are compared with."""

    version: int
    right: Right


@dataclass(frozen=True, slots=True)
class References:
    """What a model is compared with."""

    newest: int
    """All versions up to this one were looked at."""
    first: Reference
    best: Reference
    accepted: Reference | None
    """The last version that an operator chose: by a roll back, or by publishing it although it lost accuracy."""


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
    best: int
    """The best version so far."""
    newest: int
    """The newest version that might have been the best."""
    corrected: bool = False
    """Whether the part of the step was left out that works against the pages which the rule sees."""

    @property
    def document(self) -> dict[str, Any]:
        """What is stored with the round."""
        return {
            "before": asdict(self.before),
            "after": asdict(self.after),
            "length": self.length,
            "corrected": self.corrected,
            "pages": self.pages,
            "best": self.best,
            "newest": self.newest,
        }


@dataclass(frozen=True)
class Gate:
    """Judges models by validation pages."""

    pages: ValidationSet
    margin: float
    """How much accuracy a model may lose, over all pages and as the mean over classes; at least one page."""
    class_margin: float
    """... and over the pages of any class."""
    strictness: float = 1.0
    """What both are multiplied by, unless they allow any loss."""

    def stricter(self, share: float) -> "Gate":
        """Return a gate that allows only a share of the losses."""
        return replace(self, strictness=share)

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """What must not be lost, the most telling first."""
        labels, hidden = self.pages.labels, ~self.pages.shown
        allowed, allowed_of_class = (
            one if one >= 1 else one * self.strictness for one in (self.margin, self.class_margin)
        )
        settings = self._named("EITR_MARGIN", self.margin), self._named("EITR_CLASS_MARGIN", self.class_margin)
        counts = np.bincount(labels, minlength=len(TOPICS))
        judged = [label for label in range(len(TOPICS)) if counts[label] >= FEWEST_PAGES]
        found = []
        for label in judged:
            mine = np.asarray(labels == label, np.int64)
            found.append(Measure(TOPICS[label].title, mine, allowed_of_class, settings[1], LEVEL / len(judged)))
        every = np.ones(len(labels), np.int64)
        found.append(Measure("Accuracy over all pages", every, allowed, settings[0], LEVEL))
        if hidden.sum() >= FEWEST_PAGES:
            # As many pages as over all: of half as many, the same share would be lost by chance more often.
            margin = min(1.0, allowed * len(labels) / int(hidden.sum()))
            title = "Accuracy over the pages that the rule does not see"
            found.append(Measure(title, np.asarray(hidden, np.int64), margin, settings[0], LEVEL))
        if judged:
            weights = np.zeros(len(TOPICS), np.int64)
            weights[judged] = np.rint(GRID * counts.max() / counts[judged])
            found.append(Measure("The mean over classes", weights[labels], allowed, settings[0], LEVEL))
        return tuple(found)

    def _named(self, setting: str, value: float) -> str:
        """Return where a margin comes from, in words."""
        if self.strictness == 1:
            return f"{setting}={value:g}"
        return f"{self.strictness:g} times {setting}={value:g} (few took part who are established)"

    def references(self, session: Session) -> References:
        """Return the versions that new models are compared with, and how they answer today's validation pages.

        The best is the one that gets most pages right, the earliest of several. A version that an operator published
        although it lost accuracy is not among them.
        """
        answers = _Answers(session, self.pages)
        forced, chosen = set(session.scalars(_FORCED)), accepted_version(session)
        versions = session.scalars(select(ModelRow.version).order_by(ModelRow.version)).all()
        first = answers.of(versions[0])
        if first is None:
            raise LookupError("the weights of the first version are missing, which is always kept")
        best, seen = first, first.version
        last = last_score(session)
        if last is not None and last["pages"] == self.pages.digest and (known := answers.of(last["best"])):
            best, seen = known, last["newest"]
        for version in versions:
            if version > seen and version not in forced:
                other = answers.of(version)
                if other is not None and other.right.sum() > best.right.sum():
                    best = other
        return References(versions[-1], first, best, None if chosen is None else answers.of(chosen))

    def refusal(self, before: Right, after: Right, references: References) -> str | None:
        """Return why a model must not be published that answers so, in place of one that answered so; None if it may.

        Unlike a step, it is published whole or not at all.
        """
        losses = list(self._losses(before, after, references))
        return self._reason(losses, after, references) if losses else None

    def judge_step(
        self,
        network: Network,
        vocabulary: Vocabulary,
        base: Vector,
        target: Vector,
        plan: RoundPlan,
        references: References,
        lengths: Sequence[float] = LENGTHS,
    ) -> Judgement:
        """Return the model that may be published, as near to the target as possible; or why none may."""
        return self.judge(
            base,
            target,
            self.pages.grader(network, vocabulary),
            references,
            lambda: without_harm(network, base, target, self.pages.shown_pages(network, vocabulary), plan),
            lengths,
        )

    def judge(
        self,
        base: Vector,
        target: Vector,
        grade: Callable[[Vector], Right],
        references: References,
        corrected: Callable[[], Vector],
        lengths: Sequence[float] = LENGTHS,
    ) -> Judgement:
        """Return the longest part of a step that may be published; or why none may.

        If that is less than was asked for, a step without its harmful part, which `corrected` returns, is tried, too.
        """
        before = grade(base)
        found = self._longest(base, target, grade, before, references, lengths)
        if found.reason is None and found.length == lengths[0]:
            return found
        other = self._longest(base, corrected(), grade, before, references, lengths)
        if other.reason is None and (found.reason is not None or other.length > found.length):
            return replace(other, corrected=True)
        return found

    def _longest(
        self,
        base: Vector,
        target: Vector,
        grade: Callable[[Vector], Right],
        before: Right,
        references: References,
        lengths: Sequence[float],
    ) -> Judgement:
        """Return the judgement about the longest part of a step that passes, or about the first if none does."""
        tried = []
        for length in lengths:
            model = target if length == 1 else np.asarray(base + np.float32(length) * (target - base), np.float32)
            after = grade(model)
            tried.append((model, length, after))
            if next(self._losses(before, after, references), None) is None:
                return self._judgement(model, length, before, after, references, None)
        model, length, after = tried[0]
        reason = self._reason(list(self._losses(before, after, references)), after, references)
        return self._judgement(model, length, before, after, references, reason)

    def _judgement(
        self, model: Vector, length: float, before: Right, after: Right, references: References, reason: str | None
    ) -> Judgement:
        return Judgement(
            model=model,
            length=length,
            before=self.pages.shares(before),
            after=self.pages.shares(after),
            reason=reason,
            pages=self.pages.digest,
            best=references.best.version,
            newest=references.newest,
        )

    def _losses(self, before: Right, after: Right, references: References) -> Iterator[tuple[Reference, Measure]]:
        """Yield what a model loses that it must not lose, and compared with which version."""
        first, best = references.first, references.best
        for known in (best,) if first.version == best.version else (best, first):
            for measure in self.measures:
                if self._refused(measure, known.right, before, after, references.accepted):
                    yield known, measure

    @staticmethod
    def _reason(losses: list[tuple[Reference, Measure]], after: Right, references: References) -> str:
        """Return in words what is lost compared with the first of the versions to which something is lost."""
        known = losses[0][0]
        lost = [measure for reference, measure in losses if reference is known]
        lost.sort(key=lambda one: one.chance(known.right, after))
        roles = [
            role
            for role, version in (("the first", references.first.version), ("the best so far", references.best.version))
            if version == known.version
        ]
        told = ". ".join(one.described(known.right, after) for one in lost[:MOST_NAMED])
        return f"Compared with version {known.version}, {' and '.join(roles)}: {told}."

    @staticmethod
    def _refused(measure: Measure, known: Right, before: Right, after: Right, accepted: Reference | None) -> bool:
        """Say whether a model loses more than it may.

        A base that is itself below the limit need not be improved at once. If it is, because an operator chose such a
        version, that version is what must not be lost, until a better one is published.
        """
        if not measure.loses(known, after) or measure.share(after) >= measure.share(before):
            return False
        return (
            accepted is None
            or not measure.loses(known, before)
            or not measure.loses(known, accepted.right)
            or measure.loses(accepted.right, after)
        )


class _Answers:
    """How published versions answer the validation pages."""

    def __init__(self, session: Session, pages: ValidationSet) -> None:
        self._session, self._pages = session, pages
        self._graders: dict[tuple[str, tuple[int, ...]], Callable[[Vector], Right]] = {}

    def of(self, version: int) -> Reference | None:
        """Return a version and its answers; None if its weights are no longer kept."""
        model = self._session.get_one(ModelRow, version)
        if not model.weights:
            return None
        built = (model.vocabulary, tuple(model.layers))
        if built not in self._graders:  # reading a vocabulary takes longer than judging a model
            words = self._session.get_one(VocabularyRow, model.vocabulary).content.decode()
            self._graders[built] = self._pages.grader(Network(built[1]), Vocabulary.from_json(words))
        return Reference(version, self._graders[built](np.frombuffer(model.weights, "<f4").astype(np.float32)))


def accepted_version(session: Session) -> int | None:
    """Return the last version that an operator chose: by a roll back, or by publishing it although it lost accuracy."""
    chosen = (ModelRow.origin == "rollback") | ModelRow.version.in_(_FORCED)
    return session.scalar(select(func.max(ModelRow.version)).where(chosen))


def last_score(session: Session) -> dict[str, Any] | None:
    """Return what was stored when a round was last judged; None before that, or if it was before best ones counted."""
    for score in session.scalars(select(RoundRow.score).order_by(RoundRow.id.desc())):
        if score:
            return score if "best" in score else None
    return None
