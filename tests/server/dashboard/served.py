"""The example federation behind a real `eitr serve`, for real browsers."""

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from eitr.server.db import schema
from eitr.server.db.connection import Database
from eitr.server.domain.keys import Key
from tests.server.dashboard.example import Example, fill, make_operator

START_SECONDS = 120.0
"""The first start on a machine compiles kernels."""


@contextmanager
def served(folder: Path, *, empty: bool = False) -> Iterator[tuple[str, Example | None]]:
    """Run a server, at any port unless EITR_PORT names one; give its address and who is who."""
    database = Database(f"sqlite:///{folder / 'eitr.db'}")
    schema.upgrade(database)
    example = None if empty else fill(database, Key.of(folder))
    make_operator(database)
    database.close()
    offer_packages(folder)
    command = [sys.executable, "-m", "eitr", "serve", "--no-worker", "--folder", str(folder)]
    settings = {"EITR_PORT": "0", **os.environ, "EITR_REQUESTS_PER_MINUTE": "100000", "EITR_DOWNLOADS": str(folder)}
    log = folder / "serve.log"
    with log.open("wb") as stream:
        server = subprocess.Popen(command, env=settings, stdout=stream, stderr=stream)
    try:
        yield _address(server, log), example
    finally:
        server.terminate()
        server.wait()


def offer_packages(folder: Path) -> None:
    """Put files where the download page looks for them: it cares for their names alone."""
    for browser in ("chrome", "firefox"):
        (folder / f"eitr-{browser}.zip").write_bytes(b"PK, a package for " + browser.encode())


def _address(server: "subprocess.Popen[bytes]", log: Path) -> str:
    """Wait until the server answers, and return where it said it is."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.poll() is None:
        said = re.search(r"runs at (http://\S+)\n", log.read_text())
        if said is not None:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"{said[1]}/healthz")
                return said[1]
        time.sleep(0.1)
    raise AssertionError(f"the server did not start: {log.read_text()[-3000:]}")
