"""The model card: what the model was made of, how good it is, and where it fails, in Markdown."""

from collections.abc import Mapping, Sequence

from eitr.initial.evaluation import Evaluation
from eitr.initial.fit import Recipe
from eitr.initial.material import Material
from eitr.taxonomy import NAMES

Comparison = Mapping[str, Mapping[str, Evaluation]]
"""Name of a way to choose the words -> name of a set of pages -> how the model trained with it does."""


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
    comparison: Comparison,
    temperature: float,
) -> str:
    """Return the card's text."""
    return "\n".join(
        [
            "# Model card: the initial model",
            "",
            "Written by the command that trained the model: edit `src/eitr/initial/card.py` instead.",
            "",
            *_what(date, seed, forms),
            *_data(material, rows, real_pages),
            *_recipe(recipe, temperature),
            *_results(evaluations),
            *_comparison(comparison),
            *_weaknesses(),
        ]
    )


def _what(date: str, seed: int, forms: int) -> list[str]:
    return [
        "## What it is",
        "",
        "It says which of six classes an English web page belongs to: " + ", ".join(NAMES) + ".",
        "It reads title, description, keywords and text as a bag of words: TF-IDF of 1000 words, then a network of",
        f"1000-256-32-6 units (ReLU, softmax). {forms} further words count as one of the thousand: inflections,",
        "spellings, and rare words, which share an input with others of their subtopic. So it knows "
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
        f"- {sum(real_pages.values())} real pages in English from {len(real_pages)} sources, none in the package: "
        + ", ".join(f"{name} {count}" for name, count in sorted(real_pages.items()))
        + ". Those of web_unlabelled have no labels and count as not sensitive; about 3 % of them are sensitive.",
        f"- Written by us: a lexicon of {words} words in {subtopics} subtopics (`lexicon.json`), {sketches} sketches",
        "  of pages (`eitr/initial/material/sketches.txt`).",
        "- Not trained on: 20 Newsgroups, COVID-19 pages, `validation.jsonl`, and half of five sources, which",
        "  `eitr/initial/sources.py` names.",
        "",
    ]


def _recipe(recipe: Recipe, temperature: float) -> list[str]:
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
        f"- Calibration: the last layer is divided by a temperature of {temperature:g}.",
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
        "## How good it is",
        "",
        "Numbers are percentages; a column with the name of a class is its recall. The recipe was chosen on a part of",
        "the newsgroup posts, the COVID-19 pages and every second validation page, so numbers that include them are",
        "slightly too good. The validation pages marked `held back` had no influence on any decision; there are so few",
        "of them that their accuracy is known to about five points only. The model was not trained on text of these",
        "sets. However, we read some of its errors on COVID-19 pages and newsgroup posts and then wrote sketches of",
        "forum posts and classified advertisements, of debates about guns and God, and of pages that mention the",
        "pandemic and are about something else.",
        "",
        *_table(["set", *header], [[name, *line] for name, line in zip(evaluations, lines, strict=True)]),
        "",
    ]


def _comparison(comparison: Comparison) -> list[str]:
    if not comparison:
        return ["## The vocabularies compared", "", "Not measured; run `python -m eitr.initial --compare`.", ""]
    sets = list(next(iter(comparison.values())))
    return [
        "## The vocabularies compared",
        "",
        "Accuracy / macro recall in per cent, of models that differ only in the words they know: same kinds of pages,",
        "same training, same seed. Only the last two lines have forms; the last one was trained without our own pages.",
        "",
        *_table(
            ["words", *sets],
            [
                [
                    name,
                    *(f"{_percent(found.accuracy)} / {_percent(found.macro_recall)}" for found in evaluations.values()),
                ]
                for name, evaluations in comparison.items()
            ],
        ),
        "",
    ]


def _weaknesses() -> list[str]:
    return [
        "## Known weaknesses",
        "",
        "- On English pages from 24 sources that it was neither trained nor selected on, it puts 11 % of the ordinary",
        "  pages into a topic at the default threshold of 60 %, and recognises 81 % of the sensitive ones (ethnicity",
        "  64 %).",
        "- It does not say that it does not know. A page with few known words gets a class all the same, mostly",
        "  non-sensitive, because of words in its menu or footer.",
        "- English only. Of pages in other languages, 11 % of the ordinary ones get a topic, and about three in ten of",
        "  the sensitive ones are recognised.",
        "- Text around the content counts. About 60 words of navigation and cookie banner can hide a short sensitive",
        "  page.",
        "- A bag of words knows neither order nor irony. Words with several meanings mislead it (a computer virus, a",
        "  heavenly cake), and it knows no word that we did not think of. All rare words of a subtopic are one to it.",
        "- Its highest confidences are too high: of predictions above 99 %, 97 % are right on COVID-19 pages and",
        "  90 % on newsgroup posts. A headline alone has two or three known words; its probabilities mean little.",
        "- Classes overlap: the politics of race, the faith of a people, the rights of gay couples. The model picks",
        "  one class; look at the second most probable one, too. Ethnicity is the class most often missed.",
        "- The training data is American, and our own material reflects our own idea of the topics.",
        "- It classifies pages, not people. Do not use it to infer anything about a person.",
        "",
    ]


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"
