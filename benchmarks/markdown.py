"""Tables in Markdown that also read well as plain text."""

import math
from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table: the first column to the left, the others to the right, padded to be read as text."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]

    def line(cells: Sequence[str]) -> str:
        numbers = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        aligned = [cells[0].ljust(widths[0]), *numbers]
        return f"| {' | '.join(aligned)} |"

    return "\n".join([line(head), line(rule), *(line(row) for row in rows)])


def significant(number: float) -> str:
    """Return three significant digits, without an exponent.

    >>> significant(1234.5), significant(0.00004567), significant(12)
    ('1230', '0.0000457', '12.0')
    """
    if number == 0:
        return "0"
    rounded = float(f"{number:.3g}")
    decimals = max(0, 2 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:.{decimals}f}"
