"""Chromium with the extension, for tests; where there is none, they are skipped."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error, Playwright, sync_playwright

from .browser import Extension, chromium_with_extension


@contextmanager
def running_extension(
    started: Playwright | None = None, *, folder: Path | None = None, agreed: bool = True, **options: Any
) -> Iterator[Extension]:
    """Start the browser, and let its user agree that pages are read; other options go to Playwright."""
    with ExitStack() as stack:
        playwright = started or stack.enter_context(sync_playwright())
        try:
            with chromium_with_extension(playwright, folder=folder, **options) as found:
                if agreed:
                    found.consent()
                yield found
        except Error as error:
            if "executable doesn't exist" in str(error).lower():
                pytest.skip("no Chromium to test with")
            raise
