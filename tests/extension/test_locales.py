"""Every sentence in every language, and none that nobody says."""

import json
import re
from pathlib import Path

import pytest

from eitr.taxonomy import TOPICS

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "extension" / "src"
MADE = (
    "topic_",
    "about_",
    "brief_",
    "category_",
    "sent_outcome_",
    "sent_task_",
    "popup_about_",
    "popup_nothing_",
    "popup_cannot_tell_",
    "popup_trackers_",
    "popup_blocked_",
    "history_more_",
)
"""Keys that scripts put together from names."""


def sentences(language: str) -> dict[str, str]:
    text = (SOURCE / "_locales" / language / "messages.json").read_text("utf-8")
    return {key: entry["message"] for key, entry in json.loads(text).items()}


LANGUAGES = sorted(path.name for path in (SOURCE / "_locales").iterdir())
ENGLISH = sentences("en")


def used() -> set[str]:
    """Keys in scripts and pages, where each is a string of its own, and in the manifest."""
    files = [path for path in SOURCE.rglob("*") if path.suffix in (".ts", ".html") and path.parent.name != "core"]
    text = "\n".join(path.read_text("utf-8") for path in files)
    manifest = (SOURCE / "manifest.json").read_text("utf-8")
    in_text = re.findall(r"""["'`]([a-z]+(?:_[a-z]+)+|language)["'`]""", text)
    return {*in_text, *re.findall(r"__MSG_(\w+)__", manifest)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_everything_with_the_same_gaps(language):
    said = sentences(language)
    assert list(said) == list(ENGLISH)
    assert {key: sorted(re.findall(r"\$\d", text)) for key, text in said.items()} == {
        key: sorted(re.findall(r"\$\d", text)) for key, text in ENGLISH.items()
    }
    assert [key for key, text in said.items() if not text.strip()] == []
    assert said["language"] == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_are_as_short_as_the_stores_want_them(language):
    said = sentences(language)
    assert len(said["name"]) <= 75
    assert len(said["description"]) <= 132


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_has_one_name_wherever_it_is_named(language):
    said = sentences(language)
    assert said["popup_history"] == said["history_title"]
    assert said["history_title"] in said["options_history_about"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_who_deletes_everything_is_told_that_the_history_goes_too(language):
    said = sentences(language)
    assert said["options_history"].lower() in said["options_erase_sure"].lower()


@pytest.mark.parametrize(
    ("language", "wrong"),
    [
        ("fr", r"[^\u202f][;!?]|[^\u00a0]:|«[^\u00a0]|[^\u00a0]»|\d[^\u202f\d]?%|'"),
        ("de", r"\d[^\u00a0\d]?%|\"|\w…"),
        ("es", r"\d[^\u00a0\d]?%|\""),
        ("it", r"\d\s%|\"|'"),
        ("pt", r"\d\s%|\"|'"),
        ("en", r"\d\s%"),
    ],
)
def test_punctuation_is_that_of_the_language(language, wrong):
    """Without spaces that do not break, a line could begin with a question mark."""
    said = sentences(language)
    assert {key: text for key, text in said.items() if re.search(wrong, re.sub(r"https?://[^\s,]*", "", text))} == {}


def test_every_sentence_is_used_and_every_one_that_is_used_is_there():
    assert [key for key in ENGLISH if key not in used() and not key.startswith(MADE)] == []
    begins = {key.partition("_")[0] for key in ENGLISH}
    assert sorted(key for key in used() - ENGLISH.keys() if key.partition("_")[0] in begins) == []


def test_the_classes_are_those_of_the_taxonomy():
    for topic in TOPICS:
        key = topic.name.replace("-", "_")
        assert ENGLISH[f"topic_{key}"] == topic.title
        assert ENGLISH[f"about_{key}"] == topic.about


@pytest.mark.parametrize(
    ("language", "told"),
    [("en", "about how many pages you judged"), ("de", "ungefähr, wie viele Seiten Sie beurteilt haben")],
)
def test_consent_is_asked_with_what_the_number_of_updates_tells(language, told):
    assert told in sentences(language)["consent_inferring"]


MEASURED = {
    "de": ("{} Prozentpunkte", "in unseren Messungen nach zehn Runden zwischen keiner und jeder sechsten"),
    "en": ("{} percentage points", "in our measurements, from none to one in six after ten rounds"),
    "es": ("{} puntos porcentuales", "en nuestras mediciones, entre ninguna y una de cada seis tras diez rondas"),
    "fr": ("{} points de pourcentage", "dans nos mesures, il en retenait entre zéro et une sur six après dix tours"),
    "it": ("{} punti percentuali", "nelle nostre misurazioni, da nessuna a una su sei dopo dieci turni"),
    "pt": ("{} pontos percentuais", "nas nossas medições, entre nenhuma e uma em seis após dez rondas"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_consent_is_asked_with_the_figures_that_were_measured(language):
    asked = sentences(language)["consent_inferring"]
    points, learned = MEASURED[language]
    verdicts = (ROOT / "docs" / "results" / "privacy" / "verdicts.md").read_text("utf-8")
    topic = max(map(float, re.findall(r"([\d.]+) \(\d+ own(?: corrections)?, 20 rounds\)", verdicts)))
    assert points.format(round(topic)) in asked
    assert learned in asked


def test_from_none_to_one_in_six_corrections_were_learned_in_every_run():
    policy = (ROOT / "docs" / "privacy.md").read_text("utf-8")
    means = re.findall(r"\| (?:10|50) people correct 4 false alarms each, private \| 0 → ([\d.]+) ", policy)
    runs = re.search(r"the\s+differences between seeds are as large as what is learned \((.*?)\)", policy, re.DOTALL)
    assert len(means) == 2
    assert runs is not None
    figures = [float(figure) for figure in [*means, *re.findall(r"\d+(?:\.\d+)?", runs[1])]]
    assert min(figures) == 0
    assert max(figures) < 100 / 6
    for place in (ROOT / "README.md", ROOT / "src" / "eitr" / "server" / "dashboard" / "templates" / "extension.html"):
        assert MEASURED["en"][1] in " ".join(place.read_text("utf-8").split())
