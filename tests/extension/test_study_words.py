"""The study site quotes the extension: its pictures and instructions show what people find there."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "src" / "eitr" / "server" / "study_site"
EXTENSION = ROOT / "extension" / "src"


@pytest.fixture(params=["en", "de"])
def both(request: pytest.FixtureRequest) -> tuple[dict[str, Any], dict[str, str]]:
    """The sentences of the site, and those of the extension, in one language."""
    site = tomllib.loads((SITE / "texts" / f"{request.param}.toml").read_text("utf-8"))
    told = json.loads((EXTENSION / "_locales" / request.param / "messages.json").read_text("utf-8"))
    return site, {name: one["message"] for name, one in told.items()}


def test_the_site_names_buttons_and_fields_as_the_extension_does(both):
    site, extension = both
    assert site["connect"]["use_server"] == extension["join_yes"]
    assert extension["join_yes"] in site["connect"]["picture"]
    assert site["tasks"]["save"] == extension["popup_correct"]
    assert site["tasks"]["question"] == extension["popup_what"]
    assert extension["popup_what"] in site["tasks"]["lead"]
    assert extension["study_skip"] in site["tasks"]["skip"]
    assert extension["study_broken"] in site["tasks"]["skip"]
    assert site["tasks"]["task"] == extension["study_task"].replace("$1", "7").replace("$2", "20")
    # A field may be explained after a comma: "Invitation code, if you have one".
    for field in ("options_server", "options_invitation"):
        assert re.search(f"[“„]{extension[field].partition(',')[0]}[”“]", site["join"]["hand"])


def test_the_questions_in_the_picture_are_those_of_the_welcome_page(both):
    site, extension = both
    questions = {"question_read": "classifying", "question_contribute": "contributing", "question_studies": "studies"}
    for drawn, asked in questions.items():
        words = set(re.findall(r"\w+", extension[f"consent_{asked}"]))
        assert set(re.findall(r"\w+", site["connect"][drawn])) <= words


def test_the_icon_in_the_pictures_is_that_of_the_extension():
    drawn = (SITE / "templates" / "pictures.html").read_text("utf-8")
    lines = re.findall(r' d="([^"]+)"', (EXTENSION / "icons" / "elephant.svg").read_text("utf-8"))
    assert len(lines) > 5
    assert all(line in drawn for line in lines)
