"""What we know about the topics and wrote down ourselves, so that the model knows more than one newspaper."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from eitr.pages.tokens import tokens
from eitr.taxonomy import NAMES, NON_SENSITIVE


@dataclass(frozen=True, slots=True)
class Material:
    """Our own knowledge; in each tuple of six, one entry a class, in the order of the taxonomy."""

    lexicon: tuple[Mapping[str, tuple[str, ...]], ...]
    """Subtopic -> words that pages on it use in any year and on any site; no word belongs to two classes."""
    sketches: tuple[tuple[tuple[str, ...], ...], ...]
    """The words of invented pages and page beginnings, as they come together in real ones."""
    reserved: tuple[tuple[str, ...], ...]
    """Words that get a place in the vocabulary whatever the training data says."""
    names: frozenset[str]
    """Names of people in the news of the training data's years, which say nothing in another year."""
    apart: frozenset[str]
    """Words that look like a form of another word and are none."""
    same: Mapping[str, tuple[str, ...]]
    """Word -> its forms and spellings that no rule finds."""

    def topical(self, label: int) -> tuple[str, ...]:
        """Return a class's reserved words that are in its lexicon: those that mean this class and no other."""
        lexicon = self.words(label)
        return tuple(word for word in self.reserved[label] if word in lexicon)

    def words(self, label: int) -> frozenset[str]:
        """Return all words of a class's lexicon."""
        return frozenset(word for words in self.lexicon[label].values() for word in words)


@cache
def material() -> Material:
    """Read the material that is part of the package."""
    lexicon = json.loads(files("eitr.assets").joinpath("lexicon.json").read_text("utf-8"))
    # The generated dataset is made of lexicon.json, so further words of the training material stand in another file.
    everyday = lexicon[NAMES[NON_SENSITIVE]]
    for topic, lines in _sections("everyday_words.txt").items():
        everyday[topic] = sorted([*everyday[topic], *" ".join(lines).split()])
    sketches = _sections("sketches.txt")
    reserved = _sections("reserved.txt")
    forms = _sections("forms.txt")
    return Material(
        lexicon=tuple({topic: tuple(words) for topic, words in lexicon[name].items()} for name in NAMES),
        sketches=tuple(tuple(tuple(tokens(line)) for line in sketches[name]) for name in NAMES),
        reserved=tuple(tuple(" ".join(reserved[name]).split()) for name in NAMES),
        names=frozenset(_text("names.txt").split()),
        apart=frozenset(" ".join(forms["apart"]).split()),
        same={word: tuple(more.split()) for word, more in (line.split(":") for line in forms["same"])},
    )


def _text(name: str) -> str:
    return files("eitr.initial").joinpath("material", name).read_text("utf-8")


def _sections(name: str) -> dict[str, Sequence[str]]:
    """Return the lines below each heading of a file; a heading is a hash sign and a name, of a class mostly."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in filter(None, _text(name).splitlines()):
        if line.startswith("# "):
            lines = sections.setdefault(line[2:], [])
        else:
            lines.append(line)
    return dict(sections)
