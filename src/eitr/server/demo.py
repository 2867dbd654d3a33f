"""`eitr demo`: a server, ten participants, four of them attackers, and a round every few seconds, all on this machine.

Six participants are honest. Three label pages about health as not sensitive. One sends NaN. Their pages, and those the
operator validates with, are generated (`eitr.datasets.builtin`). They train all layers, as in the paper, so that the
rule can be watched telling attackers from others: private training hides single pages of both in noise.
"""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType

import httpx
import numpy as np

from eitr.client import OpenRound, Participant, ServerError
from eitr.datasets.builtin import pages as made_pages
from eitr.datasets.partition import dirichlet_partition
from eitr.errors import InputError
from eitr.io.private import create_folder
from eitr.pages.page import Page
from eitr.server.db.connection import Database
from eitr.server.domain import operators
from eitr.taxonomy import NAMES, NON_SENSITIVE

HONEST, FLIPPING, INVALID = 6, 3, 1
PAGES, VALIDATION = 3000, 1500
"""Of fewer validation pages, one or two of a rare topic would decide whether a model is published."""
DIFFICULTY = 0.3
SKEW = 20.0
"""How unlike each other the participants' pages are: the smaller, the more."""
HEALTH = NAMES.index("health")
START_SECONDS = 180.0
"""The first start on a machine compiles kernels."""
SETTINGS = {
    "EITR_TRAINING": "paper",
    "EITR_BOUNDS": "false",  # everybody is new here, and on one machine
    "EITR_MINIMUM": "3",
    "EITR_QUORUM": str(HONEST + FLIPPING),
    "EITR_MAXIMUM": "100",
    "EITR_ROUND_SECONDS": "600",  # rounds end at the quorum; in the first one, kernels are compiled for a minute or so
    "EITR_GRACE_SECONDS": "0.5",
    "EITR_PAUSE_SECONDS": "2",
    "EITR_POLL_SECONDS": "0.2",
    "EITR_EPOCHS": "10",
    "EITR_LEARNING_RATE": "0.05",
    "EITR_LOG_LEVEL": "warning",
    "EITR_ENROLMENTS_PER_HOUR": "1000",
    "EITR_REQUESTS_PER_MINUTE": "100000",
}


@dataclass(frozen=True)
class Role:
    """How a participant of the demonstration behaves."""

    name: str
    pages: list[Page] = field(repr=False)
    labels: list[int] = field(repr=False)
    invalid: bool = False


def validation_pages(path: Path, seed: int = 1) -> None:
    """Write the operator's pages: others than the participants have."""
    made = made_pages(size=VALIDATION, seed=seed, difficulty=DIFFICULTY)
    lines = [json.dumps({**asdict(one.page), "label": NAMES[one.label]}) for one in made]
    path.write_text("\n".join(lines) + "\n")


def roles(seed: int = 0) -> list[Role]:
    """Return the ten participants with pages of their own; some lie about theirs."""
    made = [(one.page, one.label) for one in made_pages(size=PAGES, seed=seed, difficulty=DIFFICULTY)]
    parts = dirichlet_partition(np.array([label for _, label in made]), HONEST + FLIPPING + INVALID, SKEW, seed)
    found = []
    for person, part in enumerate(parts):
        own = [made[int(row)] for row in part]
        flips = HONEST <= person < HONEST + FLIPPING
        labels = [NON_SENSITIVE if flips and label == HEALTH else label for _, label in own]
        name = "flips labels" if flips else "honest" if person < HONEST else "sends NaN"
        found.append(Role(name, [page for page, _ in own], labels, invalid=person >= HONEST + FLIPPING))
    return found


def run(folder: Path, *, port: int, rounds: int | None, tell: Callable[[str], None]) -> None:
    """Run the demonstration until `rounds` new models were published, or a signal comes; then stop everything."""
    over = threading.Event()

    def stop(_sign: int, _frame: FrameType | None) -> None:
        over.set()

    before = {sign: signal.signal(sign, stop) for sign in (signal.SIGINT, signal.SIGTERM)}
    server = _Server(folder, port)
    try:
        server.wait(over)
        if over.is_set():
            return
        password = server.set_password()
        tell(f"The dashboard: {server.address}  (name: demo, password: {password})")
        tell(f"{HONEST} honest participants, {FLIPPING} that flip labels, {INVALID} that sends NaN. Ctrl-C ends it.")
        tell(
            "The pages are generated: rounds train all layers (EITR_TRAINING=paper), which people's rounds should not."
        )
        _live(server.address, rounds, over, tell)
    finally:
        server.stop()
        for sign, handler in before.items():
            signal.signal(sign, handler)
    tell("Everything is stopped.")


