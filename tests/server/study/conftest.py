"""A server with studies, on each kind of database in turn."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.study.world import World


@pytest.fixture
def world(address: str, tmp_path: Path) -> Iterator[World]:
    """A server on which nothing has happened yet."""
    found = World(tmp_path, address)
    yield found
    found.close()


@pytest.fixture
def small_world(tmp_path: Path) -> Iterator[World]:
    """The same on SQLite only, for what does not depend on the database."""
    found = World(tmp_path)
    yield found
    found.close()
