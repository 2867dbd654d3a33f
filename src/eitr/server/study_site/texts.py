"""Sentences and texts of the site in each language, and the research group's own in their place.

A group's folder (EITR_STUDY_TEMPLATES) may hold

    en.toml, de.toml          sentences, by section and name, as in the files of this package
    en/NAME.html, ...         texts, as templates of Jinja: information, sensitive_data, consent_participation, ...
    logo.svg or logo.png      shown at the top of each page

Everything is read and tried at the start, so that a mistake is told then and not to participants.
"""

import difflib
import itertools
import string
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined, TemplateError, meta
from jinja2.sandbox import SandboxedEnvironment
from markupsafe import Markup

from eitr.errors import InputError
from eitr.server.study_site.languages import LANGUAGES

OURS = Path(__file__).parent / "texts"
NAMES = (
    "information",
    "sensitive_data",
    "consent_participation",
    "consent_collection",
    "consent_terms",
    "reward",
    "thanks",
)
LOGOS = {"logo.svg": "image/svg+xml", "logo.png": "image/png"}
KINDS = (".html", ".toml", ".svg", ".png")
LARGEST_LOGO = 1_000_000
Sentences = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Logo:
    """The group's logo."""

    content: bytes
    media_type: str


class Texts:
    """All texts of the site."""

    def __init__(self, folder: Path | None = None) -> None:
        if folder is not None and not folder.is_dir():
            raise InputError(f"EITR_STUDY_TEMPLATES: {folder} is no folder")
        if folder is not None:
            _check_names(folder)
        self._sentences = {language: _sentences(language, folder) for language in LANGUAGES}
        self._environment = _environment(folder)
        self.logo = None if folder is None else _logo(folder)
        self._check()

    def sentences(self, language: str) -> Sentences:
        """Return the sentences of a language, by section and name."""
        return self._sentences[language]

    def text(self, language: str, name: str, values: Mapping[str, Any]) -> Markup:
        """Return a text as HTML; `values` are escaped."""
        rendered = self._environment.get_template(f"{language}/{name}.html").render(values)
        return Markup(rendered)  # noqa: S704 (made by a template that escapes)

    def _check(self) -> None:
        """Render every text in every case that a study can be in."""
        for language, name in itertools.product(LANGUAGES, NAMES):
            try:
                for values in self._cases(f"{language}/{name}.html"):
                    self.text(language, name, values)
            except (TemplateError, TypeError, ValueError, ArithmeticError, UnicodeError) as error:
                line = getattr(error, "lineno", None)
                where = f"{language}/{name}.html" + (f", line {line}" if line else "")
                raise InputError(f"EITR_STUDY_TEMPLATES: {where}: {error}") from None

    def _cases(self, template: str) -> Iterator[dict[str, Any]]:
        """Yield values for a text, with all combinations of the switches that it names."""
        assert self._environment.loader is not None
        parsed = self._environment.parse(self._environment.loader.get_source(self._environment, template)[0])
        on, off = sample_values(True), sample_values(False)
        # What a text includes may name others.
        named = on if list(meta.find_referenced_templates(parsed)) else meta.find_undeclared_variables(parsed)
        switches = [name for name in on if name in named and on[name] != off[name]]
        for chosen in itertools.product((on, off), repeat=len(switches)):
            yield on | {name: values[name] for name, values in zip(switches, chosen, strict=True)}


def sample_values(on: bool) -> dict[str, Any]:
    """Return values as those of a study, with everything switched on or off."""
    return {
        "title": "Title",
        "group": "Group" if on else "",
        "contact": "group@example.org" if on else "",
        "purpose": "Purpose" if on else "",
        "pages": 20,
        "minutes": 30,
        "uses": 2 if on else 1,
        "points": 20,
        "noisy": on,
        "collect_labels": on,
        "collect_terms": on,
        "reward": on,
        "hide_prediction": on,
        "contact_days": 90,
        "study_days": 730,
    }


def _check_names(folder: Path) -> None:
    """Refuse files that look like ours and are not, such as a misspelt name: they would replace nothing."""
    texts = {f"{language}/{name}.html" for language in LANGUAGES for name in NAMES}
    known = {*texts, *(f"{language}.toml" for language in LANGUAGES), *LOGOS}
    for path in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        name = path.relative_to(folder).as_posix()
        if path.suffix.lower() in KINDS and name not in known:
            near = difflib.get_close_matches(name.lower(), known, 1, 0.0)[0]
            raise InputError(
                f"EITR_STUDY_TEMPLATES: {name} replaces nothing: correct the name (to {near}?), or remove the file"
            )


def _environment(folder: Path | None) -> Environment:
    folders = [OURS] if folder is None else [folder, OURS]
    return SandboxedEnvironment(
        loader=ChoiceLoader([FileSystemLoader(one) for one in folders]),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,  # as sentences and the logo: what was tried at the start is what participants get
    )


def _sentences(language: str, folder: Path | None) -> dict[str, dict[str, str]]:
    """Return the sentences of a language, with the group's own over ours; refuse names that nothing uses."""
    found: dict[str, dict[str, str]] = tomllib.loads((OURS / f"{language}.toml").read_text("utf-8"))
    path = None if folder is None else folder / f"{language}.toml"
    if path is None or not path.exists():
        return found
    try:
        own = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"EITR_STUDY_TEMPLATES: {path.name}: {error}") from None
    for section, sentences in own.items():
        for name, sentence in sentences.items() if isinstance(sentences, dict) else ():
            if name not in found.get(section, {}):
                raise InputError(f"EITR_STUDY_TEMPLATES: {path.name}: nothing is called {section}.{name}")
            _check_sentence(path.name, f"{section}.{name}", sentence, found[section][name])
            found[section][name] = sentence
        if not isinstance(sentences, dict):
            raise InputError(f"EITR_STUDY_TEMPLATES: {path.name}: sentences stand in a section, such as [start]")
    return found


def _check_sentence(file: str, name: str, own: Any, ours: str) -> None:
    """Refuse a sentence that is no text, or names something in braces that ours does not."""
    try:
        unknown = _fields(own) - _fields(ours)
    except (TypeError, ValueError):
        raise InputError(f"EITR_STUDY_TEMPLATES: {file}: {name} is no text with names in braces") from None
    if unknown:
        known = ", ".join(sorted(_fields(ours))) or "none"
        raise InputError(f"EITR_STUDY_TEMPLATES: {file}: {name} may use these names in braces: {known}")


def _fields(sentence: str) -> set[str]:
    parts = list(string.Formatter().parse(sentence))
    if any(form or conversion for _, _, form, conversion in parts):
        raise ValueError("a name in braces stands alone")
    return {name for _, name, _, _ in parts if name is not None}


def _logo(folder: Path) -> Logo | None:
    for name, media_type in LOGOS.items():
        path = folder / name
        if path.is_file():
            if path.stat().st_size > LARGEST_LOGO:
                raise InputError(f"EITR_STUDY_TEMPLATES: {name} is larger than {LARGEST_LOGO} bytes")
            return Logo(path.read_bytes(), media_type)
    return None
