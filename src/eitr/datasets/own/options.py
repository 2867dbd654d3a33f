"""How to read the user's own files: which column is which, and which class each of its labels means."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from eitr.errors import InputError
from eitr.io.json_lines import fail
from eitr.pages.page import FIELDS
from eitr.taxonomy import NAMES

COLUMNS: Final = (*FIELDS, "label", "split")
"""What a column can hold; a column of that name needs no option."""

MAP_LIMIT: Final = 1 << 20
"""How many bytes a file with a label map can have."""


HELP: Final = {
    "title_column": "Own files: the column with the title (default: title).",
    "description_column": "Own files: the column with the description (default: description).",
    "keywords_column": "Own files: the column with the keywords (default: keywords).",
    "text_column": "Own files: the column with the text (default: text).",
    "label_column": "Own files: the column with the class (default: label).",
    "split_column": "Own files: the column that says train or test (default: split or test).",
    "label_map": "Own files: which class each of their labels means: LABEL=CLASS,... or a .json file.",
    "classes": "Own files: the classes they have, separated by commas (default: all six).",
    "skip_bad": "Own files: leave bad lines out, and say how many.",
}
"""The options of every command that reads the user's own files, and their help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """How the rows of a file become pages of a class."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """The names of columns that are not called as in `COLUMNS`."""
    label_map: Mapping[str, str] = field(default_factory=dict)
    """From the labels of the file to classes; the names of the classes need no entry."""
    classes: tuple[str, ...] = NAMES
    """The classes that the file has. One without pages is an error, as the lab could neither train nor test it."""
    on_bad_line: Callable[[InputError], None] = fail
    """Told of each bad line. If it returns, the line is left out."""

    def __post_init__(self) -> None:
        for name in self.columns:
            if name not in COLUMNS:
                raise InputError(f"no column is called {name!r}; there are {', '.join(COLUMNS)}")
        if len(set(self.classes)) < 2:
            raise InputError("the data need at least two classes to tell apart")
        for name in self.classes:
            if name not in NAMES:
                raise InputError(f"no class is called {name!r}{did_you_mean(name)}; there are {', '.join(NAMES)}")
        meanings: dict[str, str] = {}
        for label, name in self.label_map.items():
            if name not in self.classes:
                known = ", ".join(self.classes)
                raise InputError(f"the label map gives {label!r} the class {name!r}{did_you_mean(name)}; use {known}")
            if meanings.setdefault(normal(label), name) != name:
                raise InputError(f"the label map gives {label!r} two classes: {meanings[normal(label)]} and {name}")

    @property
    def given(self) -> bool:
        """Whether columns, labels or classes differ from the defaults."""
        return bool(self.columns or self.label_map or self.classes != NAMES)

    def meanings(self) -> dict[str, int]:
        """Return the class of each label, in its normal form, as a place in `eitr.taxonomy.NAMES`."""
        own = {normal(label): NAMES.index(name) for label, name in self.label_map.items()}
        return {name: NAMES.index(name) for name in self.classes} | own

    def arguments(self) -> list[str]:
        """Return the options as words of a command line.

        >>> FileOptions(columns={"text": "body"}, label_map={"doctor": "health"}).arguments()
        ['--text-column', 'body', '--label-map', 'doctor=health']
        """
        words = [word for name, column in self.columns.items() for word in (f"--{name}-column", column)]
        if self.label_map:
            plain = all(label and label == label.strip() and "," not in label for label in self.label_map)
            pairs = ",".join(f"{label}={name}" for label, name in self.label_map.items())
            words += ["--label-map", pairs if plain else json.dumps(dict(self.label_map))]
        if self.classes != NAMES:
            words += ["--classes", ",".join(self.classes)]
        return words + ["--skip-bad"] * (self.on_bad_line is not fail)


def take_options(given: dict[str, Any], on_bad_line: Callable[[InputError], None]) -> FileOptions:
    """Take the options of `HELP` out of those of a command; `on_bad_line` is used where bad lines are left out."""
    own = {name: given.pop(name) for name in HELP}
    classes = [name.strip() for name in own["classes"].split(",")] if own["classes"] else NAMES
    return FileOptions(
        columns={name: own[f"{name}_column"] for name in COLUMNS if own[f"{name}_column"]},
        label_map=parse_label_map(own["label_map"]) if own["label_map"] else {},
        classes=tuple(dict.fromkeys(classes)),
        on_bad_line=on_bad_line if own["skip_bad"] else fail,
    )


def options_of(words: Iterable[str]) -> FileOptions:
    """Return the options that `FileOptions.arguments` wrote; bad lines are left out without a word.

    >>> options_of(["--text-column", "body", "--skip-bad"]).arguments()
    ['--text-column', 'body', '--skip-bad']
    """
    given: dict[str, Any] = dict.fromkeys(HELP)
    rest = iter(words)
    for word in rest:
        name = word.removeprefix("--").replace("-", "_")
        given[name] = True if name == "skip_bad" else next(rest, None)
    return take_options(given, lambda _: None)


def normal(label: str) -> str:
    """Return a label without differences that mean nothing: letter case, and spaces and underscores for hyphens.

    >>> normal(" Sexual Orientation ")
    'sexual-orientation'
    """
    return "-".join(label.casefold().replace("_", " ").split())


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a name, None if none is near."""
    return next(iter(get_close_matches(normal(name)[:100], list(known), n=1)), None)


def did_you_mean(name: str, known: Iterable[str] = NAMES) -> str:
    """Return a remark on the nearest known name, or nothing if none is near.

    >>> did_you_mean("helth")
    " (did you mean 'health'?)"
    """
    near = nearest(name, known)
    return f" (did you mean {near!r}?)" if near else ""


def parse_label_map(text: str) -> dict[str, str]:
    """Return the label map that an option names: pairs, a JSON object, or a file that ends in .json.

    >>> parse_label_map("news=non-sensitive, doctor=health")
    {'news': 'non-sensitive', 'doctor': 'health'}
    >>> parse_label_map('{"doctor, nurse": "health"}')
    {'doctor, nurse': 'health'}
    """
    if text.endswith(".json"):
        return _read_label_map(Path(text))
    if text.startswith("{") and text.endswith("}"):
        return _json_label_map("--label-map", text)
    found: dict[str, str] = {}
    for pair in text.split(","):
        label, equals, name = (part.strip() for part in pair.rpartition("="))
        if not (label and equals and name):
            raise InputError(
                f"the label map needs LABEL=CLASS, not {pair.strip()!r}: separate pairs by commas, or name a .json file"
            )
        if found.setdefault(label, name) != name:
            raise InputError(f"the label map gives {label!r} two classes: {found[label]} and {name}")
    return found


def _read_label_map(path: Path) -> dict[str, str]:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAP_LIMIT + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    return _json_label_map(str(path), data)


def _json_label_map(where: str, data: bytes | str) -> dict[str, str]:
    """Return the label map that a JSON object holds; a label that it has twice is an InputError."""
    try:
        # Objects become tuples of pairs, so that a label that comes twice can be seen.
        pairs = json.loads(data, object_pairs_hook=tuple) if len(data) <= MAP_LIMIT else None
    except (ValueError, RecursionError):
        pairs = None
    if not isinstance(pairs, tuple) or not all(isinstance(name, str) for _, name in pairs):
        raise InputError(
            f'{where}: a label map is a JSON object like {{"doctor": "health"}} of at most {MAP_LIMIT} bytes'
        )
    found: dict[str, str] = {}
    for label, name in pairs:
        if label in found:
            raise InputError(f"{where}: the label map has {label[:40]!r} twice: remove one")
        found[label] = name
    return found
