"""A real server of the version under trial, and the crowd that talks HTTP with it from different networks."""

import base64
import hashlib
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from benchmarks.federation_tree import API, EITR, source_folder
from benchmarks.server_process import Process, free_port
from eitr.errors import InputError

THREADS = 8
PATIENCE = 300.0
"""Seconds within which the next round must open."""
AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
ATTEMPTS = 8
PARAMETERS = "application/vnd.eitr.parameters"


@dataclass(frozen=True)
class Member:
    """An identity that has enrolled, and the address that it speaks from."""

    id: str
    secret: str
    address: str


@dataclass(frozen=True)
class Call:
    """A round that takes updates."""

    id: int
    base: int
    training: dict[str, Any]


class Server:
    """A running `eitr serve`."""

    def __init__(self, port: int, folder: Path) -> None:
        self._base, self._folder = f"http://127.0.0.1:{port}", folder
        self._clients: dict[str, httpx.Client] = {}
        self._weights: dict[int, NDArray[np.float32]] = {}

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def enrol(self, addresses: Sequence[str], codes: Sequence[str] = ()) -> list[Member]:
        """Enrol an identity from each address, by invitation if there are codes."""
        wishes = [{"invitation": code} for code in codes] if codes else [{} for _ in addresses]

        def one(address: str, wish: dict[str, str]) -> Member:
            told = self._ask(address, "POST", f"{API}/participants", json=wish)
            if not told.is_success:
                raise InputError(f"somebody could not enrol: {told.text}")
            return Member(told.json()["id"], told.json()["secret"], address)

        for address in addresses:
            self._client(address)
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(one, addresses, wishes))

    def wait_for_round(self, after: int) -> Call:
        """Wait until a round with a higher number is open."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            told = self._ask("127.0.0.1", "GET", f"{API}/rounds/current")
            if told.is_success and told.json()["id"] > after:
                return Call(told.json()["id"], told.json()["base"], told.json()["training"])
            time.sleep(0.05)
        raise InputError(f"no new round opened within {PATIENCE:g} s")

    def weights(self, version: int) -> NDArray[np.float32]:
        """Download a version of the model."""
        if version not in self._weights:
            told = self._ask("127.0.0.1", "GET", f"{API}/models/{version}/weights")
            self._weights = {version: np.frombuffer(told.raise_for_status().content, "<f4").astype(np.float32)}
        return self._weights[version]

    def send(self, round: int, updates: Sequence[tuple[Member, bytes]]) -> Counter[str]:
        """Send updates as fast as possible; return how many were accepted, and what the others were told."""

        def one(pair: tuple[Member, bytes]) -> str:
            member, data = pair
            headers = {
                "Authorization": f"Bearer {member.id}.{member.secret}",
                "Content-Type": PARAMETERS,
                "Content-Digest": f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:",
            }
            told = self._ask(member.address, "PUT", f"{API}/rounds/{round}/update", content=data, headers=headers)
            return "accepted" if told.is_success else str(told.json().get("type", "")).rpartition("/")[2]

        with ThreadPoolExecutor(THREADS) as pool:
            return Counter(pool.map(one, updates))

    def bring_deadline_forward(self, round: int) -> None:
        """Let an open round's deadline be now: everybody has sent, and nobody waits a day for the real one."""
        moment = datetime.now(UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
        with closing(self._database()) as database, database:
            database.execute("UPDATE rounds SET deadline = ? WHERE id = ? AND state = 'open'", (moment, round))

    def table(self, query: str) -> list[dict[str, Any]]:
        """Return rows of the database."""
        with closing(self._database()) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(query)]

    def _database(self) -> sqlite3.Connection:
        return sqlite3.connect(self._folder / "eitr.db", timeout=60)

    def _client(self, address: str) -> httpx.Client:
        if address not in self._clients:
            transport = httpx.HTTPTransport(local_address=address)
            self._clients[address] = httpx.Client(base_url=self._base, timeout=120, transport=transport)
        return self._clients[address]

    def _ask(self, address: str, method: str, path: str, **options: Any) -> httpx.Response:
        for attempt in range(ATTEMPTS):
            try:
                told = self._client(address).request(method, path, **options)
            except httpx.TransportError:
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                if told.status_code not in AGAIN:
                    return told
            time.sleep(0.1 * 2**attempt)
        return told


@contextmanager
def running(folder: Path, settings: Mapping[str, str]) -> Iterator[Server]:
    """Run `eitr serve` of the version that this process imports, with SQLite in a folder."""
    port = free_port()
    command = [*EITR, "serve", "--port", str(port), "--folder", str(folder)]
    environment = {**settings, "PYTHONPATH": str(source_folder())}
    process = Process(command, port, folder.with_suffix(".log"), environment)
    try:
        process.wait("/readyz")
        server = Server(port, folder)
        try:
            yield server
        finally:
            server.close()
    finally:
        process.stop()


def document(text: str | None) -> Any:
    """Return what a JSON column holds."""
    return None if text is None else json.loads(text)
