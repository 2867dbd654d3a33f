"""Archived copies of pages: what a reader sees of them, as a plain document.

HTML from elsewhere can run and load things in many ways. So nothing of its markup is kept: the title, the description,
the keywords and the visible text are extracted, as the classifier does, and written into a new document. The headers
forbid scripts and every request once more.
"""

from html import escape

from eitr.errors import InputError
from eitr.pages.extract import extract
from eitr.pages.page import Page

LARGEST_COPY = 4 << 20
"""In bytes of the original."""
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; sandbox",
    "Cache-Control": "no-store",
}
"""Of every answer that shows a copy."""


def harmless(html: bytes, content_type: str | None = None) -> bytes:
    """Return a document with the words of a page and nothing else, in UTF-8.

    >>> harmless(b"<title>Flu</title><script>alert(1)</script><p>Rest &amp; drink<p>a lot").decode().splitlines()[-2:]
    ['<p>Rest &amp; drink</p>', '<p>a lot</p>']
    """
    if len(html) > LARGEST_COPY:
        raise InputError(f"has more than {LARGEST_COPY} bytes: store a shorter copy")
    page = extract(html, content_type=content_type)
    if not page.text.strip():
        raise InputError("not a page that can be labelled: it has no text")
    return _document(page).encode()


def _document(page: Page) -> str:
    lines = [
        "<!DOCTYPE html>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(page.title)}</title>",
        f'<meta name="description" content="{escape(page.description)}">',
        f'<meta name="keywords" content="{escape(page.keywords)}">',
        f"<h1>{escape(page.title)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in page.text.splitlines() if line.strip()),
    ]
    return "\n".join(lines)
