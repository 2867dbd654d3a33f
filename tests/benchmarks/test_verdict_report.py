"""What the extension shows on pages with labels is counted as the report's words say, and listed page by page."""

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from benchmarks.labelled_pages import (
    DOUBTFUL_SAVED,
    SENSITIVE_SAVED,
    LabelledPage,
    row_identifier,
    saved_pages,
    source_pages,
)
from benchmarks.verdict_report import COLUMNS, Answer, Outcome, Result, counts, report
from eitr.initial.corpus import Labelled
from eitr.initial.sources import is_reserved
from eitr.taxonomy import NAMES


def answer(shown: str | None, why: str | None = None) -> Answer:
    return Answer(shown, why, 0.71, "en", 30)


def result(name: str, label: str, shown: Answer, **other: object) -> Result:
    fields = {"source": "one", "trained_on": False, "doubtful": False, "python": shown, "difference": "", **other}
    return Result(name, label=label, extension=shown, **fields)  # type: ignore[arg-type]


REFRESH = "<META content='0;url=other.html' http-equiv='refresh' />"
CLOSE = answer(None, "close")
RESULTS = [
    result("right-topic", "health", answer("health")),
    result("right-ordinary", "non-sensitive", answer("non-sensitive")),
    result("alarm", "non-sensitive", answer("politics"), trained_on=True),
    result("confused", "health", answer("religion"), doubtful=True),
    result("overlooked", "ethnicity", answer("non-sensitive")),
    result("undecided", "religion", CLOSE, source="two"),
    result("undecided-ordinary", "non-sensitive", CLOSE, source="two", python=answer("politics"), difference="scripts"),
]


def details(text: str) -> dict[str, list[str]]:
    """Return the first cells of each list of pages, by the list's title."""
    lists = text.partition("## The pages")[2].split("<details><summary>")[1:]
    return {part.partition("</summary>")[0]: [row[0] for row in table_rows(part)[2:]] for part in lists}


def table_rows(text: str) -> list[list[str]]:
    """Return the cells of all lines of tables."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:1] == "|"]


@pytest.mark.parametrize(
    ("place", "outcome", "missed"),
    [
        (0, Outcome.RIGHT, False),
        (1, Outcome.RIGHT, False),
        (2, Outcome.FALSE_ALARM, False),
        (3, Outcome.OTHER_TOPIC, True),
        (4, Outcome.NOT_SENSITIVE, True),
        (5, Outcome.CANNOT_TELL, True),
        (6, Outcome.CANNOT_TELL, False),
    ],
)
def test_an_answer_is_compared_with_the_label(place, outcome, missed):
    assert RESULTS[place].outcome is outcome
    assert RESULTS[place].missed is missed


def test_counts_are_those_of_the_columns():
    assert dict(zip(COLUMNS, counts(RESULTS), strict=True)) == {
        "pages": 7,
        "right": 2,
        "false alarms": 1,
        "misses": 3,
        "of these another topic": 1,
        "not sensitive": 1,
        "cannot tell": 1,
        "cannot tell, all": 2,
    }


def test_every_page_that_is_not_right_is_listed_once():
    listed = details(report(RESULTS, "setting"))
    assert listed == {
        "one: false alarms (1)": ["alarm"],
        "one: misses (2)": ["confused", "overlooked"],
        "two: misses (1)": ["undecided"],
        "two: cannot tell, not sensitive (1)": ["undecided-ordinary"],
    }


def test_tables_separate_pages_that_the_model_was_trained_on():
    rows = {name: cells[:3] for name, *cells in table_rows(report(RESULTS, ""))}
    numbers = {name: [int(cell) for cell in rows[name]] for name in ("all", "not trained on", "one, trained on")}
    assert numbers == {"all": [7, 2, 1], "not trained on": [6, 2, 0], "one, trained on": [1, 0, 1]}


def test_differences_from_python_are_counted_and_named():
    text = report(RESULTS, "")
    assert "6 of 7 answers are those of the extension" in text
    differing = ["undecided-ordinary", "non-sensitive", "cannot tell (close)", "politics", "scripts"]
    assert [row for row in table_rows(text) if "scripts" in row] == [differing]


def test_a_doubtful_label_is_marked():
    [row] = [row for row in table_rows(report(RESULTS, "")) if row[0] == "confused"]
    assert row[1] == "health?"


@pytest.mark.parametrize(
    ("source", "name", "site", "identifier"),
    [
        ("wcxb", "wcxb-1087", "example.org", "wcxb:1087"),
        ("alexa_homepages_a", "example.org", "example.org", "alexa_homepages_a:example.org"),
        ("recipe_sites_html", "recipe-a.org_b_1.testhtml", "a.org", "recipe_sites_html:a.org/b_1.testhtml"),
        ("ethnic_sites", "someone-docs_a.html-d0e1", "someone/site docs/a.html", "ethnic_sites:someone/docs/a.html"),
    ],
)
def test_a_page_leads_to_the_row_with_its_text(source, name, site, identifier):
    assert row_identifier(source, name, site) == identifier


def test_pages_of_the_reserved_half_and_pages_without_a_row_were_not_trained_on(tmp_path):
    numbers = [f"{number:04}" for number in range(20)]
    reserved = {
        number for number in numbers if is_reserved(Labelled((), 0, "", "", source="wcxb", identifier=f"wcxb:{number}"))
    }
    assert 0 < len(reserved) < len(numbers)
    (tmp_path / "pages").mkdir()
    with gzip.open(tmp_path / "pages" / "wcxb.jsonl.gz", "wt") as rows:
        rows.writelines(json.dumps({"id": f"wcxb:{number}"}) + "\n" for number in numbers)
    write_archive(tmp_path / "pages_html.tar", [*numbers, "9999"])
    pages = list(source_pages(tmp_path))
    assert {page.identifier for page in pages if not page.trained_on} == {
        *(f"wcxb-{number}" for number in reserved),
        "wcxb-9999",
    }
    assert pages[0] == LabelledPage(
        "wcxb-0000", "wcxb", "health", trained_on="0000" not in reserved, doubtful=False, html="<p>é 0000"
    )


def write_archive(path: Path, numbers: list[str]) -> None:
    files = {f"wcxb/wcxb-{number}.html.gz": gzip.compress(f"{REFRESH}<p>é {number}".encode()) for number in numbers}
    labels = "".join(f"{name}\thealth\ten\texample.org\n" for name in files)
    with tarfile.open(path, "w") as archive:
        for name, content in {"labels.tsv": labels.encode(), **files}.items():
            member = tarfile.TarInfo(f"html/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def test_labels_of_saved_pages_name_saved_pages(shared_data):
    pages = {page.identifier: page for page in saved_pages(shared_data)}
    assert len(pages) == 65
    assert set(SENSITIVE_SAVED) | DOUBTFUL_SAVED <= set(pages)
    assert {name: page.label for name, page in pages.items() if page.label != "non-sensitive"} == SENSITIVE_SAVED
    assert set(SENSITIVE_SAVED.values()) <= set(NAMES)