class _Server:
    """`eitr serve` in a process of its own, in a session of its own: Ctrl-C is for us, and we stop it."""

    def __init__(self, folder: Path, port: int) -> None:
        self.log = folder / "demo.log"
        create_folder(folder)
        validation_pages(folder / "validation.jsonl")
        settings = {**SETTINGS, "EITR_VALIDATION_PAGES": str(folder / "validation.jsonl")}
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603 (ourselves)
                [sys.executable, "-m", "eitr", "serve", "--folder", str(folder), "--port", str(port)],
                stdout=output,
                stderr=output,
                env={**os.environ, **settings},
                start_new_session=True,
            )
        self.address = ""

    def wait(self, over: threading.Event) -> None:
        """Wait until it answers."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and not over.wait(0.1):
            text = self.log.read_text()
            if self._process.poll() is not None:
                raise InputError(f"the server did not start: {text.strip()[-500:]}")
            found = re.search(r"EITR runs at (http://[^\s\"]+)", text)
            if found:
                self.address = found[1]
                try:
                    if httpx.get(f"{self.address}/readyz").is_success:
                        return
                except httpx.TransportError:
                    pass
        if not over.is_set():
            raise InputError(f"the server did not get ready within {START_SECONDS:g} s; see {self.log}")

    def set_password(self) -> str:
        """Use the one-time link that the server left in its folder."""
        file = self.log.parent / operators.LINK_FILE
        found = re.search(r"/setup\?code=(\S+)", file.read_text()) if file.exists() else None
        password = secrets.token_urlsafe(12)
        if found is None:
            raise InputError(f"this folder has an operator already: take another one than {self.log.parent}")
        database = Database(f"sqlite:///{self.log.parent / 'eitr.db'}")
        operators.set_password(database, found[1], "demo", password)
        operators.delete_link_file(self.log.parent)
        database.close()
        return password

    def stop(self) -> None:
        """End it, in good order."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def _live(address: str, rounds: int | None, over: threading.Event, tell: Callable[[str], None]) -> None:
    failures: list[Exception] = []
    people = [(_participant(address, over), role) for role in roles()]
    for me, role in people:
        me.enrol()
        tell(f"  {str(me.id)[:8]}  {role.name}")
    threads = [threading.Thread(target=_take_part, args=(me, role, over, failures), daemon=True) for me, role in people]
    for thread in threads:
        thread.start()
    with httpx.Client(base_url=address) as watcher:
        last, ended = 1, 0
        while not over.wait(0.3) and not failures:
            version = watcher.get("/api/v2/model").json()["version"]
            if version > last:
                last, ended = version, ended + version - last
                tell(f"Version {version} of the model is out.")
            if rounds is not None and ended >= rounds:
                over.set()
    over.set()
    for thread in threads:
        thread.join(timeout=10)
    if failures:
        raise failures[0]


def _participant(address: str, over: threading.Event) -> Participant:
    return Participant(address, allow_all_layers=True, sleep=lambda seconds: _wait(over, seconds))


def _wait(over: threading.Event, seconds: float) -> None:
    over.wait(seconds)


def _take_part(me: Participant, role: Role, over: threading.Event, failures: list[Exception]) -> None:
    last = 0
    try:
        while not over.is_set():
            found = me.round()
            if found is None or found.id <= last:
                over.wait(0.2)
                continue
            last = found.id
            _send(me, role, found)
    except Exception as error:
        if not over.is_set():
            failures.append(error)
    finally:
        me.close()


def _send(me: Participant, role: Role, found: OpenRound) -> None:
    try:
        if role.invalid:
            me.send(found, np.full(me.model(found.base).model.network.size, np.nan, np.float32))
        else:
            me.send(found, me.trained(found, role.pages, role.labels))
    except ServerError as error:
        # NaN is rejected; and a round may close while somebody still trains.
        if error.slug not in ("not-finite", "round-closed"):
            raise
