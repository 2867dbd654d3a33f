"""Pages to measure the extension with: whole real ones, and pages made from the rows of a news site."""

import gzip
import html
import json
import os
import tarfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from eitr.pages.encoding import decode

DATA = Path(os.environ.get("EITR_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def real_pages(data: Path = DATA) -> dict[str, str]:
    """Return the markup of the real pages by name."""
    with tarfile.open(data / "html_pages.tar.gz") as archive:
        files = {member.name.split("/")[0]: archive.extractfile(member) for member in archive if member.isfile()}
        return {name.lower().replace("_", "-"): decode(file.read()) for name, file in files.items() if file is not None}


def news_rows(count: int, split: str = "test") -> list[dict[str, Any]]:
    """Return the first rows of a split, one class after the other in turn as they come."""
    return list(islice(_rows(split), count))


def _rows(split: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / "news_sections.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from (row for line in lines if (row := json.loads(line))["split"] == split)


def made_page(row: dict[str, Any]) -> str:
    """Return a row as a page with the usual furniture."""
    title = html.escape(row["title"])
    text = "".join(f"<p>{html.escape(part)}</p>" for part in row["text"].splitlines())
    links = "".join(f'<li><a href="/{n}">Link {n}</a></li>' for n in range(30))
    return (
        f'<!doctype html><html lang="en"><head><title>{title}</title></head><body><nav><ul>{links}</ul></nav>'
        f"<main><h1>{title}</h1>{text}</main><footer>Imprint</footer></body></html>"
    )
