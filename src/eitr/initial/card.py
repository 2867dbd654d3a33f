"""The model card: what the model was made of, how good it is, and where it fails, in Markdown.

Its numbers are computed: on single sets when the model is built, and on sources that were left out of training from a
saved evaluation (`eitr.initial.yardstick`).
"""

from collections.abc import Mapping
from typing import Any

from eitr.initial.evaluation import Evaluation
from eitr.initial.fit import Recipe
from eitr.initial.material import Material
from eitr.initial.sources import Kind
from eitr.initial.yardstick import CONFIDENCES, LEAST_RIGHT, LENGTHS
from eitr.initial.yardstick_report import OLD, RECIPE, Measured, headings, on_few_words, summary_rows, table, wrapped
from eitr.model.answer import THRESHOLD, THRESHOLD_NOT_ENGLISH
from eitr.taxonomy import NAMES


def card(
    *,
    date: str,
    seed: int,
    recipe: Recipe,
    material: Material,
    rows: int,
    real_pages: Mapping[str, int],
    forms: int,
    evaluations: Mapping[str, Evaluation],
    measured: Measured | None = None,
) -> str:
    """Return the card's text; `measured` is what the yardstick found on sources that were left out of training."""
    return "\n".join(
        [
            "# Model card: the initial model",
            "",
            "Written by the command that trained the model: edit `src/eitr/initial/card.py` instead.",
            "",
            *_in_a_hurry(measured or {}),
            *_weaknesses(measured or {}),
            *_what(date, seed, forms),
            *_results(evaluations),
            *_data(material, rows, real_pages),
            *_recipe(recipe),
        ]
    )


def _in_a_hurry(measured: Measured) -> list[str]:
    return [
        "## In a hurry",
        "",
        *wrapped(f"**Good at**: whole pages in English about one topic.{_found(measured)}"),
        "",
        "**Not good at**: headlines and other short texts, ethnicity, news of another time, and pages next to a topic,",
        "such as the office that issues visas. German, Spanish, French, Italian and Portuguese it knows from a list of",
        "words; there it rather says that it cannot tell. Other languages it does not know: it says so, unless it",
        "takes one for a relative, such as Asturian for Spanish.",
        "",
        *_left_out(measured),
        *wrapped(
            f"A page gets the letter of a topic that has at least {_whole(THRESHOLD)} %. In the five other languages "
            f"the topic needs {_whole(THRESHOLD_NOT_ENGLISH)} %, and on a page of which the model knows few words "
            f"{on_few_words()}. Otherwise the page is called not sensitive, if it is in English or too short to tell "
            "its language, or the model cannot tell: too few known words, another language, or too close "
            "(`src/eitr/model/answer.py`)."
        ),
        "",
    ]


def _found(measured: Measured) -> str:
    """Return the most important results as sentences; nothing where there are none."""
    if RECIPE not in measured:
        return ""
    of = measured[RECIPE]
    home_pages = of["by_source"].get("alexa_homepages_a", {"recall": {}})["recall"]
    clear = [home_pages[topic] for topic in ("health", "politics", "religion") if topic in home_pages]
    text = f" Of sources that it was not trained on, {_whole(of['english']['mean_recall'])} of 100 sensitive pages "
    text += "get the right letter"
    if clear:
        text += f" (home pages on health, politics and religion: {_whole(sum(clear) / len(clear))})"
    text += f", and {_whole(_ordinary(of))} of 100 ordinary pages get a letter that they should not have"
    if old := measured.get(OLD):
        text += f"; with the model of version 0.1 it was {_whole(old['english']['mean_recall'])} and "
        text += _whole(_ordinary(old))
    letters = of["unlabelled_letters"]
    if "en" in letters and "de" in letters:
        text += f". Of random English home pages {_whole(letters['en'])} of 100 get a letter, where about 3 are "
        text += f"sensitive; of German ones {_whole(letters['de'])}"
    return f"{text}."


