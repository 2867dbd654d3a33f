"""The examples of a document: what its readers copy and run."""

from pathlib import Path
from typing import NamedTuple


class Example(NamedTuple):
    line: int
    language: str
    text: str


def examples(document: Path) -> list[Example]:
    """Return the blocks of Python and the indented commands, continued lines joined."""
    lines = document.read_text(encoding="utf-8").splitlines()
    found: list[Example] = []
    number = 0
    while number < len(lines):
        start, line = number + 1, lines[number]
        if line.startswith("```"):
            end = lines.index("```", number + 1)
            found.append(Example(start, line.removeprefix("```"), "\n".join(lines[number + 1 : end]) + "\n"))
            number = end
        elif line.startswith("    "):
            while line.endswith("\\"):
                number += 1
                line = line[:-1] + lines[number]
            found.append(Example(start, "shell", line.strip()))
        number += 1
    return found
