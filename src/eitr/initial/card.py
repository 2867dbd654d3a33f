"""The model card: what the model was made of, how good it is, and where it fails, in Markdown."""

from collections.abc import Mapping, Sequence

from eitr.initial.evaluation import Evaluation
from eitr.initial.fit import Recipe
from eitr.initial.material import Material
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
) -> str:
    """Return the card's text."""
    return "\n".join(
        [
            "# Model card: the initial model",
            "",
            "Written by the command that trained the model: edit `src/eitr/initial/card.py` instead.",
            "",
            *_in_a_hurry(),
            *_weaknesses(),
            *_what(date, seed, forms),
            *_results(evaluations),
            *_data(material, rows, real_pages),
            *_recipe(recipe),
        ]
    )


def _in_a_hurry() -> list[str]:
    return [
        "## In a hurry",
        "",
        "**Good at**: whole pages in English about one topic. Of sources that it was not trained on, about 7 of 10",
        "sensitive pages get the right letter (home pages on health, politics and religion: 9 of 10), and 2 of 100",
        "ordinary pages get a letter that they should not have (version 0.1: 4 of 100, and slightly more found). Of",
        "random English home pages 8 of 100 get a letter, where about 3 are sensitive; in German 14.",
        "",
        "**Not good at**: headlines and other short texts, ethnicity, news of another time, and pages next to a topic,",
        "such as the office that issues visas. German, Spanish, French, Italian and Portuguese it knows from a list of",
        "words; there it rather says that it cannot tell. Other languages it does not know: it says so, unless it",
        "takes one for a relative, such as Catalan for Spanish.",
        "",
        "**Measured on sources that were left out of training**, as the badge shows it (English, each number a mean",
        "over sources; `python -m eitr.initial --evaluate --data-dir DIR` repeats it):",
        "",
        *_table(
            ["in per cent", "version 0.1", "this model's recipe", "goal"],
            [
                ["false alarms, ordinary pages", "4.1", "2.0", "at most 2"],
                ["false alarms, difficult text (news, posts, offices)", "18.7", "10.7", "at most 12"],
                ["sensitive pages that get the right letter, mean of the topics", "71.2", "67.8", "at least 80"],
                ["health, politics, religion", "77, 80, 76", "69, 74, 71", "at least 70"],
                ["sexual orientation, ethnicity", "80, 43", "79, 47", "at least 70"],
                ["five other languages: right letter", "41.3", "69.1", ""],
                ["five other languages: false alarms", "3.2", "1.3", "at most 8"],
                ["five other languages: sensitive, but called not sensitive", "62.8", "0.0", "none"],
            ],
        ),
        "",
        "A page gets a letter if the topic has at least 45 %, 60 % in the five other languages. Otherwise it is called",
        "not sensitive, in English or where it is too short to tell its language, or the model cannot tell: too few",
        "known words, another language, or too close (`src/eitr/model/answer.py`).",
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
        *_table(["set", *header], [[name, *line] for name, line in zip(evaluations, lines, strict=True)]),
        "",
    ]


def _weaknesses() -> list[str]:
    return [
        "## Known weaknesses",
        "",
        "- A headline or a short post has two or three known words: about half of the sensitive ones are found.",
        "- Ethnicity is the class most often missed, and often taken for politics.",
        "- In the five other languages its words are ours: it knows no topic that we did not think of.",
        "- A bag of words knows neither order nor irony. Words with several meanings mislead it (a computer virus, a",
        "  heavenly cake), and it knows no word that we did not think of. All rare words of a subtopic are one to it.",
        "- Its highest confidences are a little too high: of predictions above 99 %, 96 % are right on sources that",
        "  were left out.",
        "- Classes overlap: the politics of race, the faith of a people, the rights of gay couples. The model picks",
        "  one class; look at the second most probable one, too.",
        "- The training data is American, and our own material reflects our own idea of the topics.",
        "- It classifies pages, not people. Do not use it to infer anything about a person.",
        "",
    ]


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"
