import gzip
import json
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
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            for number in range(240):
                label = number % len(NAMES)
                title, more = news_row(random, label), news_row(random, label)
                split = ("truth", "study") if name == "covid_pages" else ("train", "test")
                row = {
                    "title": title,
                    "text": f"{title}. {more}",
                    "label": NAMES[label],
                    "section": f"section {number % 18}",
                    "split": split[number >= 180],
                }
                file.write(json.dumps(row) + "\n")
    return folder
