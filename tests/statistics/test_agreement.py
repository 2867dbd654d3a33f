import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from eitr.errors import InputError
from eitr.statistics.agreement import (
    agreed_labels,
    fleiss_kappa,
    kappa_interval,
    page_agreement,
    pairwise_agreement,
)

# Fleiss, J. L. (1971): Measuring nominal scale agreement among many raters. Psychological Bulletin 76, 378-382,
# table 1: six psychiatrists put each of 30 patients into one of five classes.
FLEISS_1971 = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031 00501 30012 51000 02040 10203
00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""
DIAGNOSES = [[int(count) for count in row] for row in FLEISS_1971.split()]


def random_ratings(seed: int, pages: int = 40, raters: int = 5) -> list[list[int]]:
    generator = np.random.default_rng(seed)
    truth = generator.integers(3, size=pages)
    return [
        [int(one) if generator.random() < 0.6 else int(generator.integers(3)) for _ in range(raters)] for one in truth
    ]


def counted(ratings: list[list[int]]) -> list[list[int]]:
    return [[row.count(name) for name in range(3)] for row in ratings]


def kappa_by_counting_pairs(ratings: list[list[int]]) -> Fraction:
    """The definition, with fractions and pairs of raters instead of the formula."""
    agreement = Fraction(0)
    for row in ratings:
        pairs = list(itertools.combinations(row, 2))
        agreement += Fraction(sum(one == other for one, other in pairs), len(pairs) * len(ratings))
    shares = [sum(Fraction(row.count(name), len(row)) for row in ratings) / Fraction(len(ratings)) for name in range(3)]
    chance = sum((share * share for share in shares), Fraction(0))
    return (agreement - chance) / (Fraction(1) - chance)


def test_the_worked_example_of_fleiss_has_his_kappa():
    assert [sum(column) for column in zip(*DIAGNOSES, strict=True)] == [26, 26, 30, 55, 43]
    assert page_agreement(DIAGNOSES).mean() == pytest.approx(0.5556, abs=5e-5)
    assert fleiss_kappa(DIAGNOSES) == pytest.approx(0.430, abs=5e-4)


@pytest.mark.parametrize("seed", range(5))
def test_kappa_is_that_of_counting_all_pairs(seed):
    ratings = random_ratings(seed)
    uneven = [row[: 2 + place % 4] for place, row in enumerate(ratings)]
    for table in (ratings, uneven):
        assert fleiss_kappa(counted(table)) == pytest.approx(float(kappa_by_counting_pairs(table)), abs=1e-12)


def test_perfect_agreement_is_one_and_agreement_of_one_class_is_undefined():
    assert fleiss_kappa([[4, 0], [0, 4], [4, 0]]) == 1.0
    assert math.isnan(fleiss_kappa([[4, 0], [4, 0]]))
    assert all(map(math.isnan, kappa_interval([[4, 0], [4, 0]])))


def test_pages_with_fewer_than_two_ratings_do_not_count():
    assert fleiss_kappa([*DIAGNOSES, [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]) == fleiss_kappa(DIAGNOSES)
    with pytest.raises(InputError, match="two ratings"):
        fleiss_kappa([[1, 0], [0, 1]])
    with pytest.raises(InputError, match="two ratings"):
        kappa_interval([[1, 0], [0, 1]])


@pytest.mark.parametrize("counts", [[], [1, 2], [[]], [[1.5, 1]], [[-1, 3]], [[math.nan, 2]]])
def test_a_table_that_counts_nothing_is_an_error(counts):
    with pytest.raises(InputError):
        fleiss_kappa(counts)


def test_the_interval_holds_the_estimate_and_depends_on_the_seed_alone():
    low, high = kappa_interval(DIAGNOSES)
    assert 0.25 < low < fleiss_kappa(DIAGNOSES) < high < 0.60
    assert kappa_interval(DIAGNOSES) == (low, high)
    assert kappa_interval(DIAGNOSES, seed=1) != (low, high)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    everything = counted(random_ratings(seed=99, pages=20_000))
    truth = fleiss_kappa(everything)
    samples = [everything[start : start + 100] for start in range(0, 20_000, 100)]
    covered = [low <= truth <= high for low, high in (kappa_interval(one, draws=300) for one in samples)]
    assert 0.88 <= np.mean(covered) <= 0.99


def test_an_interval_needs_draws_and_a_level():
    with pytest.raises(InputError):
        kappa_interval(DIAGNOSES, draws=0)
    with pytest.raises(InputError):
        kappa_interval(DIAGNOSES, level=1.0)


def test_three_of_four_raters_agree_and_a_tie_is_no_agreement():
    counts = [[4, 0, 0], [3, 1, 0], [2, 2, 0], [2, 1, 1], [0, 0, 0], [1, 0, 0], [0, 2, 0]]
    assert agreed_labels(counts).tolist() == [0, 0, -1, -1, -1, -1, 1]
    assert agreed_labels(counts, least=0.0).tolist() == [0, 0, -1, 0, -1, -1, 1]
    with pytest.raises(InputError):
        agreed_labels(counts, least=1.5)


def test_pairs_of_raters_are_compared_on_the_pages_of_both():
    # Cohen, J. (1960): A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20,
    # 37-46, table 1: 200 patients, agreement 0.70, by chance 0.41, kappa 0.492.
    table = {("a", "a"): 88, ("a", "b"): 14, ("a", "c"): 18, ("b", "a"): 10, ("b", "b"): 40, ("b", "c"): 10}
    table |= {("c", "a"): 2, ("c", "b"): 6, ("c", "c"): 12}
    pairs = [pair for pair, count in table.items() for _ in range(count)]
    one = {page: first for page, (first, _) in enumerate(pairs)}
    other = {page: second for page, (_, second) in enumerate(pairs)} | {999: "a"}
    (found,) = pairwise_agreement({"two": other, "one": one})
    assert (found.first, found.second, found.pages) == ("one", "two", 200)
    assert found.agreement == pytest.approx(0.70)
    assert found.kappa == pytest.approx(0.492, abs=5e-4)


def test_raters_without_a_common_page_have_no_agreement():
    pairs = pairwise_agreement({"ann": {1: "health"}, "bob": {2: "health"}, "eve": {1: "health"}})
    assert [(pair.first, pair.second, pair.pages) for pair in pairs] == [
        ("ann", "bob", 0), ("ann", "eve", 1), ("bob", "eve", 0),
    ]  # fmt: skip
    assert math.isnan(pairs[0].agreement)
    assert pairs[1].agreement == 1.0
    assert math.isnan(pairs[1].kappa)
