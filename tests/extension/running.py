"""Chromium with the extension, for the tests of one file; where there is none, they are skipped."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="no browser to test with")


@contextmanager
def running_extension(*, folder: Path | None = None, agreed: bool = True, **options: Any) -> Iterator[Any]:
    """Start the browser and let its user agree that pages are read; other options go to Playwright."""
    from .browser import chromium_with_extension

    with playwright.sync_playwright() as started:
        try:
            with chromium_with_extension(started, folder=folder, **options) as found:
                if agreed:
                    found.consent()
                yield found
        except playwright.Error as error:
            if "executable doesn't exist" in str(error).lower():
                pytest.skip("no Chromium to test with")
            raise
