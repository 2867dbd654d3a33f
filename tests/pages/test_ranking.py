import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.pages.ranking import best, document_frequencies, mean_weights, most_weighty

DOCUMENTS = st.lists(st.lists(st.sampled_from(["fever", "vote", "church", "gay", "tax"])), min_size=1)


def test_the_weight_is_the_mean_of_tf_idf() -> None:
    weights = mean_weights([["fever", "fever", "vote"], ["fever"], []])
    assert weights["fever"] == pytest.approx((1 + math.log(2) + 1) * (math.log(4 / 3) + 1) / 3)
    assert weights["vote"] == pytest.approx((math.log(4 / 2) + 1) / 3)


def test_frequencies_count_documents_and_not_words() -> None:
    assert document_frequencies([["fever", "fever"], ["fever"], ["vote"]]) == {"fever": 2, "vote": 1}


def test_equal_weights_are_ordered_by_the_word() -> None:
    assert best({"zebra": 1.0, "émeute": 1.0, "ant": 1.0, "top": 2.0}, 3) == ["top", "ant", "zebra"]


@given(DOCUMENTS, st.randoms(use_true_random=False))
def test_the_order_of_documents_and_of_words_within_does_not_matter(
    documents: list[list[str]], chance: random.Random
) -> None:
    shuffled = [chance.sample(document, len(document)) for document in chance.sample(documents, len(documents))]
    assert most_weighty(shuffled, 3) == most_weighty(documents, 3)


@given(DOCUMENTS, st.integers(0, 6))
def test_a_ranking_holds_the_best_words_once_each(documents: list[list[str]], size: int) -> None:
    ranked = most_weighty(documents, size)
    weights = mean_weights(documents)
    assert len(set(ranked)) == len(ranked) == min(size, len(weights))
    assert [weights[word] for word in ranked] == sorted(weights.values(), reverse=True)[: len(ranked)]


def test_no_documents_have_no_words() -> None:
    assert most_weighty([]) == []
