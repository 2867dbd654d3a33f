"""Version 2 of the protocol: pools, plans, updates of what is trained, and a word to clients of version 1."""

import base64
import hashlib
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from httpx import Response
from sqlalchemy import select
from starlette.testclient import TestClient

from eitr.client import Participant, SentRound
from eitr.errors import InputError
from eitr.model.update_encoding import DIFFERENCE, PARAMETERS
from eitr.pages import Page
from eitr.pages.pool import Pool
from eitr.server.composition.app import application
from eitr.server.composition.wiring import build_services, prepared_database
from eitr.server.db.connection import Database
from eitr.server.db.tables import ModelRow, PoolRow, UpdateRow
from eitr.server.domain.services import Services
from eitr.server.settings import read_settings
from tests.server.process import Running
from tests.server.stored_updates import object_files, stored_bytes

POOL = files("eitr").joinpath("assets", "pool.bin").read_bytes()
POOL_PAGES = len(Pool.from_bytes(POOL, width=1000))
LAST_LAYER = 32 * 6 + 6


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    """A server without a worker and without requests per minute that matter."""
    yield from make_services(tmp_path)


def make_services(folder: Path, **settings: Any) -> Iterator[Services]:
    found = build_services(read_settings(folder=folder, worker=False, **settings))
    yield found
    found.ingest.close()
    found.database.close()


def client_of(services: Services) -> TestClient:
    return TestClient(application(services), follow_redirects=False, raise_server_exceptions=False)


def put(client: TestClient, round: int, data: bytes, kind: str = PARAMETERS) -> Response:
    who = client.post("/api/v2/participants", json={}).json()
    digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
    headers = {
        "Authorization": f"Bearer {who['id']}.{who['secret']}",
        "Content-Type": kind,
        "Content-Digest": f"sha-256=:{digest}:",
    }
    return client.put(f"/api/v2/rounds/{round}/update", content=data, headers=headers)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/model", b""),
        ("POST", "/participants", b"{}"),
        ("GET", "/rounds/current", b""),
        ("PUT", "/rounds/1/update", bytes(529_356)),
        ("DELETE", "/me", b""),
        ("GET", "/models/1/weights", b""),
        ("BREW", "/nothing/of/the/kind", b""),
    ],
)
def test_clients_of_version_1_are_told_to_update(services: Services, method: str, path: str, body: bytes) -> None:
    answer = client_of(services).request(method, f"/api/v1{path}", content=body)
    assert answer.status_code == 410
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "/problems/update-needed",
        "title": "This server speaks version 2 of the protocol: update EITR.",
        "status": 410,
    }


def test_the_manifest_and_the_round_say_how_to_train(services: Services) -> None:
    client = client_of(services)
    manifest = client.get("/api/v2/model").json()
    assert manifest["protocol"] == 2
    assert manifest["training"] == {"method": "private", "layers": 1, "clip": 0.2}
    assert services.rounds.open() == 1
    assert client.get("/api/v2/rounds/current").json()["training"] == {
        "method": "private",
        "layers": 1,
        "cover_pages": 200,
        "own_weight": 4.0,
        "clip": manifest["training"]["clip"],
        "learning_rate": 0.1 * services.settings.quorum / 50,
        "noise": 4.0,
    }