def _left_out(measured: Measured) -> list[str]:
    """Return the summary of the evaluation: today's recipe beside the model of version 0.1."""
    columns = {name: measured[name] for name in (OLD, RECIPE) if name in measured}
    if not columns:
        return []
    return [
        *wrapped(
            "**Measured on sources that were left out of training**, as the badge shows it, in per cent. Each number "
            "is a mean over sources, in English where no language is named. The column of the recipe is about models "
            "that are made like this one, each without the sources on which it is judged. "
            "[evaluation.md](../../../docs/classifier/evaluation.md) has all numbers and says how they are measured."
        ),
        "",
        *table(["", *headings(columns), "goal"], summary_rows(columns)),
        "",
    ]


def _what(date: str, seed: int, forms: int) -> list[str]:
    return [
        "## What it is",
        "",
        "It says which of six classes a web page belongs to: " + ", ".join(NAMES) + ".",
        "It reads title, description, keywords and text as a bag of words: TF-IDF of 1000 words, then a network of",
        f"1000-256-32-6 units (ReLU, softmax). {forms} further words count as one of the thousand: inflections,",
        "spellings, words of five other languages, and rare words, which share an input with others of their subtopic. "
        "So it knows "
        f"{1000 + forms} words.",
        "A server publishes it as version 1, and participants train it further.",
        "",
        f"Date: {date}. Seed: {seed}. Files: `model.safetensors` and `vocabulary.json`. Licence: Apache-2.0.",
        "",
    ]


def _data(material: Material, rows: int, real_pages: Mapping[str, int]) -> list[str]:
    words = sum(len(material.words(label)) for label in range(len(NAMES)))
    subtopics = sum(map(len, material.lexicon))
    sketches = sum(map(len, material.sketches))
    return [
        "## What it was trained on",
        "",
        f"- {rows} headlines with summaries, HuffPost 2012-2018 (News Category Dataset), the training split;",
        "  none of them is in the package.",
        f"- {sum(real_pages.values())} real pages from {len(real_pages)} sources, most of them English; none is in the "
        "package: "
        + ", ".join(f"{name} {count}" for name, count in sorted(real_pages.items()))
        + ". Those of web_unlabelled have no labels and count as not sensitive; about 3 % of them are sensitive.",
        f"- Written by us: a lexicon of {words} words in {subtopics} subtopics (`lexicon.json`), {sketches} sketches",
        "  of pages in six languages, among them pages that only look sensitive (`eitr/initial/material/`).",
        "- Not trained on: 20 Newsgroups, COVID-19 pages, `validation.jsonl`, and half of five sources, which",
        "  `eitr/initial/sources.py` names.",
        "",
    ]


def _recipe(recipe: Recipe) -> list[str]:
    mixture = recipe.mixture
    rates, further = (", ".join(f"{rate:g}" for rate in each) for each in (recipe.rates, recipe.further_rates))
    return [
        "## How",
        "",
        "- Words: first a list that we chose by our knowledge of the topics, then the words that are most typical of",
        "  each class in the headlines, pieces of real pages and sketches, a fixed share per class. Some names in the",
        "  news of that time and words that few sources use are left out.",
        "- Forms: inflections found by rule, a list of our own, words of a class that begin alike, and one group",
        "  for the other words of each subtopic of the lexicon (`eitr/initial/forms.py`). Many plurals are made by",
        "  rule, so some of the words that the model knows do not exist.",
        f"- Composed pages: {mixture.written:.0%} are made of our material alone, the others of 1 to 59 headlines of",
        "  one class. Words of the lexicon, common words and text about other things are added, and words are removed",
        "  at random (`eitr/initial/augmentation.py`).",
        f"- Real pages: {mixture.whole:.0%} as they are, the others cut to any length; other text is added as well.",
        f"  They make {mixture.real:.0%} of the sensitive pages and {mixture.real_harmless:.0%} of the others.",
        f"  {mixture.classes[-1]:.0%} of all pages are not sensitive.",
        f"- Training: `eitr.model.train`, without torch. First {recipe.pages} pages, no sensitive one of them real, a",
        f"  pass each at the learning rates {rates}, then the mean of {recipe.averaged} more passes. From there,",
        f"  {recipe.pages} pages at the rates {further}. The model is the mean of both, the first counting",
        f"  {recipe.first_share:.0%}. Momentum {recipe.momentum:g}, dropout {recipe.dropout:g}, batches of",
        f"  {recipe.batch_size}.",
        f"- Calibration: the last layer is divided by a temperature of {recipe.temperature:g}.",
        "",
    ]


