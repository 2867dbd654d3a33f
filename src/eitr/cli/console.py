"""What every command prints with: messages and progress on standard error, output free of control characters."""

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.table import Table
from rich.text import Text


def printable(text: str) -> str:
    """Return a text on one line and without control characters: a page's title must not steer the terminal."""
    return "".join(character for character in " ".join(text.split()) if unicodedata.category(character)[0] != "C")


def add_row(table: Table, *cells: str | Text) -> None:
    """Add a row to a table; square brackets in a string, such as the summary of a plugin, are no markup."""
    table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))


def tell(message: str) -> None:
    """Print a message on standard error."""
    Console(stderr=True, soft_wrap=True, markup=False, highlight=False).print(message)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show a spinner while work goes on, if standard error is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield
