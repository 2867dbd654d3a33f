"""The cases that every implementation shares: Python's here, TypeScript's in tests/extension/test_parity.py."""

import json
from pathlib import Path
from typing import Any

import pytest

from eitr.pages import Page, Vocabulary, tokens
from eitr.pages.extract import extract
from eitr.pages.reading import read_body

GOLDEN = Path(__file__).parents[1] / "golden"
TOKENS: list[dict[str, Any]] = json.loads((GOLDEN / "tokens.json").read_text("utf-8"))["cases"]
LANGUAGE: list[dict[str, Any]] = json.loads((GOLDEN / "language.json").read_text("utf-8"))["cases"]
BOILERPLATE: list[dict[str, Any]] = json.loads((GOLDEN / "boilerplate.json").read_text("utf-8"))["cases"]
STRUCTURE: list[dict[str, Any]] = json.loads((GOLDEN / "structure.json").read_text("utf-8"))["cases"]
VECTORS: dict[str, Any] = json.loads((GOLDEN / "vectors.json").read_text("utf-8"))


@pytest.mark.parametrize("case", TOKENS, ids=lambda case: case["name"])
def test_text_has_the_golden_tokens(case: dict[str, Any]) -> None:
    assert tokens(case["text"]) == case["tokens"]


@pytest.mark.parametrize("case", LANGUAGE, ids=lambda case: case["name"])
def test_a_page_has_the_golden_language_and_tokens(case: dict[str, Any]) -> None:
    assert read_body(Page(text=case["text"])) == (case["language"], case["tokens"])


@pytest.mark.parametrize("case", STRUCTURE, ids=lambda case: case["name"])
def test_a_document_has_the_golden_lines_outside_boilerplate(case: dict[str, Any]) -> None:
    assert extract(case["html"]).text.splitlines() == case["lines"]


@pytest.mark.parametrize("case", BOILERPLATE, ids=lambda case: case["name"])
def test_a_page_has_the_golden_tokens_without_boilerplate(case: dict[str, Any]) -> None:
    assert read_body(Page(**case["page"])).tokens == case["tokens"]


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_a_page_has_the_golden_vector(case: dict[str, Any]) -> None:
    vocabulary = Vocabulary.from_json(json.dumps(VECTORS["vocabulary"]))
    page = Page(**{field: value for field, value in case["page"].items() if value is not None})
    indices, values = vocabulary.vector(vocabulary.read(page).tokens)
    assert indices.tolist() == case["indices"]
    assert values.tolist() == case["values"]  # to the last bit
