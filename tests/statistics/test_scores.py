import numpy as np
import pytest

from eitr.errors import InputError
from eitr.statistics.scores import auc, balanced_accuracy, confusion, majority_share, roc

# Fawcett, T. (2006): An introduction to ROC analysis. Pattern Recognition Letters 27, 861-874, figure 3: 20 instances.
FAWCETT = "ppnpppnnpnpnpnnnpnpn"
SCORES = [0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.505]
SCORES += [0.4, 0.39, 0.38, 0.37, 0.36, 0.35, 0.34, 0.33, 0.30, 0.1]


def auc_by_comparing_all_pairs(positive: np.ndarray, scores: np.ndarray) -> float:
    """Mann and Whitney's definition."""
    differences = scores[positive][:, None] - scores[~positive][None]
    return float(((differences > 0) + 0.5 * (differences == 0)).mean())


def test_the_worked_example_of_fawcett_has_his_points():
    false_alarms, hits = roc([name == "p" for name in FAWCETT], SCORES)
    points = list(zip(false_alarms.round(6).tolist(), hits.round(6).tolist(), strict=True))
    # At a threshold of 0.54 he marks (0.1, 0.5), the most accurate point of the figure.
    assert points[:7] == [(0, 0), (0, 0.1), (0, 0.2), (0.1, 0.2), (0.1, 0.3), (0.1, 0.4), (0.1, 0.5)]
    assert points[-1] == (1, 1)
    assert auc([name == "p" for name in FAWCETT], SCORES) == pytest.approx(0.68)


@pytest.mark.parametrize("seed", range(5))
def test_the_area_is_the_share_of_pairs_in_the_right_order(seed):
    generator = np.random.default_rng(seed)
    positive = generator.random(80) < 0.3
    scores = (generator.normal(size=80) + positive).round(1)
    assert auc(positive, scores) == pytest.approx(auc_by_comparing_all_pairs(positive, scores), abs=1e-12)


def test_equal_scores_are_worth_a_coin_and_reversed_ones_less():
    assert auc([True, False, True, False], [1, 1, 1, 1]) == 0.5
    assert auc([False, True], [0.9, 0.1]) == 0.0


@pytest.mark.parametrize(
    ("truth", "scores"),
    [([True, True], [0.1, 0.2]), ([False], [0.1]), ([True, False], [0.1]), ([True, False], [0.1, np.nan])],
)
def test_a_curve_needs_both_kinds_of_pages_and_scores_for_them(truth, scores):
    with pytest.raises(InputError):
        roc(truth, scores)


def test_always_naming_the_frequent_class_is_the_baseline():
    truth = ["health"] * 85 + ["non-sensitive"] * 15
    always = ["health"] * 100
    assert majority_share(truth) == 0.85
    assert balanced_accuracy(truth, always) == 0.5
    assert confusion(truth, always, ["health", "non-sensitive"]).tolist() == [[85, 0], [15, 0]]


def test_a_class_that_no_page_has_does_not_count():
    assert balanced_accuracy(["health", "politics"], ["health", "religion"]) == 0.5


def test_labels_and_predictions_must_match():
    for compare in (balanced_accuracy, lambda truth, answers: confusion(truth, answers, ["health"])):
        with pytest.raises(InputError):
            compare(["health"], [])
        with pytest.raises(InputError):
            compare([], [])
    with pytest.raises(InputError, match="'snow' is none of the classes"):
        confusion(["health"], ["snow"], ["health"])
    with pytest.raises(InputError):
        majority_share([])