def test_the_pool_is_served_under_its_hash_and_never_changes(services: Services) -> None:
    client = client_of(services)
    manifest = client.get("/api/v2/model").json()
    sha256 = hashlib.sha256(POOL).hexdigest()
    assert manifest["pool"] == {
        "url": f"/api/v2/pools/{sha256}",
        "sha256": sha256,
        "bytes": len(POOL),
        "pages": POOL_PAGES,
    }
    answer = client.get(manifest["pool"]["url"])
    assert answer.content == POOL
    assert answer.headers["etag"] == f'"{sha256}"'
    assert "immutable" in answer.headers["cache-control"]
    assert Pool.from_bytes(answer.content, width=1000).vocabulary.hex() == manifest["vocabulary"]["sha256"]
    again = client.get(manifest["pool"]["url"], headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for other in ("0" * 64, "x"):
        missing = client.get(f"/api/v2/pools/{other}")
        assert (missing.status_code, missing.json()["type"]) == (404, "/problems/unknown-pool")


def test_another_way_of_training_is_another_manifest(tmp_path: Path) -> None:
    with ExitStack() as stack:
        private, paper = (
            stack.enter_context(client_of(next(make_services(tmp_path, training=training)))).get("/api/v2/model")
            for training in ("private", "paper")
        )
    assert paper.json()["training"] == {"method": "paper"}
    assert paper.json()["version"] == private.json()["version"]
    assert paper.headers["etag"] != private.headers["etag"], "who asks with If-None-Match must see it"


def test_an_update_is_what_was_trained_and_nothing_else_is_stored(services: Services) -> None:
    client, round = client_of(services), services.rounds.open()
    assert round is not None
    trained = np.zeros(LAST_LAYER, "<f4").tobytes()
    for length in (0, LAST_LAYER - 1, LAST_LAYER + 1, 8422, 264678):
        answer = put(client, round, bytes(4 * length))
        assert (answer.status_code, answer.json()["type"]) == (422, "/problems/wrong-length"), length
    assert put(client, round, trained).status_code == 202
    assert put(client, round, trained[: len(trained) // 2], DIFFERENCE).status_code == 202
    with services.database.reading() as session:
        stored = [stored_bytes(services.settings.folder, row) for row in session.scalars(select(UpdateRow))]
    assert sorted(map(len, stored)) == [2 * LAST_LAYER, 4 * LAST_LAYER]


def test_with_the_papers_training_an_update_has_all_parameters(tmp_path: Path) -> None:
    for services in make_services(tmp_path, training="paper"):
        client, round = client_of(services), services.rounds.open()
        assert round is not None
        assert put(client, round, bytes(4 * LAST_LAYER)).status_code == 422
        assert put(client, round, bytes(4 * 264678)).status_code == 202


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"noise": 3.9}, "EITR_NOISE: participants refuse plans with noise below 4"),
        ({"noise": float("inf")}, "EITR_NOISE"),
        ({"layers": 3}, "at most 2"),
        ({"cover_pages": 3000}, f"EITR_COVER_PAGES: the pool has {POOL_PAGES} pages"),
        ({"own_weight": 0}, "EITR_OWN_WEIGHT"),
        ({"private_learning_rate": 1001}, "EITR_PRIVATE_LEARNING_RATE"),
    ],
)
def test_a_plan_that_participants_refuse_is_an_error_at_the_start(
    tmp_path: Path, settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        prepared_database(read_settings(folder=tmp_path, **settings))


def test_a_model_without_a_pool_is_named_at_the_start_and_has_no_private_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("eitr.server.domain.pools.add_first", lambda *_: None)
    with caplog.at_level(logging.WARNING, "eitr.server"):
        services = next(make_services(tmp_path))
    assert "no pool of cover pages" in caplog.text
    assert services.rounds.open_if_due() is None
    manifest = client_of(services).get("/api/v2/model").json()
    assert (manifest["pool"], manifest["training"]) == (None, {"method": "paper"})
    caplog.clear()
    paper = next(make_services(tmp_path, training="paper"))
    assert not caplog.text
    assert paper.rounds.open_if_due() == 1


def test_the_pool_is_stored_once_and_follows_its_vocabulary(tmp_path: Path) -> None:
    for _ in range(2):
        database, _scoring = prepared_database(read_settings(folder=tmp_path))
        with database.reading() as session:
            pools = session.scalars(select(PoolRow)).all()
            assert [one.vocabulary for one in pools] == session.scalars(select(ModelRow.vocabulary)).all()
        database.close()


def test_participants_train_privately_and_the_server_publishes_a_model(tmp_path: Path) -> None:
    people = 5
    counts: dict[str, Any] = dict.fromkeys(("minimum", "quorum", "maximum"), people)
    pages = [Page(title="Living with diabetes", text="Insulin and blood sugar"), Page(title="The election")]
    with Running(
        "serve", tmp_path / "server", **counts, poll_seconds=0.05, pause_seconds=0, margin=1
    ).ready() as server:
        for _ in range(people):
            with Participant(server.address) as me:
                me.enrol()
                first = me.take_part(pages, [0, 1], seconds=300)
        with Participant(server.address, id=me.id, secret=me.secret) as watcher:
            watcher.wait_for_round(after=first.id, seconds=300)
            assert watcher.rounds() == [SentRound(first.id, "published", 2)]
            before, after = (watcher.model(version).model.vector for version in (1, 2))
        assert server.stop() == 0
    assert np.array_equal(before[:-LAST_LAYER], after[:-LAST_LAYER])
    assert (before[-LAST_LAYER:] != after[-LAST_LAYER:]).all()
    with Database(f"sqlite:///{tmp_path / 'server' / 'eitr.db'}").reading() as session:
        assert session.scalars(select(UpdateRow.object).distinct()).all() == [None]
    assert object_files(tmp_path / "server") == []
