"""Put the tables of docs/results/scale/scale.json into docs/scale.md: `python -m scripts.scale_page`."""

import json
from pathlib import Path

from eitr.lab.scale.report import tables

DOCS = Path(__file__).parents[1] / "docs"
TARGET, NUMBERS = DOCS / "scale.md", DOCS / "results" / "scale" / "scale.json"
BEGIN, END = "<!-- scale:begin -->\n", "<!-- scale:end -->"


def page() -> str:
    """Return the document with the tables of the numbers."""
    before, _, rest = TARGET.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + tables(json.loads(NUMBERS.read_text("utf-8"))) + END + after


if __name__ == "__main__":
    TARGET.write_text(page(), "utf-8")