def _results(evaluations: Mapping[str, Evaluation]) -> list[str]:
    header = ["pages", "accuracy", "macro recall", *NAMES, "mean confidence", "calibration error"]
    lines = [
        [
            str(evaluation.pages),
            _percent(evaluation.accuracy),
            _percent(evaluation.macro_recall),
            *(_percent(evaluation.recall.get(name)) for name in NAMES),
            _percent(evaluation.confidence),
            _percent(evaluation.calibration_error),
        ]
        for evaluation in evaluations.values()
    ]
    return [
        "## On single sets",
        "",
        "Numbers are percentages; a column with the name of a class is its recall. Here the most probable class",
        "counts, whatever its probability. The first two sets are of the newspaper that it was trained on, the others",
        "of sources that it was not trained on. The recipe was chosen by sources that were left out. A look at the",
        "COVID-19 pages showed that pages which only mention the pandemic had become health; we then wrote 70 sketches",
        "of such pages, so its numbers are slightly too good. There are so few validation pages that their accuracy is",
        "known to about four points only.",
        "",
        *table(["set", *header], [[name, *line] for name, line in zip(evaluations, lines, strict=True)]),
        "",
    ]


def _weaknesses(measured: Measured) -> list[str]:
    return [
        "## Known weaknesses",
        "",
        f"- A headline or a short post has two or three known words{_in_headlines(measured)}.",
        "- Ethnicity is the class most often missed, and often taken for politics.",
        "- In the five other languages its words are ours: it knows no topic that we did not think of.",
        "- A bag of words knows neither order nor irony. Words with several meanings mislead it (a computer virus, a",
        "  heavenly cake), and it knows no word that we did not think of. All rare words of a subtopic are one to it.",
        *_above_the_highest(measured),
        "- Classes overlap: the politics of race, the faith of a people, the rights of gay couples. The model picks",
        "  one class; look at the second most probable one, too.",
        "- Most of the training data is American or British, and our own material reflects our own idea of the topics.",
        "- It classifies pages, not people. Do not use it to infer anything about a person.",
        "",
    ]


def _in_headlines(measured: Measured) -> str:
    share = measured[RECIPE]["by_length"][LENGTHS[0][0]]["mean_recall"] if RECIPE in measured else None
    return "" if share is None else f": {_whole(share)} of 100 sensitive ones are found"


def _above_the_highest(measured: Measured) -> list[str]:
    if RECIPE not in measured:
        return []
    least = CONFIDENCES[-1]
    right = measured[RECIPE]["calibration"]["right_above"][str(least)]
    return wrapped(
        f"- Of the classes that it gives with more than {_whole(least)} %, {_percent(right['right_of_pages'])} % are "
        f"right on sources that were left out ({_percent(right['all'])} % as a mean over sources); the goal is "
        f"{_whole(LEAST_RIGHT)} %.",
        "  ",
    )


def _ordinary(of: Mapping[str, Any]) -> float | None:
    share: float | None = of["english"]["false_alarms"][Kind.ORDINARY]
    return share


def _whole(share: float | None) -> str:
    """Return a share in whole per cent, without the sign."""
    return "?" if share is None else f"{100 * share:.0f}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"
