"""The model card: what the model was made of, how good it is, and where it fails, in Markdown."""

from collections.abc import Mapping, Sequence

from eitr.initial.fit import Recipe
from eitr.initial.judgement import Judgement
from eitr.initial.material import Material
from eitr.taxonomy import NAMES

Comparison = Mapping[str, Mapping[str, Judgement]]
"""Name of a way to choose the words -> name of a set of pages -> how the model trained with it does."""


def card(
    *,
    date: str,
    seed: int,
    recipe: Recipe,
    material: Material,
    rows: int,
    forms: int,
    judgements: Mapping[str, Judgement],
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
            *_data(material, rows),
            *_recipe(recipe, temperature),
            *_results(judgements),
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
        "Browsers start from it and improve it together.",
        "",
        f"Date: {date}. Seed: {seed}. Files: `model.safetensors` and `vocabulary.json`. Licence: Apache-2.0.",
        "",
    ]


def _data(material: Material, rows: int) -> list[str]:
    words = sum(len(material.words(label)) for label in range(len(NAMES)))
    subtopics = sum(map(len, material.lexicon))
    sketches = sum(map(len, material.sketches))
    return [
        "## What it was trained on",
        "",
        f"- {rows} headlines with summaries, HuffPost 2012-2018 (News Category Dataset), the training split;",
        "  none of them is in the package.",
        f"- Written by us: a lexicon of {words} words in {subtopics} subtopics (`lexicon.json`), {sketches} sketches",
        "  of pages (`eitr/initial/material/sketches.txt`).",
        "- Not trained on: 20 Newsgroups, COVID-19 pages, `validation.jsonl`.",
        "",
    ]


def _recipe(recipe: Recipe, temperature: float) -> list[str]:
    mixture = recipe.mixture
    rates = ", ".join(f"{rate:g}" for rate in recipe.rates)
    return [
        "## How",
        "",
        "- Words: those we reserved, by our knowledge of the topics, then those that speak most for each class in the",
        "  headlines and sketches, each class having a share; some names in the news of those years are left out.",
        "- Forms: inflections found by rule, a list of our own, words of a class that begin alike, and one group for",
        "  what is left of each subtopic of the lexicon (`eitr/initial/forms.py`). Many plurals are made by rule: some",
        "  of the words that the model knows do not exist.",
        f"- Pages: {recipe.pages} are made, {mixture.written:.0%} of our material alone, the others of 1 to 59",
        "  headlines of one class. Words of the lexicon, common words and chatter about other things are added, and",
        "  words are lost at random (`eitr/initial/augmentation.py`).",
        f"  {mixture.classes[-1]:.0%} of the pages are not sensitive.",
        f"- Training: `eitr.model.train`, without torch; a pass each at the learning rates {rates}, then the mean of",
        f"  {recipe.averaged} more passes; momentum {recipe.momentum:g}, dropout {recipe.dropout:g}, batches of "
        f"{recipe.batch_size}.",
        f"- Calibration: the last layer is divided by a temperature of {temperature:g}.",
        "",
    ]


def _results(judgements: Mapping[str, Judgement]) -> list[str]:
    header = ["pages", "accuracy", "macro recall", *NAMES, "mean confidence", "calibration error"]
    lines = [
        [
            str(judgement.pages),
            _percent(judgement.accuracy),
            _percent(judgement.macro_recall),
            *(_percent(judgement.recall.get(name)) for name in NAMES),
            _percent(judgement.confidence),
            _percent(judgement.calibration_error),
        ]
        for judgement in judgements.values()
    ]
    return [
        "## How good it is",
        "",
        "In per cent; a column with the name of a class is its recall. The recipe was chosen by a part of the",
        "newsgroup posts, the COVID-19 pages and every other validation page: numbers that include them are a bit",
        "too good. `held back` marks the validation pages that played no part in any decision; there are so few that",
        "their accuracy is known to about five points only. No text of these sets was trained on, but some errors on",
        "COVID-19 pages and newsgroup posts were read, and led us to write sketches: of forum posts and classified",
        "advertisements, of debates about guns and God, of pages that mention the pandemic and are about something",
        "else.",
        "",
        *_table(["set", *header], [[name, *line] for name, line in zip(judgements, lines, strict=True)]),
        "",
    ]


def _comparison(comparison: Comparison) -> list[str]:
    if not comparison:
        return ["## The vocabularies compared", "", "Not measured; run `python -m eitr.initial --compare`.", ""]
    sets = list(next(iter(comparison.values())))
    return [
        "## The vocabularies compared",
        "",
        "Accuracy / macro recall in per cent, of models that differ in the words they know only: same kinds of pages,",
        "same training, same seed. Only the last two lines have forms; the last one has no pages of ours.",
        "",
        *_table(
            ["words", *sets],
            [
                [
                    name,
                    *(f"{_percent(found.accuracy)} / {_percent(found.macro_recall)}" for found in judgements.values()),
                ]
                for name, judgements in comparison.items()
            ],
        ),
        "",
    ]


def _weaknesses() -> list[str]:
    return [
        "## Known weaknesses",
        "",
        "- English only. A page in another language has few of the words or none, and is then called non-sensitive.",
        "- A bag of words knows no order, no irony and no word we did not think of: a page that names such a disease",
        "  and nothing else medical is missed. All rare words of a subtopic are the same to it.",
        "- A headline alone has two or three known words; be careful with its probabilities.",
        "- Classes overlap: the politics of race, the faith of a people, the rights of gay couples. The model picks",
        "  one class; look at the second most probable too. Ethnicity is the class most often missed.",
        "- The training data is American, and our own material carries our own idea of the topics.",
        "- It classifies pages, not people. Do not use it to infer anything about a person.",
        "",
    ]


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"
