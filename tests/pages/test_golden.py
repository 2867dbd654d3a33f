"""The cases that every implementation of the protocol shares, here and in JavaScript."""

import json
import random
import shutil
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eitr.pages import Page, Vocabulary, tokens

GOLDEN = Path(__file__).parents[1] / "golden"
TOKENS: list[dict[str, Any]] = json.loads((GOLDEN / "tokens.json").read_text("utf-8"))["cases"]
VECTORS: dict[str, Any] = json.loads((GOLDEN / "vectors.json").read_text("utf-8"))


def twin(*arguments: Path) -> str:
    """Run the implementation in JavaScript; it exits with an error when a case differs."""
    node = shutil.which("node")
    if not node:
        pytest.skip("needs Node.js")
    command = [node, str(GOLDEN / "check.mjs"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("case", TOKENS, ids=lambda case: case["name"])
def test_text_has_the_golden_tokens(case: dict[str, Any]) -> None:
    assert tokens(case["text"]) == case["tokens"]


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_a_page_has_the_golden_vector(case: dict[str, Any]) -> None:
    vocabulary = Vocabulary.from_json(json.dumps(VECTORS["vocabulary"]))
    page = Page(**{field: value for field, value in case["page"].items() if value is not None})
    indices, values = vocabulary.vector(tokens(page.content()))
    assert indices.tolist() == case["indices"]
    assert values.tolist() == case["values"]  # to the last bit


def test_an_independent_implementation_agrees_on_the_golden_cases() -> None:
    assert f"{len(TOKENS) + len(VECTORS['cases'])} cases, 0 failed" in twin()


def test_an_independent_implementation_agrees_on_every_character(tmp_path: Path) -> None:
    """On every one that this Python knows; private ones and surrogates are in the golden cases."""
    known = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")]
    texts = [
        " ".join(f"x{character}y {character}{character}" for character in known[start : start + 64])
        for start in range(0, len(known), 64)
    ]
    path = tmp_path / "tokens.json"
    cases = [{"name": ascii(text), "text": text, "tokens": tokens(text)} for text in texts]
    path.write_text(json.dumps({"cases": cases}))
    assert ", 0 failed" in twin(path)


def test_an_independent_implementation_agrees_to_the_last_bit_on_random_pages(tmp_path: Path) -> None:
    chance = random.Random(20240501)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = tuple(a + b + "q" for a in letters for b in letters)
    idf = [chance.uniform(1, 12) for _ in words]
    forms = {word + "s": chance.randrange(len(words)) for word in words[::3]}
    vocabulary = Vocabulary(words, np.array(idf), forms)
    cases = []
    for number in range(300):
        drawn = chance.choices([*words[: chance.randint(1, len(words))], *forms], k=chance.randint(1, 2000))
        indices, values = vocabulary.vector(drawn)
        page = {"text": " ".join(drawn)}
        cases.append({"name": str(number), "page": page, "indices": indices.tolist(), "values": values.tolist()})
    path = tmp_path / "vectors.json"
    path.write_text(json.dumps({"vocabulary": {"words": words, "idf": idf, "forms": forms}, "cases": cases}))
    assert ", 0 failed" in twin(GOLDEN / "tokens.json", path)
