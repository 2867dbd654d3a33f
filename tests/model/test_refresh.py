"""A model that moves to another vocabulary keeps what it knows, and learns the weights of new words alone."""

import numpy as np
import pytest

from eitr.errors import InputError
from eitr.model.classifier import Classifier
from eitr.model.files import Model
from eitr.model.network import Network
from eitr.model.refresh import (
    LearningPlan,
    carried,
    converted,
    importance,
    learned,
    refreshed_vocabulary,
    replaced,
    unknown_terms,
)
from eitr.pages.pool import Pool, vocabulary_digest
from eitr.pages.sparse import SparseRows
from eitr.pages.vocabulary import Vocabulary

NETWORK = Network((4, 8, 5, 6))
OLD = Vocabulary(
    ("fever", "vote", "mosque", "goal"),
    np.array([1.0, 2.0, 3.0, 4.0]),
    {"fevers": 0, "moschee": 2},
    foreign=frozenset({"moschee"}),
)
NEW = Vocabulary(("covid", "fevers", "lockdown"), np.array([2.0, 1.0, 50.0]), {"covids": 0, "goal": 0})


@pytest.fixture
def classifier():
    return Classifier(Model(NETWORK, NETWORK.initial(3)), OLD)


def logits(classifier, words):
    rows = SparseRows.of([classifier.vocabulary.vector(words)], width=len(classifier.vocabulary))
    return classifier.probabilities(rows)[0]


def test_new_words_take_the_places_of_the_least_important(classifier):
    vocabulary = refreshed_vocabulary(classifier, NEW)
    # "fevers" is a form of a known word, so two words are new, and two make way.
    gone = {OLD.words[place] for place in np.argsort(importance(classifier))[:2]}
    assert set(vocabulary.words) == {*OLD.words, "covid", "lockdown"} - gone
    assert vocabulary.words[-2:] == ("covid", "lockdown")
    assert vocabulary.known(["covids"]), "a new word comes with its forms"
    assert not any(vocabulary.known([word]) for word in gone)
    # An IDF of few pages is bounded.
    assert vocabulary.idf[-2:].tolist() == [2.0, 10.0]


def test_a_larger_vocabulary_keeps_all_words(classifier):
    vocabulary = refreshed_vocabulary(classifier, NEW, size=6)
    assert vocabulary.words == (*OLD.words, "covid", "lockdown")
    assert vocabulary.forms == {**OLD.forms, "covids": 4}
    assert vocabulary.foreign == OLD.foreign


def test_too_many_new_words_are_refused(classifier):
    many = Vocabulary(tuple("abcd"[place] * 5 for place in range(4)), np.ones(4))
    with pytest.raises(InputError, match="take fewer"):
        refreshed_vocabulary(classifier, many)


def test_pages_without_new_or_lost_words_are_classified_as_before(classifier):
    vocabulary = replaced(OLD, {1}, NEW, ["covid"])
    moved = carried(classifier, vocabulary)
    page = ["fever", "fevers", "moschee", "goal"]
    np.testing.assert_allclose(logits(moved, page), logits(classifier, page), rtol=1e-5)
    assert not np.allclose(logits(moved, [*page, "vote", "vote"]), logits(classifier, [*page, "vote", "vote"]))


def test_another_idf_changes_the_vector_and_not_what_a_word_does(classifier):
    other = Vocabulary(OLD.words, OLD.idf * np.array([1.0, 3.0, 0.5, 1.0]), OLD.forms, foreign=OLD.foreign)
    moved = carried(classifier, other)
    first, before = moved.model.network.split(moved.model.vector)[0], NETWORK.split(classifier.model.vector)[0]
    np.testing.assert_allclose(first.kernel * other.idf[:, None], before.kernel * OLD.idf[:, None], rtol=1e-6)


def test_a_new_word_alone_says_nothing_until_it_is_learned(classifier):
    moved = carried(classifier, replaced(OLD, set(), NEW, ["covid", "lockdown"]))
    np.testing.assert_allclose(logits(moved, ["covid"]), logits(moved, []), rtol=1e-6)
    pages = [["covid", "fever"]] * 5 + [["lockdown", "vote"]] * 3 + [["goal"]] * 4
    rows = SparseRows.of([moved.vocabulary.vector(page) for page in pages], width=6)
    taught = learned(moved, [4, 5], rows, [0] * 5 + [1] * 3 + [5] * 4)
    for word, label in (("covid", 0), ("lockdown", 1)):
        assert logits(taught, [word])[label] > 1.1 * logits(moved, [word])[label]
    before, after = moved.model.vector.copy(), taught.model.vector.copy()
    for vector in (before, after):
        moved.model.network.split(vector)[0].kernel[[4, 5]] = 0
    np.testing.assert_array_equal(before, after)


def test_the_slopes_are_those_of_the_loss(classifier):
    moved = carried(classifier, replaced(OLD, set(), NEW, ["covid"]))
    pages = [["covid", "fever"], ["covid", "goal", "goal"], ["vote"], ["covid"]]
    labels = np.array([0, 5, 1, 0])
    rows = SparseRows.of([moved.vocabulary.vector(page) for page in pages], width=5)
    plan = LearningPlan(steps=1, learning_rate=1e-2, momentum=0.0, decay=0.0)
    step = learned(moved, [4], rows, labels, plan)
    network = moved.model.network
    moved_row = (network.split(step.model.vector)[0].kernel[4] - network.split(moved.model.vector)[0].kernel[4]) / -1e-2

    def loss(row):
        vector = moved.model.vector.copy()
        network.split(vector)[0].kernel[4] = row
        chances = Classifier(Model(network, vector), moved.vocabulary).probabilities(rows).astype(np.float64)
        own = -np.log(chances[np.arange(4), labels])
        return sum(own[labels == label].mean() for label in (0, 1, 5)) / 3

    for unit in range(8):
        away = np.zeros(8, np.float32)
        away[unit] = 0.004
        slope = (loss(away) - loss(-away)) / 0.008
        assert moved_row[unit] == pytest.approx(slope, abs=2e-3)


def test_nothing_is_learned_without_new_words_and_bad_plans_are_refused(classifier):
    rows = SparseRows.of([OLD.vector(["fever"])], width=4)
    assert learned(classifier, [], rows, [0]) is classifier
    for wrong in ({"steps": 0}, {"learning_rate": 0.0}, {"momentum": 1.0}, {"decay": -0.1}):
        with pytest.raises(InputError):
            LearningPlan(**wrong)


def test_cover_pages_keep_the_words_that_survive():
    vocabulary = replaced(OLD, {1}, NEW, ["covid"])
    pages = [["fever", "vote", "mosque", "goal"], ["fever", "vote"], ["fever", "mosque", "goal"]]
    rows = SparseRows.of([OLD.vector(page) for page in pages], width=4)
    pool = Pool.of(rows, [0, 1, 2], vocabulary_digest(OLD.to_json().encode()))
    moved = converted(pool, OLD, vocabulary)
    # The second page has one word left, which hides nothing.
    assert moved.labels.tolist() == [0, 2]
    assert moved.vocabulary == vocabulary_digest(vocabulary.to_json().encode())
    wanted = SparseRows.of([vocabulary.vector(["fever", "mosque", "goal"])] * 2, width=4).dense()
    np.testing.assert_allclose(moved.rows.dense(), wanted, atol=0.005)
    with pytest.raises(InputError, match="another vocabulary"):
        converted(pool, vocabulary, OLD)


def test_terms_that_are_known_are_not_new():
    assert unknown_terms(OLD, ["fever", "moschee", "covid", "covid", "masks"], 5) == ["covid", "masks"]
