"""The class and the split of each row, and what to say about labels that mean nothing here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from eitr.datasets.own.options import FileOptions, did_you_mean, nearest, normal
from eitr.errors import InputError

MOST_UNKNOWN: Final = 1000
"""More different labels are no labels: the column is the wrong one."""
MOST_NAMED: Final = 10
"""So many unknown labels are named in a message."""

_SPLITS: Final = {
    **dict.fromkeys(("train", "training", "false", "no", "0"), False),
    **dict.fromkeys(("test", "testing", "true", "yes", "1"), True),
}


class LabelReader:
    """Reads the label and the split of rows, and remembers labels it does not know."""

    def __init__(self, path: Path, options: FileOptions) -> None:
        self._path = path
        self._meanings = options.meanings()
        self._classes = options.classes
        self._label_column = options.columns.get("label", "label")
        self._split_columns = (options.columns["split"],) if "split" in options.columns else ("split", "test")
        self._unknown: dict[str, tuple[int, int]] = {}
        """The line and the number of pages of each label that is not known."""

    def read(self, line: int, row: Mapping[str, Any]) -> tuple[int, bool | None] | None:
        """Return the class of a row and whether it is to test on; None if its label is not known.

        A label or split that cannot be one is an InputError. Unknown labels are gathered for `finish`, so that one
        message can name them all.
        """
        label = row.get(self._label_column)
        if isinstance(label, int) and not isinstance(label, bool):
            label = str(label)
        if not isinstance(label, str) or not label.strip():
            raise InputError(f"the column {self._label_column!r} holds no label: give the page one")
        split = self._split(row)
        found = self._meanings.get(normal(label))
        if found is None:
            first, pages = self._unknown.get(label.strip()[:40], (line, 0))
            self._unknown[label.strip()[:40]] = first, pages + 1
            return None
        return found, split

    @property
    def hopeless(self) -> bool:
        """Whether so many labels are not known that the column must be the wrong one."""
        return len(self._unknown) > MOST_UNKNOWN

    def finish(self) -> None:
        """Raise an InputError that names the labels which are not known, if there are any."""
        if not self._unknown:
            return
        if self.hopeless:
            raise InputError(
                f"{self._path}: the column {self._label_column!r} holds more than {MOST_UNKNOWN} different labels: "
                "name the right column with --label-column"
            )
        named = [
            f"{label!r}{did_you_mean(label, self._classes)} on line {line}"
            + (f" and {pages - 1} more" if pages > 1 else "")
            for label, (line, pages) in list(self._unknown.items())[:MOST_NAMED]
        ]
        if len(self._unknown) > MOST_NAMED:
            named.append(f"and {len(self._unknown) - MOST_NAMED} more labels")
        first = next(iter(self._unknown))
        example = f"{first}={nearest(first, self._classes) or self._classes[-1]}".replace('"', "")
        raise InputError(
            f"{self._path}: the label is none of {', '.join(self._classes)}: {', '.join(named)}; "
            f'say what they mean, for example --label-map "{example}"'
        )

    def _split(self, row: Mapping[str, Any]) -> bool | None:
        for column in self._split_columns:
            value = row.get(column)
            if value is None or value == "":
                continue
            found = _SPLITS.get(str(value).strip().casefold()) if isinstance(value, str | int) else None
            if found is None:
                raise InputError(f"the column {column!r} must hold train or test, or nothing, not {str(value)[:40]!r}")
            return found
        return None
