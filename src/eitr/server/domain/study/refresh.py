"""A refresh of the vocabulary from a study: new words, their weights, a pool for them, and a version to publish.

The new words are those that the people of the study who consented to it reported, at least `min_clients` of them each.
Their weights are learned from pages that the server may see: public pages of the operator, cover pages, and archived
copies of the study's pages with the labels that people agreed to have collected. The gate compares the new model with
the published versions on the validation pages, as any other.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select
from sqlalchemy.orm import Session

from eitr.datasets.interface import Labelled
from eitr.datasets.validation import Score
from eitr.errors import InputError
from eitr.model import Network
from eitr.model.classifier import Classifier
from eitr.model.files import Model
from eitr.model.refresh import carried, converted, learned, refreshed_vocabulary, unknown_terms
from eitr.pages.extract import extract
from eitr.pages.federated_vocabulary import agree
from eitr.pages.page import Page
from eitr.pages.pool import Pool
from eitr.pages.sparse import SparseRows, joined
from eitr.pages.vocabulary import Vocabulary
from eitr.server.db.connection import Database
from eitr.server.db.study_tables import StudyPageRow, StudyRow, StudyTaskRow
from eitr.server.db.tables import AuditRow, ModelRow, PoolRow, VocabularyRow
from eitr.server.domain import pools
from eitr.server.domain.clock import now
from eitr.server.domain.gate import Gate
from eitr.server.domain.models import publish
from eitr.server.domain.rounds import abandon_under_way
from eitr.server.domain.study.terms import StudyTerms
from eitr.taxonomy import NAMES

RANKED = 5000
"""So many terms are looked at for words that the model does not know."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A model with new words, and how it came about."""

    classifier: Classifier
    pool: Pool | None
    """Cover pages for the new vocabulary; None where the version before it has none."""
    base: int
    """The version that it was made of."""
    words: list[str]
    """The new words."""
    gone: list[str]
    """The words that made way."""
    reports: int
    """How many people reported terms."""
    public: int
    collected: int
    """On how many pages of each kind the weights were learned, cover pages not counted."""
    before: Score
    after: Score
    reason: str | None
    """Why it must not be published; None if it may."""


class Refresh:
    """Makes and publishes models with new words."""

    def __init__(self, database: Database, gate: Gate) -> None:
        self._database, self._gate = database, gate

    def prepare(
        self, slug: str, public: Sequence[Labelled] = (), *, words: int = 50, min_clients: int = 3
    ) -> Refreshed:
        """Return the newest version with new words of a study; nothing is stored."""
        reports = StudyTerms(self._database).reports(slug)
        if len(reports) < min_clients:
            raise InputError(
                f"{len(reports)} people of {slug} reported terms, and a word needs {min_clients} of them: "
                "ask for the consent to terms, or wait for more people"
            )
        ranked = agree(reports, size=RANKED, min_clients=min_clients)
        with self._database.reading() as session:
            base, classifier, pool = _newest(session)
            collected = _collected(session, slug)
        added = unknown_terms(classifier.vocabulary, ranked.words, words)
        if not added:
            raise InputError(f"the model knows all words that {min_clients} people of {slug} reported")
        vocabulary = refreshed_vocabulary(classifier, _restricted(ranked, added))
        changed = None if pool is None else converted(pool, classifier.vocabulary, vocabulary)
        rows, labels = _examples(vocabulary, changed, [*public, *collected])
        places = [vocabulary.words.index(word) for word in added]
        model = learned(carried(classifier, vocabulary), places, rows, labels)
        before, after, reason = self._judged(classifier, model)
        return Refreshed(
            classifier=model,
            pool=changed,
            base=base,
            words=added,
            gone=[word for word in classifier.vocabulary.words if word not in set(vocabulary.words)],
            reports=len(reports),
            public=len(public),
            collected=len(collected),
            before=before,
            after=after,
            reason=reason,
        )

    def _judged(self, old: Classifier, new: Classifier) -> tuple[Score, Score, str | None]:
        pages = self._gate.pages
        before, after = (pages.grader(one.model.network, one.vocabulary)(one.model.vector) for one in (old, new))
        with self._database.reading() as session:
            reason = self._gate.refusal(before, after, self._gate.references(session))
        return pages.shares(before), pages.shares(after), reason

    def publish(self, refreshed: Refreshed, slug: str, *, who: str) -> int:
        """Publish a model with its vocabulary and pool; return the version. A round under way is abandoned."""
        if refreshed.reason is not None:
            raise InputError(f"the refreshed model is not published. {refreshed.reason}")
        classifier = refreshed.classifier
        content = classifier.vocabulary.to_json().encode()
        sha256 = hashlib.sha256(content).hexdigest()
        with self._database.writing() as session:
            reason = f"the vocabulary was refreshed as version {refreshed.base + 1}"
            abandon_under_way(session, reason, who)
            if not self._database.sqlite:
                session.connection().exec_driver_sql("LOCK TABLE models IN EXCLUSIVE MODE")
            if _newest_version(session) != refreshed.base:
                raise InputError("another version was published meanwhile: refresh again")
            session.merge(VocabularyRow(sha256=sha256, content=content))
            session.flush()
            if refreshed.pool is not None:
                file = refreshed.pool.to_bytes()
                digest = hashlib.sha256(file).hexdigest()
                session.merge(
                    PoolRow(sha256=digest, vocabulary=sha256, added=now(), pages=len(refreshed.pool), content=file)
                )
            network, vector = classifier.model
            new = publish(
                session,
                origin="refresh",
                vector=vector,
                layers=network.layers,
                vocabulary=sha256,
                score=refreshed.after,
            )
            abandon_under_way(session, reason, who)
            detail = {"study": slug, "version": new.version, "words": refreshed.words, "gone": len(refreshed.gone)}
            session.add(AuditRow(at=now(), who=who, action="refreshed the vocabulary", detail=detail))
            return new.version


