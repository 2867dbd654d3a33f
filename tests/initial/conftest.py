import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from eitr.initial.material import material
from eitr.taxonomy import NAMES


def news_row(random: np.random.Generator, label: int) -> str:
    """Eight words of a class's lexicon and common ones around them, as a headline of a made-up newspaper."""
    topical = random.choice(sorted(material().words(label)), 8)
    common = random.choice(["annual", "gathering", "morning", "report", "neighbour", "question"], 3)
    return " ".join([*topical, *common])


@pytest.fixture(scope="session")
def toy_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder of the real one's shape, of generated words."""
    folder = tmp_path_factory.mktemp("data")
    random = np.random.Generator(np.random.PCG64(0))
    for name in ("news_rows", "news_sections", "newsgroups", "covid_pages"):
        split = ("truth", "study") if name == "covid_pages" else ("train", "test")
        more = [{"section": f"section {number % 18}", "split": split[number >= 180]} for number in range(240)]
        write_rows(folder / f"{name}.jsonl.gz", [generated_row(random, n) | row for n, row in enumerate(more)])
    return folder


@pytest.fixture(scope="session")
def toy_sources(toy_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with files of real sources' names, of which one has no labels and some pages are in German."""
    folder = tmp_path_factory.mktemp("sources")
    shutil.copytree(toy_data, folder, dirs_exist_ok=True)
    (folder / "pages").mkdir()
    random = np.random.Generator(np.random.PCG64(1))
    for name in ("alexa_homepages_a", "agnews_test", "medquad"):
        language = [{"lang": "de" if number >= 90 else "en", "id": f"{name}:{number}"} for number in range(120)]
        rows = [generated_row(random, n) | row for n, row in enumerate(language)]
        write_rows(folder / "pages" / f"{name}.jsonl.gz", rows)
    unlabelled = [generated_row(random, len(NAMES) - 1) | {"lang": "en"} for _ in range(30)]
    write_rows(folder / "web_unlabelled.jsonl.gz", [row | {"label": None} for row in unlabelled])
    return folder


def generated_row(random: np.random.Generator, number: int) -> dict[str, object]:
    """A page of the class whose turn it is."""
    label = number % len(NAMES)
    title, more = news_row(random, label), news_row(random, label)
    return {"title": title, "text": f"{title}. {more}", "label": NAMES[label]}


def write_rows(path: Path, rows: list[dict[str, object]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
