import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr.errors import InputError
from eitr.pages.federated_vocabulary import MAX_TERMS, TermReport, agree, rank, report
from eitr.pages.ranking import mean_weights

DOCUMENTS = st.lists(
    st.lists(st.sampled_from(["fever", "vote", "church", "gay", "tax"]), min_size=1), min_size=1, max_size=5
)


def says(samples: int = 10, **weights: float) -> TermReport:
    return TermReport(samples, weights, dict.fromkeys(weights, 1))


def test_a_report_holds_the_weightiest_terms_and_their_page_counts() -> None:
    one = report([["fever", "vote"], ["fever"], ["fever", "fever"]], limit=1)
    assert one == TermReport(samples=3, weights={"fever": 1.0}, documents={"fever": 3})


@given(DOCUMENTS)
def test_every_report_passes_at_the_door_and_its_weights_sum_to_one(documents: list[list[str]]) -> None:
    one = report(documents)
    assert math.isclose(math.fsum(one.weights.values()), 1.0)
    means = mean_weights(documents)
    ranked = [means[term] for term in rank([one], min_clients=1)]
    np.testing.assert_allclose(ranked, sorted(means.values(), reverse=True), rtol=1e-12)


@pytest.mark.parametrize("documents", [[], [[]]])
def test_there_is_nothing_to_report_without_words(documents: list[list[str]]) -> None:
    with pytest.raises(InputError, match="at least one page"):
        report(documents)


def test_terms_are_ranked_by_weight_averaged_over_samples() -> None:
    reports = [says(30, fever=0.9, vote=0.1), says(10, fever=0.2, vote=0.8)]
    assert rank(reports, min_clients=2) == ["fever", "vote"]
    assert rank([replace(reports[0], samples=10), replace(reports[1], samples=30)], min_clients=2) == [
        "vote",
        "fever",
    ]


def test_a_term_of_too_few_clients_never_leaves_the_ranking() -> None:
    reports = [says(fever=0.5, secret=0.5), says(fever=0.5, secret=0.5), says(fever=1.0)]
    assert rank(reports, min_clients=3) == ["fever"]
    assert rank(reports, min_clients=2) == ["fever", "secret"]
    assert agree(reports, min_clients=3).words == ("fever",)


def test_a_weight_of_zero_supports_nothing() -> None:
    assert rank([says(fever=1.0, secret=1.0), says(fever=1.0, secret=0.0)], min_clients=2) == ["fever"]


def test_no_error_names_a_term() -> None:
    with pytest.raises(InputError) as caught:
        agree([says(secret=1.0)], min_clients=2)
    assert "secret" not in str(caught.value)
    with pytest.raises(InputError) as caught:
        rank([says(Secret=1.0)])
    assert "Secret" not in str(caught.value)


def test_shouting_does_not_help() -> None:
    quiet = [says(fever=0.02, vote=0.01)] * 4
    assert rank([*quiet, says(vote=1.0, fever=0.9)], min_clients=3) == ["fever", "vote"]


def test_a_claim_of_many_samples_counts_at_most_five_times_the_median() -> None:
    honest = [says(10, fever=0.6, vote=0.4)] * 50
    liar = says(10_000_000, vote=1.0)
    assert rank([*honest, liar], min_clients=3) == ["fever", "vote"]
    # What the liar can do: five times 10 samples of weight 1 against 50 times 10 samples that differ by 0.2.
    assert rank([*honest[:20], liar], min_clients=3) == ["vote", "fever"]


def test_the_idf_comes_from_the_page_counts_of_all_clients() -> None:
    reports = [
        TermReport(4, {"fever": 0.5, "vote": 0.5}, {"fever": 4, "vote": 1}),
        TermReport(5, {"fever": 1.0}, {"fever": 5}),
    ]
    vocabulary = agree(reports, min_clients=1)
    assert vocabulary.words == ("fever", "vote")
    np.testing.assert_allclose(vocabulary.idf, [1.0, math.log(10 / 2) + 1])


def test_a_liar_moves_the_idf_by_no_more_than_its_counted_samples() -> None:
    honest = [TermReport(10, {"fever": 1.0}, {"fever": 5})] * 9
    liar = TermReport(10_000_000, {"fever": 1.0}, {"fever": 10_000_000})
    (idf,) = agree([*honest, liar], min_clients=1).idf
    assert idf == pytest.approx(math.log((1 + 90 + 50) / (1 + 45 + 50)) + 1)


@given(st.lists(DOCUMENTS, min_size=1, max_size=5), st.integers(1, 4))
def test_the_order_of_clients_does_not_matter(clients: list[list[list[str]]], min_clients: int) -> None:
    reports = [report(documents) for documents in clients]
    ranked = rank(reports, min_clients=min_clients)
    assert ranked == rank(reports[::-1], min_clients=min_clients)
    assert all(sum(term in one.weights for one in reports) >= min_clients for term in ranked)


GOOD = says(fever=0.5, vote=0.5)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"samples": 0}, "samples"),
        ({"samples": -5}, "samples"),
        ({"samples": 10**12}, "samples"),
        ({"samples": 2.5}, "samples"),
        ({"samples": True}, "samples"),
        ({"weights": {}, "documents": {}}, "terms"),
        ({"weights": {f"t{i}": 0.1 for i in range(MAX_TERMS + 1)}}, "terms"),
        ({"documents": {"fever": 1}}, "same terms"),
        ({"weights": {"fever": math.nan, "vote": 0.5}}, "weight"),
        ({"weights": {"fever": math.inf, "vote": 0.5}}, "weight"),
        ({"weights": {"fever": -0.1, "vote": 0.5}}, "weight"),
        ({"weights": {"fever": 1e300, "vote": 0.5}}, "weight"),
        ({"weights": {"fever": "1", "vote": 0.5}}, "weight"),
        ({"weights": {"fever": 0.0, "vote": 0.0}}, "above 0"),
        ({"documents": {"fever": 11, "vote": 1}}, "page count"),
        ({"documents": {"fever": 0, "vote": 1}}, "page count"),
        ({"documents": {"fever": 1.0, "vote": 1}}, "page count"),
        ({"weights": {"the": 0.5}, "documents": {"the": 1}}, "not a token"),
        ({"weights": {"two words": 0.5}, "documents": {"two words": 1}}, "not a token"),
        ({"weights": {7: 0.5}, "documents": {7: 1}}, "not a token"),
    ],
)
def test_a_hostile_report_is_refused_by_its_position(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=f"^report 2: .*{why}"):
        rank([GOOD, GOOD, replace(GOOD, **changes), GOOD])


def test_no_reports_and_no_clients_are_errors() -> None:
    with pytest.raises(InputError, match="no reports"):
        rank([])
    with pytest.raises(InputError, match="min_clients"):
        rank([GOOD], min_clients=0)
