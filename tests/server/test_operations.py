"""The numbers for Prometheus are for whoever runs the server: with a token, or on the same machine."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from eitr.cli import app
from eitr.server.composition.wiring import build_services
from eitr.server.operations import operations_application
from eitr.server.settings import read_settings

TOKEN = "a-token-of-the-operator"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def statuses(folder: Path, token: str, cases: list[tuple[str, dict[str, Any]]]) -> list[int]:
    """Ask for /metrics from some addresses with some headers; return the statuses, after a look at the answers."""
    services = build_services(read_settings(folder=folder, metrics_token=token))

    async def ask(address: str, headers: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(operations_application(services), client=(address, 50000))
        async with httpx.AsyncClient(transport=transport, base_url="http://server") as client:
            return await client.get("/metrics", headers=headers)

    found = []
    for address, headers in cases:
        answer = asyncio.run(ask(address, headers))
        found.append(answer.status_code)
        assert ("eitr_open_round_updates" in answer.text) == answer.is_success
        if not answer.is_success:
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert answer.json()["type"] == "/problems/token-needed"
    services.stop()
    return found


@pytest.fixture
def folder(tmp_path: Path, started_sqlite: Path) -> Path:
    """The folder of a server that was started once."""
    (tmp_path / "eitr.db").write_bytes(started_sqlite.read_bytes())
    return tmp_path


def test_without_a_token_the_numbers_are_for_this_machine_only(folder: Path) -> None:
    local: list[tuple[str, dict[str, Any]]] = [("127.0.0.1", {}), ("127.3.2.1", {}), ("::1", {})]
    strange: list[tuple[str, dict[str, Any]]] = [
        ("192.0.2.7", {}),
        ("not an address", {}),
        ("192.0.2.7", BEARER),
        ("192.0.2.7", {"Authorization": "Bearer "}),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}),
        ("127.0.0.1", {"Forwarded": "for=127.0.0.1"}),
        ("127.0.0.1", {"Via": "1.1 proxy"}),
    ]
    assert statuses(folder, "", local) == [200] * len(local)
    assert statuses(folder, "", strange) == [401] * len(strange)


def test_with_a_token_the_numbers_are_for_whoever_sends_it(folder: Path) -> None:
    right: list[tuple[str, dict[str, Any]]] = [
        ("192.0.2.7", BEARER),
        ("192.0.2.7", {**BEARER, "X-Forwarded-For": "192.0.2.8"}),
        ("192.0.2.7", {"Authorization": f"bearer  {TOKEN}"}),
    ]
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("127.0.0.1", {}),
        ("192.0.2.7", {"Authorization": f"Basic {TOKEN}"}),
        ("192.0.2.7", {"Authorization": f"Bearer {TOKEN}x"}),
        ("192.0.2.7", {"Authorization": b"Bearer \xfc"}),
    ]
    assert statuses(folder, TOKEN, right) == [200] * len(right)
    assert statuses(folder, TOKEN, wrong) == [401] * len(wrong)


def test_the_token_is_not_shown_among_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EITR_METRICS_TOKEN", TOKEN)
    for arguments in (["settings"], ["settings", "--json"]):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        assert TOKEN not in done.output
        assert "EITR_METRICS_TOKEN" in done.output
    shown = {one["variable"]: one["value"] for one in json.loads(done.output)}
    assert shown["EITR_METRICS_TOKEN"] == "**********"
