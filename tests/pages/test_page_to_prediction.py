"""docs/page-to-prediction.md says what the code does."""

import re
from pathlib import Path

from eitr.pages import boilerplate, structure, tokens
from eitr.pages.extract import MAX_BYTES, MAX_DEPTH, extract
from eitr.pages.logarithm import LN_2, TERMS
from eitr.pages.tokens import MAX_LENGTH, MAX_MARKS, MIN_LENGTH
from eitr.pages.vocabulary import FORMAT, MAX_FILE_BYTES, MAX_IDF, MAX_WORDS, MIN_IDF, VERSION
from eitr.taxonomy import TOPICS

DOCUMENT = (Path(__file__).parents[2] / "docs" / "page-to-prediction.md").read_text("utf-8")


def test_the_class_table_is_the_taxonomy() -> None:
    rows = re.findall(r"^\| (\d) \| `([\w-]+)` \| (\w+) \|$", DOCUMENT, re.MULTILINE)
    assert rows == [(str(i), topic.name, topic.letter or "none") for i, topic in enumerate(TOPICS)]


def test_the_constants_are_those_of_the_code() -> None:
    for sentence in (
        f"fewer than {MIN_LENGTH} or more than {MAX_LENGTH} code points",
        f"longer than {MAX_MARKS}",
        f"for term = {TERMS - 1}, {TERMS - 2}, ..., 0",
        f"exponent * {LN_2!r}",
        f'"format": "{FORMAT}", "version": {VERSION}',
        f"1 to {MAX_WORDS:,} different strings",
        f"at most {MAX_FILE_BYTES // 2**20} MiB",
        f"each at least {MIN_IDF:g} and at most {MAX_IDF:g}",
        f"first {MAX_BYTES // 2**20} MiB of a document",
        f"deeper than {MAX_DEPTH}",
        f"at most {boilerplate.MAX_NOTICE} tokens and a phrase",
        f"of more than {boilerplate.MIN_NAVIGATION} tokens loses every",
        f"maximal run of at least {boilerplate.MIN_NAVIGATION} navigation words",
        f"at least {structure.MIN_LINKS} links of at most {structure.MAX_LINK_LETTERS} letters on average",
        f"A segment of at most {boilerplate.MAX_ITEM} tokens",
        f"at least {boilerplate.MIN_MENU} menu items",
        f"if these are fewer than {boilerplate.ENOUGH} tokens",
    ):
        assert sentence in " ".join(DOCUMENT.split())


def test_the_invisible_characters_are_those_of_the_code() -> None:
    listed = re.search(r"Delete every (.*?): soft", DOCUMENT, re.DOTALL)
    assert listed
    named = set()
    for first, last in re.findall(r"U\+([0-9A-F]+)(?:–U\+([0-9A-F]+))?", listed[1]):
        named |= set(range(int(first, 16), int(last or first, 16) + 1))
    assert all(tokens(f"ab{chr(code)}cd") == ["abcd"] for code in named)
    planes = (*range(0x40000), *range(0xE0000, 0xF0000))  # the others have no characters, or private ones
    others = " ".join(f"ab{chr(code)}cd" for code in planes if code not in named)
    assert "abcd" not in tokens(others)


def test_elements_deeper_than_the_limit_end_the_reading() -> None:
    page = "<p>before</p>" + "<b>" * 30_000 + "deep" + " filler" * 20_000 + "<p>after</p>"
    assert extract(page).text.startswith("before")
    assert "after" not in extract(page).text
