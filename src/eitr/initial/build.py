"""From the data folder to the files of the package: vocabulary, model, card, numbers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eitr.initial.card import Comparison, card
from eitr.initial.classifier import TEMPERATURE, calibrated_fit, headlines_and_pages, make_classifier, network_for
from eitr.initial.corpus import Labelled, has_rows, read_rows, validation_pages
from eitr.initial.evaluation import Evaluation, evaluate
from eitr.initial.fit import Progress, Recipe
from eitr.initial.material import Material, material
from eitr.initial.sources import Pages, for_training, read_sources
from eitr.initial.vocabulary_choice import balanced, informed, plain, weighted
from eitr.io.atomic import write_together
from eitr.model import Network, Vector
from eitr.model.files import to_safetensors
from eitr.pages.vocabulary import Vocabulary

SEED = 1
SHIPPED = "with forms"
"""What the comparison calls the way that was taken."""
COMPARISON_FILE = "vocabulary_comparison.json"

Sets = dict[str, list[Labelled]]


@dataclass(frozen=True, slots=True)
class Report:
    """What was built and how good it is."""

    vocabulary: Vocabulary
    network: Network
    vector: Vector
    evaluations: dict[str, Evaluation]
    comparison: Comparison


def build(
    data_dir: Path,
    out_dir: Path,
    seed: int = SEED,
    progress: Progress = print,
    *,
    date: str = "not given",
    compare: bool = False,
    recipe: Recipe | None = None,
) -> Report:
    """Choose the words, train, judge, and write all files to `out_dir`; nothing is written if a step fails.

    `data_dir` must hold `news_rows.jsonl.gz` and `news_sections.jsonl.gz`; the sets that are there only to judge
    by are used where they exist. The same data and seed give the same bytes on the same machine.
    """
    recipe = recipe or Recipe()
    ours = material()
    progress("reading the data")
    news, sections = read_rows(data_dir, "news_rows"), read_rows(data_dir, "news_sections")
    training = for_training(read_sources(data_dir))
    rows, sources = headlines_and_pages(training)
    sets = _evaluation_sets(data_dir, news, sections)
    classifier = make_classifier(training, recipe, seed, progress)
    vocabulary, (network, vector) = classifier.vocabulary, classifier.model
    progress("evaluating the model")
    evaluations = {name: evaluate(network, vector, vocabulary, pages) for name, pages in sets.items()}
    if compare:
        train_pages = [page for page in sections if page.split == "train"]
        bare = replace(recipe, mixture=replace(recipe.mixture, written=0.0, strewn=0.0, stray=0.0))
        ways = {
            "plain top 1000": (weighted(plain(train_pages), rows), recipe),
            "class-balanced": (weighted(balanced(rows), rows), recipe),
            "reserved and class-balanced": (weighted(informed(rows, ours), rows), recipe),
            SHIPPED: (vocabulary, recipe),
            "the same, no pages of ours": (vocabulary, bare),
        }
        comparison = _compare(ways, {SHIPPED: evaluations}, rows, sources, sets, ours, seed, progress)
    else:
        comparison = _read_comparison(out_dir / COMPARISON_FILE)
    text = card(
        date=date,
        seed=seed,
        recipe=recipe,
        material=ours,
        rows=len(rows),
        real_pages={name: len(pages) for name, pages in sources.items()},
        forms=len(vocabulary.forms),
        evaluations=evaluations,
        comparison=comparison,
        temperature=TEMPERATURE,
    )
    out_dir.mkdir(parents=True, exist_ok=True)
    files = {
        "model.safetensors": to_safetensors(network, vector),
        "vocabulary.json": vocabulary.to_json().encode(),
        "MODEL_CARD.md": text.encode(),
        COMPARISON_FILE: _as_json(comparison),
    }
    write_together({out_dir / name: data for name, data in files.items()})
    return Report(vocabulary, network, vector, evaluations, comparison)


def _evaluation_sets(data_dir: Path, news: Sequence[Labelled], sections: Sequence[Labelled]) -> Sets:
    """Return the sets of the card; of the validation pages, every other one served to choose the recipe."""
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
    sets |= {"validation, held back": pages[1::2], "validation, all": pages}
    return {name: pages for name, pages in sets.items() if pages}


def _compare(
    ways: Mapping[str, tuple[Vocabulary, Recipe]],
    measured: Mapping[str, dict[str, Evaluation]],
    rows: Sequence[Labelled],
    sources: Pages,
    sets: Sets,
    ours: Material,
    seed: int,
    progress: Progress,
) -> dict[str, dict[str, Evaluation]]:
    """Train a model for each way to choose the words that is not measured yet, and judge them all."""
    comparison: dict[str, dict[str, Evaluation]] = {}
    for name, (vocabulary, recipe) in ways.items():
        if name in measured:
            comparison[name] = measured[name]
            continue
        progress(f"comparing: {name}")
        vector = calibrated_fit(vocabulary, rows, sources, ours, recipe, seed, progress)
        network = network_for(vocabulary)
        comparison[name] = {key: evaluate(network, vector, vocabulary, pages) for key, pages in sets.items()}
    return comparison


def _as_json(comparison: Comparison) -> bytes:
    content = {
        name: {key: evaluation.as_json() for key, evaluation in evaluations.items()}
        for name, evaluations in comparison.items()
    }
    return (json.dumps(content, indent=1) + "\n").encode()


def _read_comparison(path: Path) -> dict[str, dict[str, Evaluation]]:
    """Return the comparison of an earlier run; nothing where there is none."""
    if not path.exists():
        return {}
    content = json.loads(path.read_text("utf-8"))
    return {
        name: {key: Evaluation(**numbers) for key, numbers in evaluations.items()}
        for name, evaluations in content.items()
    }