def _newest_version(session: Session) -> int:
    return session.scalars(select(ModelRow.version).order_by(ModelRow.version.desc()).limit(1)).one()


def _newest(session: Session) -> tuple[int, Classifier, Pool | None]:
    row = session.get_one(ModelRow, _newest_version(session))
    vocabulary = Vocabulary.from_json(session.get_one(VocabularyRow, row.vocabulary).content.decode())
    model = Model(Network(tuple(row.layers)), np.frombuffer(row.weights, "<f4").astype(np.float32))
    found = pools.of_vocabulary(session, row.vocabulary)
    pool = None if found is None else Pool.from_bytes(found.content, width=len(vocabulary))
    return row.version, Classifier(model, vocabulary), pool


def _collected(session: Session, slug: str) -> list[Labelled]:
    """Return the study's pages that have a copy, with the label that most people chose; pages with a tie are left out.

    Labels are in the database only while the consent to their collection is in force.
    """
    query = (
        select(StudyPageRow.id, StudyTaskRow.label)
        .join(StudyRow, StudyRow.id == StudyPageRow.study)
        .join(StudyTaskRow, StudyTaskRow.page == StudyPageRow.id)
        .where(StudyRow.slug == slug, StudyTaskRow.label.is_not(None), StudyPageRow.copy.is_not(None))
        .order_by(StudyPageRow.id)
    )
    votes: dict[int, Counter[str]] = {}
    for page, label in session.execute(query):
        votes.setdefault(page, Counter())[str(label)] += 1
    found = []
    for page, counted in votes.items():
        (label, most), *others = counted.most_common(2)
        if not others or others[0][1] < most:
            copy = session.scalars(select(StudyPageRow.copy).where(StudyPageRow.id == page)).one()
            found.append(Labelled(_page(copy), NAMES.index(label), None))
    return found


def _page(copy: bytes | None) -> Page:
    assert copy is not None
    return extract(copy, content_type="text/html; charset=utf-8")


def _restricted(vocabulary: Vocabulary, words: Sequence[str]) -> Vocabulary:
    places = {word: place for place, word in enumerate(vocabulary.words)}
    return Vocabulary(tuple(words), vocabulary.idf[[places[word] for word in words]])


def _examples(
    vocabulary: Vocabulary, pool: Pool | None, pages: Sequence[Labelled]
) -> tuple[SparseRows, NDArray[np.int64]]:
    """Return the pages that weights are learned from: cover pages, and pages with words."""
    if not pages:
        raise InputError("there are no pages to learn the new words from: give public pages, or collect labels")
    rows = [vocabulary.rows([one.page for one in pages])]
    labels = [np.array([one.label for one in pages], np.int64)]
    if pool is not None:
        rows.append(pool.rows)
        labels.append(pool.labels)
    return joined(rows), np.concatenate(labels)
