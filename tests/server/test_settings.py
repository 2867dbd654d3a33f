"""Settings: declared once, checked at the start, documented by a page that is never out of date."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from eitr.cli import app
from eitr.errors import InputError
from eitr.server import settings
from eitr.server.domain.operators import sign_in
from eitr.server.domain.retention import Retention
from eitr.server.settings import OTHER_VARIABLES, ServerSettings, described, read_settings, variable
from scripts.settings_page import page
from tests.server.dashboard.example import OPERATOR, PASSWORD, make_operator
from tests.server.federation import Federation

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
        ("ROUND_SECONDS", "1e12", "EITR_ROUND_SECONDS.*less than or equal"),
        ("KEEP_OBSERVATIONS_DAYS", "1e6", "EITR_KEEP_OBSERVATIONS_DAYS.*less than or equal"),
        ("SESSION_HOURS", "1e9", "EITR_SESSION_HOURS.*less than or equal"),
        ("RULE_SETTINGS", "ramp", "name=value"),
        ("RULE_SETTINGS", "ramp=many", "ramp must be a whole number"),
        ("RULE_SETTINGS", '["ramp=5"', "write ramp=5,low=0.5, or a JSON list"),
        ("RULE_SETTINGS", "[5]", "EITR_RULE_SETTINGS"),
        ("PUBLIC_ADDRESS", "eitr.example.org", "EITR_PUBLIC_ADDRESS: write https://"),
        ("PUBLIC_ADDRESS", "https://eitr.example.org/eitr", "EITR_PUBLIC_ADDRESS: write https://"),
        ("PUBLIC_ADDRESS", "https://eitr.example.org:port", "EITR_PUBLIC_ADDRESS: write https://"),
        ("QUORAM", "30", "EITR_QUORAM: there is no such setting; did you mean EITR_QUORUM?"),
        ("XYZZY", "30", "EITR_XYZZY: there is no such setting; `eitr settings` lists all"),
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
        ({"host": "0.0.0.0", "enrolment": "open"}, False),
        ({"enrolment": "invitation"}, True),
    ],
)
def test_beyond_this_machine_people_need_an_invitation(given: dict[str, Any], invited_only: bool) -> None:
    assert read_settings(**given).invited_only is invited_only


NUMERIC = [name for name, field in described() if field.annotation in (int, float)]
BOUNDS = {"ge": -1, "gt": 0, "le": 1, "lt": 0}
"""The first value beyond each kind of bound, as a difference from it."""


def bounds(name: str) -> dict[str, float]:
    """Return the bounds of a setting by their kind."""
    field = ServerSettings.model_fields[name]
    return {kind: getattr(one, kind) for one in field.metadata for kind in BOUNDS if hasattr(one, kind)}


@pytest.mark.parametrize("name", NUMERIC)
def test_every_number_has_bounds_on_both_sides(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    found = bounds(name)
    assert {"ge", "gt"} & set(found), "no lower bound"
    assert {"le", "lt"} & set(found), "no upper bound"
    beyond = [str(value + BOUNDS[kind]) for kind, value in found.items()]
    for value in [*beyond, "nan", "inf", "-inf", "1e308", "9" * 400]:
        monkeypatch.setenv(variable(name), value)
        with pytest.raises(InputError, match=variable(name)) as error:
            read_settings()
        assert "\n" not in str(error.value)


def test_the_largest_durations_overflow_nowhere(tmp_path: Path) -> None:
    durations = [name for name in NUMERIC if name.endswith(("_seconds", "_days", "_hours"))]
    assert len(durations) >= 10
    largest = {name: bounds(name)["le"] for name in durations}
    federation = Federation(tmp_path, "", **largest)
    make_operator(federation.database)
    Retention(federation.database, federation.settings).run()
    assert federation.rounds.open() == 1
    federation.rounds.close_if_due()
    assert federation.rounds.claim("nobody") is None
    assert sign_in(federation.database, OPERATOR, PASSWORD, federation.settings.session_hours)
    federation.close()


@pytest.mark.parametrize("text", ["ramp=3,low=0.5", " ramp=3 , low=0.5 ", '["ramp=3", "low=0.5"]'])
def test_the_settings_of_the_rule_are_a_list_in_either_form(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("EITR_RULE_SETTINGS", text)
    rule = read_settings().make_rule()
    assert (rule.ramp, rule.low) == (3, 0.5)  # type: ignore[attr-defined]


def test_a_public_address_ends_without_a_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EITR_PUBLIC_ADDRESS", "https://eitr.example.org:8443/")
    assert read_settings().public_address == "https://eitr.example.org:8443"


def test_variables_of_other_parts_are_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OTHER_VARIABLES:
        monkeypatch.setenv(name, "1")
    read_settings()
    # Every variable that EITR's own code names is one or the other.
    source = Path(settings.__file__).parents[1]
    used = {name for file in source.rglob("*.py") for name in re.findall(r"(?<!_)EITR_[A-Z_]+[A-Z]", file.read_text())}
    assert used <= OTHER_VARIABLES | {variable(name) for name, _ in described()}


def test_a_typing_error_in_the_file_of_settings_is_said(tmp_path: Path) -> None:
    file = tmp_path / "settings"
    file.write_text("EITR_PORT=1\nEITR_QUORAM=7\n")
    with pytest.raises(InputError, match=r"EITR_QUORAM: .* did you mean EITR_QUORUM\?"):
        read_settings(file)
    file.write_bytes(b"EITR_PORT=\xff\n")
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(file)


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
