import numpy as np
import pytest

from eitr.datasets.interface import Labelled
from eitr.datasets.vectors import examples_of
from eitr.errors import InputError
from eitr.pages.page import Page
from eitr.pages.ranking import document_frequencies, mean_weights, most_weighty
from eitr.pages.tokens import tokens
from eitr.pages.vocabulary import Vocabulary
from eitr.taxonomy import NAMES

SOME = ("fever", "cough", "vote", "mosque", "naïve", "snow", "ballot", "clinic", "asylum", "prayer", "the", "x")


def made(count=300, seed=0, test=None):
    """Pages in which words recur up to several dozen times."""
    random = np.random.default_rng(seed)
    for number in range(count):
        words = random.choice(SOME, random.integers(0, 60), p=1 / np.arange(1, 13) / (1 / np.arange(1, 13)).sum())
        page = Page(title=" ".join(words[:3]), text=" ".join(words[3:]) + f" word{chr(97 + number % 26)}")
        yield Labelled(page, number % 6, test)


def product(pages, examples, size):
    """What the product's own code makes of the same pages."""
    documents = [tokens(page.content()) for page, _, _ in pages]
    train = [document for document, test in zip(documents, examples.test, strict=True) if not test]
    chosen = most_weighty(train, size)
    return Vocabulary.of(chosen, document_frequencies(train), len(train)).rows(page for page, _, _ in pages)


@pytest.mark.parametrize("size", [3, 12, 1000])
def test_vectors_are_those_of_the_product_to_the_last_bit(size):
    pages = list(made())
    examples = examples_of("made", lambda: pages, words=size)
    expected = product(pages, examples, size)
    assert examples.rows.width == expected.width
    for part in ("starts", "columns", "values"):
        np.testing.assert_array_equal(getattr(examples.rows, part), getattr(expected, part), strict=True)


def test_blocks_of_pages_join_seamlessly(monkeypatch):
    whole = examples_of("made", made)
    monkeypatch.setattr("eitr.datasets.vectors.BLOCK", 7)
    in_blocks = examples_of("made", made)
    np.testing.assert_array_equal(whole.rows.dense(), in_blocks.rows.dense())


def test_words_are_chosen_on_the_pages_to_train_on_alone():
    pages = [Labelled(Page(text="fever"), label, False) for label in range(6)]
    pages += [Labelled(Page(text="vote vote vote fever"), label, True) for label in range(6)]
    assert examples_of("made", lambda: pages).words == ("fever",)


def test_words_come_in_the_order_of_their_weight():
    pages = list(made(test=False))
    weights = mean_weights([tokens(page.content()) for page, _, _ in pages])
    words = examples_of("made", lambda: pages, words=5).words
    assert list(words) == sorted(weights, key=lambda word: (-weights[word], word))[:5]


def test_pages_without_a_split_get_a_seeded_one_that_keeps_the_proportions():
    first, again, other = (examples_of("made", made, seed=seed) for seed in (1, 1, 2))
    assert np.bincount(first.labels[first.test]).tolist() == [10] * 6
    np.testing.assert_array_equal(first.test, again.test)
    assert (first.test != other.test).any()


def test_a_split_of_the_data_is_kept():
    def pages():
        yield from (Labelled(page, label, number % 2 == 0) for number, (page, label, _) in enumerate(made()))

    assert examples_of("made", pages).test.tolist() == [True, False] * 150


def test_a_size_takes_as_many_pages_of_all_classes_and_both_sides():
    taken = examples_of("made", made, size=60, seed=3)
    assert len(taken) == 60
    assert np.bincount(taken.labels).tolist() == [10] * 6
    assert np.bincount(taken.labels[taken.test]).tolist() == [2] * 6
    again = examples_of("made", made, size=60, seed=3)
    np.testing.assert_array_equal(taken.rows.dense(), again.rows.dense())


def test_a_size_beyond_the_data_takes_all():
    assert len(examples_of("made", made, size=10**6)) == 300


def test_a_part_of_the_pages_keeps_the_split_of_the_whole():
    pages = list(made())
    whole, part = examples_of("made", lambda: pages), examples_of("made", lambda: pages, size=100)
    expected = product([pages[row] for row in _rows_of(pages, part)], part, 1000)
    np.testing.assert_array_equal(part.rows.dense(), expected.dense())
    np.testing.assert_array_equal(part.test, whole.test[_rows_of(pages, part)])


def _rows_of(pages, part):
    from eitr.datasets.sampling import stratified_sample, stratified_split

    labels = np.array([label for _, label, _ in pages])
    rows = stratified_sample(labels * 2 + stratified_split(labels, 0), len(part), 0)
    assert labels[rows].tolist() == part.labels.tolist()
    return rows


def test_no_pages_are_an_error():
    with pytest.raises(InputError, match="nothing: the data hold no page"):
        examples_of("nothing", list)


def test_pages_without_words_are_an_error():
    with pytest.raises(InputError, match="no words"):
        examples_of("made", lambda: [Labelled(Page(), label, None) for label in range(6)])


def test_a_missing_class_is_an_error_that_names_it():
    def pages():
        return (labelled for labelled in made() if labelled.label not in (2, 4))

    with pytest.raises(InputError, match="class religion, ethnicity"):
        examples_of("made", pages)
    assert len(examples_of("made", pages, classes=(NAMES[0], NAMES[1]))) == 200


@pytest.mark.parametrize("settings", [{"words": 0}, {"words": 10**6}, {"size": 0}, {"size": 5}, {"seed": -1}])
def test_settings_that_make_no_sense_are_errors(settings):
    with pytest.raises(InputError):
        examples_of("made", made, **settings)
