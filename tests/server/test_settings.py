"""Settings: declared once, checked at the start, documented by a page that is never out of date."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from eitr.cli import app
from eitr.errors import InputError
from eitr.server.settings import ServerSettings, described, read_settings, variable
from scripts.settings_page import page

DOCUMENT = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_of_settings_is_current() -> None:
    assert DOCUMENT.read_text() == page(), "run: python -m scripts.settings_page"


def test_every_setting_says_what_it_is_for() -> None:
    for name, field in described():
        assert field.description, name
        assert field.description.endswith("."), name


def test_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EITR_QUORUM", "33")
    monkeypatch.setenv("EITR_RULE_SETTINGS", '["ramp=3"]')
    found = read_settings()
    assert found.quorum == 33
    assert found.make_rule().ramp == 3


def test_what_is_given_wins_over_the_environment_and_that_over_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings"
    file.write_text("EITR_PORT=1\nEITR_MINIMUM=2\nEITR_QUORUM=7\n")
    monkeypatch.setenv("EITR_PORT", "2")
    found = read_settings(file, minimum=4)
    assert (found.port, found.minimum, found.quorum) == (2, 4, 7)
    named = {name: found.source(name) for name in ("port", "minimum", "quorum", "host")}
    assert named == {"port": "environment", "minimum": "option", "quorum": "file", "host": "default"}


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("PORT", "70000", "EITR_PORT"),
        ("PORT", "many", "EITR_PORT"),
        ("MINIMUM", "50", "must rise"),
        ("DATABASE", "mysql://x", "must begin with"),
        ("RULE", "magic", "magic"),
        ("RULE", "fltrust", "needs parameters trained on trusted data"),
        ("RULE_SETTINGS", '["ramp=-1"]', "ramp"),
        ("ROUND_SECONDS", "0", "EITR_ROUND_SECONDS"),
        ("ENROLMENT", "maybe", "EITR_ENROLMENT"),
        ("MARGIN", "nan", "EITR_MARGIN"),
    ],
)
def test_a_bad_setting_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str) -> None:
    monkeypatch.setenv(f"EITR_{name}", value)
    with pytest.raises(InputError, match=told) as error:
        read_settings()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "invited_only"),
    [
        ({}, False),
        ({"host": "::1"}, False),
        ({"host": "localhost", "public_address": "http://localhost:8000"}, False),
        ({"public_address": "http://127.0.0.1:8000/"}, False),
        ({"host": "0.0.0.0"}, True),
        ({"host": "::"}, True),
        ({"host": "192.0.2.1"}, True),
        ({"public_address": "https://eitr.example.org"}, True),
        ({"public_address": "eitr.example.org"}, True),
        ({"public_address": "http://[bad"}, True),
        ({"host": "0.0.0.0", "enrolment": "open"}, False),
        ({"enrolment": "invitation"}, True),
    ],
)
def test_beyond_this_machine_people_need_an_invitation(given: dict[str, Any], invited_only: bool) -> None:
    assert read_settings(**given).invited_only is invited_only


def test_a_missing_file_of_settings_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_settings(tmp_path / "nowhere")


def test_settings_can_be_listed_for_people_and_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EITR_QUORUM", "33")
    listed = json.loads(CliRunner().invoke(app, ["settings", "--json"]).stdout)
    assert {one["variable"] for one in listed} == {variable(name) for name in ServerSettings.model_fields}
    assert next(one for one in listed if one["variable"] == "EITR_QUORUM")["value"] == 33
    assert next(one for one in listed if one["variable"] == "EITR_QUORUM")["source"] == "environment"
    secrets = {"EITR_METRICS_TOKEN": "token123", "EITR_DATABASE": "postgresql+psycopg://eitr:word123@db/eitr"}
    shown = CliRunner().invoke(app, ["settings"], env={"COLUMNS": "200", **secrets}).stdout
    assert "EITR_QUORUM" in shown
    assert "eitr:(hidden)@db" in shown
    assert "word123" not in shown
    assert "token123" not in shown
