from dataclasses import replace

import numpy as np
import pytest

from eitr.initial.corpus import Labelled
from eitr.initial.fit import Ingredient
from eitr.initial.sources import Kind
from eitr.initial.yardstick import Verdicts, calibration, headline_numbers, lowest_threshold, measure
from eitr.initial.yardstick_report import LACKING, OLD, RECIPE, markdown, svg
from eitr.taxonomy import NAMES, NON_SENSITIVE

HEALTH, POLITICS = 0, 1


def page(source: str, label: int, language: str = "en", words: int = 20) -> Labelled:
    return Labelled(("word",) * words, label, "", "", source=source, language=language)


def verdicts(answers: list[tuple[Labelled, int, float]]) -> Verdicts:
    """Each page with the class that the model gives it and how sure it is; the rest is spread evenly."""
    probabilities = np.zeros((len(answers), len(NAMES)), np.float32)
    for row, (_, answer, confidence) in enumerate(answers):
        probabilities[row] = (1 - confidence) / (len(NAMES) - 1)
        probabilities[row, answer] = confidence
    return Verdicts.of(probabilities, [answer[0] for answer in answers])


def test_what_the_model_cannot_tell_is_neither_shown_nor_called_harmless() -> None:
    told = [("en", 12), ("other", 12), ("en", 1), ("de", 12)]  # only the first may be shown at 0.5
    pages = [replace(page("wcxb", HEALTH), read_language=language) for language, _ in told] * 10
    probabilities = np.tile(np.array([[0.5, 0.1, 0.1, 0.1, 0.1, 0.1]], np.float32), (40, 1))
    found = headline_numbers(Verdicts.of(probabilities, pages, [known for _, known in told] * 10), 0.5)
    assert found["recall"]["health"] == 0.25
    assert found["called_harmless"] == 0
    assert headline_numbers(Verdicts.of(probabilities, pages), 0.6)["called_harmless"] == 1  # with two answers only


def test_a_topic_below_the_threshold_is_neither_a_false_alarm_nor_a_hit() -> None:
    found = headline_numbers(
        verdicts(
            [(page("wcxb", NON_SENSITIVE), HEALTH, 0.59)] * 10
            + [(page("wcxb", HEALTH), HEALTH, 0.59)] * 5
            + [(page("wcxb", HEALTH), HEALTH, 0.61)] * 5
        ),
        0.6,
    )
    assert found["false_alarms"][Kind.ORDINARY] == 0
    assert found["recall"]["health"] == 0.5


def test_a_page_with_the_wrong_topic_is_missed() -> None:
    found = headline_numbers(verdicts([(page("medquad", HEALTH), POLITICS, 0.9)] * 10), 0.6)
    assert found["recall"]["health"] == 0
    assert found["recall"]["politics"] is None
    assert found["mean_recall"] == 0


def test_a_large_source_counts_as_much_as_a_small_one() -> None:
    answers = [(page("wcxb", NON_SENSITIVE), NON_SENSITIVE, 0.9)] * 90
    answers += [(page("recipe_sites_html", NON_SENSITIVE), HEALTH, 0.9)] * 10
    found = headline_numbers(verdicts(answers), 0.6)["false_alarms"]
    assert found[Kind.ORDINARY] == 0.5
    assert found[Kind.DIFFICULT] is None
    assert found["all"] == 0.5


def test_a_source_with_few_pages_does_not_count() -> None:
    answers = [(page("wcxb", NON_SENSITIVE), NON_SENSITIVE, 0.9)] * 10
    answers += [(page("recipe_sites_html", NON_SENSITIVE), HEALTH, 0.9)] * 9
    assert headline_numbers(verdicts(answers), 0.6)["false_alarms"]["all"] == 0


def test_confident_answers_are_counted_by_whether_they_are_right() -> None:
    answers = [(page("wcxb", NON_SENSITIVE), NON_SENSITIVE, 0.995)] * 30
    answers += [(page("wcxb", NON_SENSITIVE), HEALTH, 0.995)] * 5 + [(page("wcxb", HEALTH), HEALTH, 0.995)] * 5
    answers += [(page("wcxb", HEALTH), POLITICS, 0.93)] * 40
    above = calibration(verdicts(answers))["right_above"]
    assert above["0.99"]["all"] == pytest.approx(35 / 40)
    assert above["0.99"]["shown"] == pytest.approx(5 / 10)
    assert above["0.9"]["right_of_pages"] == pytest.approx(35 / 80)


@pytest.fixture(scope="module")
def measured() -> dict[str, object]:
    answers = [(page("wcxb", NON_SENSITIVE, words=8), NON_SENSITIVE, 0.9)] * 10
    answers += [(page("wcxb", NON_SENSITIVE, words=400), HEALTH, 0.9)] * 10
    answers += [(page("medquad", HEALTH), HEALTH, 0.7)] * 10
    answers += [(page("alexa_homepages_a", NON_SENSITIVE, "de"), HEALTH, 0.7)] * 3
    answers += [(page("web_unlabelled", NON_SENSITIVE), HEALTH, 0.8)] * 2
    answers += [(page("web_unlabelled", NON_SENSITIVE), NON_SENSITIVE, 0.8)] * 6
    return measure(verdicts(answers), 0.6)


