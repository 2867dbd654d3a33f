"""A site, and a browser with the extension: one for all tests of a process, which start over one after the other."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from .browser import Extension, chromium_with_extension
from .site import Site, served


# Of the package, not of the session: tests of other folders start Playwright themselves, and one process can only once.
@pytest.fixture(scope="package")
def started() -> Iterator[Any]:
    with sync_playwright() as found:
        yield found


@pytest.fixture(scope="package")
def shared_browser(started: Any) -> Iterator[Extension]:
    with chromium_with_extension(started) as found:
        yield found


@pytest.fixture
def site() -> Iterator[Site]:
    with served() as found:
        yield found


@pytest.fixture
def extension(shared_browser: Extension) -> Extension:
    """The extension as after the installation: nobody has agreed to anything."""
    shared_browser.start_over()
    return shared_browser


@pytest.fixture
def agreed(extension: Extension) -> Extension:
    """The extension of somebody who agreed that pages are read."""
    extension.agree()
    return extension


@pytest.fixture(scope="module")
def module_site() -> Iterator[Site]:
    with served() as found:
        yield found


@pytest.fixture(scope="module")
def module_extension(shared_browser: Extension) -> Extension:
    """The same for files whose tests do not disturb each other and share one start."""
    shared_browser.start_over()
    shared_browser.agree()
    return shared_browser
