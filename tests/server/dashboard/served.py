"""The example federation behind a real `eitr serve`, for real browsers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eitr.server.db import schema
from eitr.server.db.connection import Database
from eitr.server.domain.keys import Key
from tests.server.dashboard.example import Example, fill, make_operator
from tests.server.process import Running


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, Example]]:
    """Run a server; give its address and who is who."""
    database = Database(f"sqlite:///{folder / 'eitr.db'}")
    schema.upgrade(database)
    example = fill(database, Key.of(folder))
    make_operator(database)
    database.close()
    offer_packages(folder)
    with Running("serve", folder, "--no-worker", downloads=folder) as running:
        yield running.ready().address, example


def offer_packages(folder: Path) -> None:
    """Put files where the download page looks for them: it cares for their names alone."""
    for browser in ("chrome", "firefox"):
        (folder / f"eitr-{browser}.zip").write_bytes(b"PK, a package for " + browser.encode())
