"""The texts for the stores say what the package says, and justify every permission it asks for."""

import json
import re

import pytest

from .node import ROOT

SOURCE = ROOT / "extension" / "src"
STORE = ROOT / "docs" / "store"
LONGEST_SUMMARY = 132
"""The stores cut what is longer."""


@pytest.mark.parametrize("language", ["en", "de"])
def test_name_and_summary_are_those_of_the_package(language):
    said = json.loads((SOURCE / "_locales" / language / "messages.json").read_text("utf-8"))
    listing = (STORE / f"listing-{language}.md").read_text("utf-8")
    parts = dict(re.findall(r"^\*\*(Name|Summary):\*\* (.+)$", listing, re.MULTILINE))
    assert parts == {"Name": said["name"]["message"], "Summary": said["description"]["message"]}
    assert len(parts["Summary"]) <= LONGEST_SUMMARY


def test_every_permission_is_justified_and_no_other():
    manifest = json.loads((SOURCE / "manifest.json").read_text("utf-8"))["common"]
    asked = {*manifest["permissions"], *manifest["host_permissions"]}
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", (STORE / "permissions.md").read_text("utf-8"), re.MULTILINE)
    assert {name for name, _ in rows} == asked
    assert all(len(reason.split()) >= 10 for _, reason in rows), "a justification is a sentence"
