"""What is left of a web page once its markup is gone: four strings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from eitr.errors import InputError

FIELDS = ("title", "description", "keywords", "text")
"""In the order in which they are joined; the order is part of the protocol."""


@dataclass(frozen=True, slots=True)
class Page:
    """The words of a page by where they stood; an absent field is the empty string."""

    title: str = ""
    description: str = ""
    keywords: str = ""
    text: str = ""

    @classmethod
    def from_row(cls, row: Mapping[str, object]) -> Self:
        """Make a page of an outside row; null counts as absent, and fields of other names are left alone.

        >>> Page.from_row({"title": "Hay fever", "keywords": None, "label": "health"})
        Page(title='Hay fever', description='', keywords='', text='')
        """
        if not any(field in row for field in FIELDS):
            raise InputError(f"a row needs at least one of {', '.join(FIELDS)}")
        return cls(**{field: _string(row, field) for field in FIELDS})

    def content(self) -> str:
        r"""Return what is split into tokens: all four fields, empty ones too, joined by line feeds.

        >>> Page(title="Hay fever", text="Itchy eyes").content()
        'Hay fever\n\n\nItchy eyes'
        """
        return "\n".join((self.title, self.description, self.keywords, self.text))


def _string(row: Mapping[str, object], field: str) -> str:
    value = row.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"the field {field!r} of a row must be a string or null, not {type(value).__name__}")
    return value
