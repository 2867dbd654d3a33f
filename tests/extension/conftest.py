"""A site, and a browser with the extension for each test; files whose tests share a browser have their own."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from .running import running_extension
from .site import Site, served


@pytest.fixture(scope="module")
def started() -> Iterator[Any]:
    with sync_playwright() as found:
        yield found


@pytest.fixture
def site() -> Iterator[Site]:
    with served() as found:
        yield found


@pytest.fixture
def extension(started: Any) -> Iterator[Any]:
    with running_extension(started, agreed=False) as found:
        yield found


@pytest.fixture
def agreed(extension: Any) -> Any:
    extension.consent()
    return extension
