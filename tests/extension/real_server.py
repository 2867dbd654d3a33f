"""A real `eitr serve` for real browsers, and its operator, who clicks."""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from eitr.server.demo import validation_pages
from eitr.server.domain.operators import LINK_FILE

from .browser import until

SETTINGS = {
    "EITR_PORT": "0",
    "EITR_AUTOMATIC_ROUNDS": "false",
    "EITR_POLL_SECONDS": "0.1",
    "EITR_ENROLMENTS_PER_HOUR": "1000",
    "EITR_BOUNDS": "false",
    "EITR_REQUESTS_PER_MINUTE": "100000",
    "EITR_LOG_LEVEL": "warning",
}
PASSWORD = "correct horse battery staple"


class RealServer:
    """Where it is, and what its operator can do."""

    def __init__(self, address: str, link: str, log: Path) -> None:
        self.address, self.log = address, log
        self._link = link
        self._page: Any = None

    def operator(self, browser: Any) -> Any:
        """Set the password by the printed link, and sign in; return a window of the operator's own."""
        page = browser.new_context().new_page()
        page.goto(self._link)
        page.fill("#name", "ada")
        page.fill("#password", PASSWORD)
        page.fill("#again", PASSWORD)
        page.click("main button")
        page.fill("#name", "ada")
        page.fill("#password", PASSWORD)
        page.click("main button")
        page.wait_for_url("**/")
        self._page = page
        return page

    def open_round(self) -> int:
        """Click; return the round's number."""
        self._page.goto(self.address)
        self._page.click("text=Open a round now")
        return int(until(self.round, what="an open round")["id"])

    def round(self) -> dict[str, Any] | None:
        answer = httpx.get(f"{self.address}/api/v2/rounds/current")
        return answer.json() if answer.is_success else None

    def version(self) -> int:
        return int(httpx.get(f"{self.address}/api/v2/model").json()["version"])

    def wait_for_version(self, version: int) -> None:
        """Wait until a round was aggregated and its model published."""
        until(
            lambda: self.version() >= version,
            what=f"version {version}; the server said: {self.log.read_text()[-2000:]}",
        )


@contextmanager
def real_server(folder: Path, participants: int, **changed: str) -> Iterator[RealServer]:
    """Run a server whose rounds end when so many have sent."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = folder / "validation.jsonl"
    validation_pages(pages)
    settings = {
        **SETTINGS,
        "EITR_VALIDATION_PAGES": str(pages),
        **dict.fromkeys(("EITR_MINIMUM", "EITR_QUORUM", "EITR_MAXIMUM"), str(participants)),
        **changed,
    }
    log = folder / "serve.log"
    command = [sys.executable, "-m", "eitr", "serve", "--folder", str(folder)]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, env={**os.environ, **settings}, stdout=stream, stderr=stream)
    try:
        yield until(lambda: _started(process, log), what="the server")
    finally:
        process.terminate()
        process.wait()


def _started(process: "subprocess.Popen[bytes]", log: Path) -> RealServer | None:
    said = log.read_text()
    assert process.poll() is None, said[-3000:]
    where, link = re.search(r"runs at (http://[^\s\"]+)\"", said), log.parent / LINK_FILE
    if where is None or not link.exists() or not (found := link.read_text().strip()):
        return None
    with contextlib.suppress(httpx.TransportError):
        httpx.get(f"{where[1]}/healthz")
        return RealServer(where[1], found, log)
    return None