def test_lengths_languages_and_unlabelled_pages_are_measured_apart(measured: dict) -> None:
    assert measured["english"]["false_alarms"]["all"] == 0.5
    assert measured["by_length"]["headline"]["false_alarms"]["all"] == 0
    assert measured["by_length"]["300 words and more"]["false_alarms"]["all"] == 1
    assert measured["by_language"]["de"]["false_alarms"]["all"] == 1
    assert measured["other_languages"]["false_alarms"]["all"] == 1
    assert measured["unlabelled_letters"] == {"en": 0.25}
    assert "web_unlabelled" not in measured["by_source"]


def test_the_curve_falls_with_the_threshold(measured: dict) -> None:
    at = {point["threshold"]: point for point in measured["curve"]}
    assert at[0.6]["mean_recall"] == 1
    assert at[0.75]["mean_recall"] == 0
    assert at[0.95]["false_alarms"]["all"] == 0


def test_the_lowest_threshold_allows_two_false_alarms_in_a_hundred_ordinary_pages() -> None:
    answers = [(page("wcxb", NON_SENSITIVE), HEALTH, 0.5 + number / 1000) for number in range(100)]
    assert lowest_threshold(verdicts(answers)) == 0.6
    assert lowest_threshold(verdicts([(page("wcxb", NON_SENSITIVE), HEALTH, 1.0)] * 10)) is None


def test_the_report_has_a_column_for_each_model_and_the_goals(measured: dict) -> None:
    text = markdown({"old": measured, "new": measured})
    assert "| false alarms, ordinary web pages | 50.00 | 50.00 | at most 2.0 |" in text
    assert "| recall, health | 100.0 | 100.0 | at least 70.0 |" in text
    assert "## By source, English, in per cent: new, threshold 0.6" in text
    assert "(evaluation.svg)" in text


def test_the_report_names_the_threshold_of_each_column_and_says_what_it_holds(measured: dict) -> None:
    text = markdown({OLD: measured, RECIPE: measured | {"threshold": 0.45}, "another": measured})
    headings = f"{OLD}, threshold 0.6 | {RECIPE}, threshold 0.45 | another, threshold 0.6 |"
    assert text.count(headings) == 4  # of all tables in which the threshold matters
    for name in (OLD, RECIPE, "another"):
        assert text.count(f"- **{name}**: ") == 1


SURE = [
    *[(page("medquad", HEALTH), HEALTH, 0.995)] * 10,
    *[(page("party_sites_html", POLITICS), POLITICS, 0.995)] * 20,
    *[(page("party_sites_html", POLITICS), HEALTH, 0.995)] * 20,
]


def test_the_report_has_the_goal_for_confident_classes(measured: dict) -> None:
    text = markdown({"one": measured | {"calibration": calibration(verdicts(SURE))}})
    row = "right, of classes given with more than 0.99"
    assert f"| {row}, mean over sources | 75.0 | at least 98.0 |" in text
    assert f"| {row}, all pages together | 60.0 | at least 98.0 |" in text
    assert "| above 0.99 | 75.0 / 75.0 / 60.0 | at least 98.0 |" in text


SURE = [
    *[(page("medquad", HEALTH), HEALTH, 0.995)] * 10,
    *[(page("party_sites_html", POLITICS), POLITICS, 0.995)] * 20,
    *[(page("party_sites_html", POLITICS), HEALTH, 0.995)] * 20,
]


@pytest.mark.parametrize(("threshold", "said"), [(0.6, "is lower than 0.9"), (0.95, "meets both goals")])
def test_the_report_says_whether_the_default_threshold_meets_the_goals(
    measured: dict, threshold: float, said: str
) -> None:
    difficult = [(page("tedium_blog", NON_SENSITIVE), NON_SENSITIVE, 0.9)] * 10
    ordinary = [(page("wcxb", NON_SENSITIVE), HEALTH, 0.9)] * 10 + [(page("medquad", HEALTH), HEALTH, 0.99)] * 10
    text = " ".join(markdown({RECIPE: measure(verdicts(difficult + ordinary), threshold)}).split())
    assert f"The default threshold, {threshold:g}, {said}" in text or f"{threshold:g}, {RECIPE} {said}" in text
    changes = (
        "false alarms on ordinary web pages from 100.00 to 0.00 %, false alarms on difficult text from 0.00 to 0.00 %"
    )
    assert (changes in text) == (threshold == 0.6)


def test_a_recipe_that_lacks_an_ingredient_has_a_row_and_no_column(measured: dict) -> None:
    text = markdown({OLD: measured, RECIPE: measured, "without boilerplate": measured})
    ingredients = text.split("## What each ingredient brings")[1].split("##")[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in ingredients.splitlines() if line.startswith("|")][2:]
    assert rows == ["this recipe, with all ingredients", "menus, notices and legal text left in the pages"]
    assert "without boilerplate" not in text


def test_every_ingredient_that_can_be_left_out_has_a_name_in_the_report() -> None:
    assert set(LACKING) == set(Ingredient)


def test_the_curves_are_drawn_the_same_each_time(measured: dict) -> None:
    drawn = svg({"old": measured, "new": measured})
    assert drawn == svg({"old": measured, "new": measured})
    assert ">false alarms<" in drawn
    assert ">old<" in drawn
