"""From the data folder to the files of the package: vocabulary, model, card, numbers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from eitr.initial.card import card
from eitr.initial.classifier import headlines_and_pages, make_classifier, with_more_sketches
from eitr.initial.corpus import Labelled, has_rows, read_rows, validation_pages
from eitr.initial.evaluation import Evaluation, evaluate
from eitr.initial.fit import Progress, Recipe
from eitr.initial.material import material
from eitr.initial.sources import Pages, for_training, read_sources
from eitr.initial.yardstick_report import Measured
from eitr.io.atomic import write_together
from eitr.model import Classifier, Network, Vector
from eitr.model.files import to_safetensors
from eitr.pages.language import LANGUAGES
from eitr.pages.vocabulary import Vocabulary

SEED = 1

Sets = dict[str, list[Labelled]]


@dataclass(frozen=True, slots=True)
class Report:
    """What was built and how good it is."""

    vocabulary: Vocabulary
    network: Network
    vector: Vector
    evaluations: dict[str, Evaluation]


def build(
    data_dir: Path,
    out_dir: Path,
    seed: int = SEED,
    progress: Progress = print,
    *,
    date: str = "not given",
    recipe: Recipe | None = None,
    measured: Measured | None = None,
    unknown: Collection[str] = (),
) -> Report:
    """Choose the words, train, judge, and write all files to `out_dir`; nothing is written if a step fails.

    `data_dir` must hold `news_rows.jsonl.gz` and `news_sections.jsonl.gz`; the sets that are there only to judge
    by are used where they exist. The same data and seed give the same bytes on the same machine.

    `measured` is what the yardstick found on sources that were left out, for the card. `unknown` words get no place in
    the vocabulary, and pages that use them are not trained on.
    """
    recipe = recipe or Recipe()
    progress("reading the data")
    sets = _evaluation_sets(data_dir)
    training = for_training(read_sources(data_dir))
    classifier = make_classifier(training, recipe, seed, progress, unknown)
    vocabulary, (network, vector) = classifier.vocabulary, classifier.model
    progress("evaluating the model")
    evaluations = _evaluated(classifier, sets)
    text = _card(classifier, training, recipe, seed, date, evaluations, measured)
    out_dir.mkdir(parents=True, exist_ok=True)
    files = {
        "model.safetensors": to_safetensors(network, vector),
        "vocabulary.json": vocabulary.to_json().encode(),
        "MODEL_CARD.md": text.encode(),
    }
    write_together({out_dir / name: data for name, data in files.items()})
    return Report(vocabulary, network, vector, evaluations)


def rewrite_card(
    data_dir: Path, folder: Path, seed: int = SEED, *, date: str = "not given", measured: Measured | None = None
) -> dict[str, Evaluation]:
    """Write the card of the model in a folder, which was built from the same data, and return its evaluations."""
    classifier = Classifier.load(folder)
    evaluations = _evaluated(classifier, _evaluation_sets(data_dir))
    text = _card(classifier, for_training(read_sources(data_dir)), Recipe(), seed, date, evaluations, measured)
    write_together({folder / "MODEL_CARD.md": text.encode()})
    return evaluations


def _evaluated(classifier: Classifier, sets: Sets) -> dict[str, Evaluation]:
    network, vector = classifier.model
    return {name: evaluate(network, vector, classifier.vocabulary, pages) for name, pages in sets.items()}


def _card(
    classifier: Classifier,
    training: Pages,
    recipe: Recipe,
    seed: int,
    date: str,
    evaluations: Mapping[str, Evaluation],
    measured: Measured | None,
) -> str:
    rows, sources = headlines_and_pages(training)
    return card(
        date=date,
        seed=seed,
        recipe=recipe,
        material=with_more_sketches(material()),
        rows=len(rows),
        real_pages={name: len(pages) for name, pages in sources.items()},
        forms=len(classifier.vocabulary.forms),
        evaluations=evaluations,
        measured=measured,
    )


def _evaluation_sets(data_dir: Path) -> Sets:
    """Return the sets of the card; of the English validation pages, every other one served to choose the recipe."""
    news, sections = read_rows(data_dir, "news_rows"), read_rows(data_dir, "news_sections")
    sets: Sets = {
        "news rows, test": [row for row in news if row.split == "test"],
        "news sections, test": [page for page in sections if page.split == "test"],
    }
    if has_rows(data_dir, "newsgroups"):
        sets["newsgroups"] = read_rows(data_dir, "newsgroups")
    if has_rows(data_dir, "covid_pages"):
        covid = read_rows(data_dir, "covid_pages")
        sets |= {f"COVID-19, {split}": [page for page in covid if page.split == split] for split in ("truth", "study")}
    pages = validation_pages()
    english = [page for page in pages if page.language == LANGUAGES[0]]
    sets |= {
        "validation, held back": english[1::2],
        "validation, English": english,
        "validation, other languages": [page for page in pages if page.language != LANGUAGES[0]],
    }
    return {name: pages for name, pages in sets.items() if pages}
