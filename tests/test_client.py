"""The Python participant, against servers that are slow, busy, broken or lying."""

import contextlib
import gzip
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from eitr.client import OpenRound, Participant, PlanRefusedError, SentRound, ServerError
from eitr.errors import InputError
from eitr.model import Network
from eitr.model.classifier import Classifier
from eitr.model.plan import TrainingPlan
from eitr.model.private import PrivatePlan, trained_from
from eitr.model.update_encoding import DIFFERENCE, PARAMETERS
from eitr.pages import Page, Vocabulary
from eitr.pages.pool import Pool

SHIPPED = Classifier.shipped()
WEIGHTS = SHIPPED.model.vector.astype("<f4").tobytes()
VOCABULARY = SHIPPED.vocabulary.to_json().encode()
POOL = files("eitr").joinpath("assets", "pool.bin").read_bytes()
POOL_HASH = hashlib.sha256(POOL).hexdigest()
POOL_PAGES = len(Pool.from_bytes(POOL, width=1000))
FIRST = trained_from(SHIPPED.model.network, 1)
"""The place of the first parameter of the last layer."""
MANIFEST: dict[str, Any] = {
    "protocol": 2,
    "version": 1,
    "created": "2027-01-01T00:00:00+00:00",
    "classes": ["health", "politics", "religion", "sexual-orientation", "ethnicity", "non-sensitive"],
    "layers": [1000, 256, 32, 6],
    "parameters": 264678,
    "weights": {"sha256": hashlib.sha256(WEIGHTS).hexdigest(), "bytes": len(WEIGHTS)},
    "vocabulary": {"sha256": hashlib.sha256(VOCABULARY).hexdigest()},
    "pool": {"sha256": POOL_HASH, "bytes": len(POOL), "pages": POOL_PAGES},
    "training": {"method": "private", "layers": 1, "clip": 0.15},
}
PRIVATE = {
    "method": "private",
    "layers": 1,
    "cover_pages": 200,
    "own_weight": 4.0,
    "clip": 0.15,
    "learning_rate": 0.05,
    "noise": 4.0,
}
PRIVATE_ROUND = {"id": 3, "base": 1, "deadline": "2027-01-01T00:00:00+00:00", "training": PRIVATE}
ROUND = {
    "id": 3,
    "base": 1,
    "deadline": "2027-01-01T00:00:00+00:00",
    "training": {
        "method": "paper",
        "epochs": 1,
        "max_batches": 1,
        "batch_size": 4,
        "learning_rate": 0.01,
        "momentum": 0.8,
        "dropout": 0.5,
    },
}

Answer = tuple[int, bytes | dict[str, Any], dict[str, str]]


class Fake:
    """A server whose answers a test writes; real HTTP on the loopback."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], list[Answer]] = {}
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fake.asked.append((self.command, self.path, dict(self.headers), body))
                waiting = fake.answers.get((self.command, self.path), [(404, {"type": "/problems/not-found"}, {})])
                status, content, headers = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                if status == 0:
                    self.close_connection = True
                    self.connection.close()
                    return
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # the client stops reading what is too long
                    self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = _any  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def on(self, method: str, path: str, *answers: tuple[Any, ...]) -> None:
        """Write the answers to a request, one after the other; the last is repeated."""
        self.answers[method, path] = [(one[0], one[1], one[2] if len(one) > 2 else {}) for one in answers]

    def serve_model(self, **changes: Any) -> None:
        """Answer as a server with the shipped model."""
        self.on("GET", "/api/v2/model", (200, {**MANIFEST, **changes}))
        self.serve_files(1)
        self.on("GET", f"/api/v2/pools/{POOL_HASH}", (200, POOL))

    def serve_files(self, version: int, weights: bytes = WEIGHTS, **headers: str) -> None:
        """Answer with the files of a version, and with their hashes as ETags unless others are given."""
        for name, data, tag in (
            ("weights", weights, MANIFEST["weights"]),
            ("vocabulary", VOCABULARY, MANIFEST["vocabulary"]),
        ):
            self.on("GET", f"/api/v2/models/{version}/{name}", (200, data, {"ETag": f'"{tag["sha256"]}"', **headers}))

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def fake() -> Iterator[Fake]:
    found = Fake()
    yield found
    found.close()


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def me(fake: Fake, slept: list[float]) -> Iterator[Participant]:
    with Participant(fake.address, id="a" * 32, secret="s", attempts=4, sleep=slept.append) as found:
        yield found


def test_it_enrols_with_and_without_an_invitation(fake: Fake, me: Participant) -> None:
    fake.on("POST", "/api/v2/participants", (201, {"id": "b" * 32, "secret": "t"}))
    me.enrol()
    assert (me.id, me.secret) == ("b" * 32, "t")
    me.enrol("code")
    assert [json.loads(one[3]) for one in fake.asked] == [{}, {"invitation": "code"}]


def test_a_busy_server_is_asked_again_later_each_time_longer(fake: Fake, me: Participant, slept: list[float]) -> None:
    fake.serve_model()
    busy = (503, {"type": "/problems/busy"})
    fake.on("GET", "/api/v2/rounds/current", busy, busy, busy, (200, ROUND))
    assert me.round() == OpenRound(3, 1, TrainingPlan(epochs=1, max_batches=1, batch_size=4))
    assert len(slept) == 3
    assert all(0.5 * wait <= one <= wait for one, wait in zip(slept, (0.2, 0.4, 0.8), strict=True))


def test_it_waits_as_long_as_it_is_told(fake: Fake, me: Participant, slept: list[float]) -> None:
    fake.on("GET", "/api/v2/rounds/current", (429, {}, {"Retry-After": "7"}), (200, ROUND))
    me.round()
    assert 3.5 <= slept[0] <= 7


def test_a_server_that_hangs_up_is_asked_again(fake: Fake, me: Participant, slept: list[float]) -> None:
    fake.on("GET", "/api/v2/rounds/current", (0, b""), (0, b""), (200, ROUND))
    assert me.round() is not None
    assert len(slept) == 2


def test_it_gives_up_in_words(fake: Fake, me: Participant, slept: list[float]) -> None:
    fake.on("GET", "/api/v2/rounds/current", (503, {"type": "/problems/busy", "detail": "Later."}))
    with pytest.raises(ServerError, match="503: Later") as error:
        me.round()
    assert error.value.slug == "busy"
    assert len(slept) == 3
    with (
        Participant("http://127.0.0.1:9", attempts=2, sleep=slept.append) as nobody,
        pytest.raises(InputError, match="cannot be reached"),
    ):
        nobody.round()


def test_what_cannot_succeed_later_is_not_tried_again(fake: Fake, me: Participant, slept: list[float]) -> None:
    fake.on("PUT", "/api/v2/rounds/3/update", (409, {"type": "/problems/round-closed"}))
    with pytest.raises(ServerError) as error:
        me.send_bytes(3, b"data")
    assert error.value.slug == "round-closed"
    assert slept == []


def test_no_round_is_none(fake: Fake, me: Participant) -> None:
    fake.on("GET", "/api/v2/rounds/current", (404, {"type": "/problems/no-round"}))
    assert me.round() is None
    with pytest.raises(InputError, match="no new round"):
        me.wait_for_round(seconds=0.05)


def test_it_hears_what_became_of_its_rounds(fake: Fake, me: Participant) -> None:
    told = [
        {"round": 4, "outcome": "open", "version": None},
        {"round": 3, "outcome": "published", "version": 5, "later": "unknown members are ignored"},
    ]
    fake.on("GET", "/api/v2/me/rounds", (200, {"rounds": told}))
    assert me.rounds() == [SentRound(4, "open", None), SentRound(3, "published", 5)]
    assert fake.asked[-1][2]["Authorization"] == f"Bearer {'a' * 32}.s"


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"rounds": None},
        {"rounds": [3]},
        {"rounds": [{"round": "3", "outcome": "open", "version": None}]},
        {"rounds": [{"round": 3, "outcome": 1, "version": None}]},
        {"rounds": [{"round": 3, "outcome": "published", "version": "5"}]},
    ],
)
def test_an_answer_about_rounds_that_makes_no_sense_is_refused(fake: Fake, me: Participant, told: Any) -> None:
    fake.on("GET", "/api/v2/me/rounds", (200, told))
    with pytest.raises(InputError, match="the server's answer has no"):
        me.rounds()


PAGES = [Page(title="Living with diabetes"), Page(title="The election")]


def serve_round(fake: Fake, **changes: Any) -> None:
    """Answer as a server with a private round."""
    fake.serve_model()
    fake.on("GET", "/api/v2/rounds/current", (200, {**PRIVATE_ROUND, "training": {**PRIVATE, **changes}}))
    fake.on("PUT", "/api/v2/rounds/3/update", (202, {}))


def test_it_trains_and_sends_the_last_layer_with_its_digest(fake: Fake, me: Participant) -> None:
    serve_round(fake)
    found = me.take_part(PAGES, [0, 1])
    assert found.id == 3
    method, path, headers, body = fake.asked[-1]
    assert (method, path) == ("PUT", "/api/v2/rounds/3/update")
    sent, base = np.frombuffer(body, "<f4"), SHIPPED.model.vector[FIRST:]
    assert sent.shape == base.shape
    # Noise of four times what a page can move, in each number: it is never absent.
    assert 0.5 < np.std(sent - base) / (4 * 0.05 * 4 * 0.15) < 2
    assert headers["Content-Type"] == PARAMETERS
    assert headers["Authorization"] == f"Bearer {'a' * 32}.s"
    assert "sha-256=:" in headers["Content-Digest"]


def test_two_updates_of_the_same_pages_have_other_noise_and_other_cover_pages(fake: Fake, me: Participant) -> None:
    serve_round(fake)
    drawn: list[list[int]] = []
    for _ in range(2):
        me.take_part(PAGES, [0, 1])
        drawn.append(me.pool(1).drawn(200)[0].columns.tolist())
    first, second = (np.frombuffer(one[3], "<f4") for one in fake.asked if one[0] == "PUT")
    assert np.std(first - second) > 4 * 0.05 * 4 * 0.15
    assert drawn[0] != drawn[1]
    assert [one[1] for one in fake.asked].count(f"/api/v2/pools/{POOL_HASH}") == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"cover_pages": 100_001},
        {"noise": 3.9},
        {"noise": 0},
        {"layers": 3},
        {"clip": 1001.0},
        {"own_weight": 1e9},
        {"learning_rate": 2000.0},
    ],
)
def test_a_plan_out_of_bounds_is_refused_and_nothing_is_sent(
    fake: Fake, me: Participant, changes: dict[str, float]
) -> None:
    serve_round(fake, **changes)
    with pytest.raises(PlanRefusedError, match="asks for more than EITR gives"):
        me.take_part(PAGES, [0, 1])
    assert not [one for one in fake.asked if one[0] == "PUT"]


def test_a_network_in_which_one_word_makes_training_overflow_is_refused_for_every_page(
    fake: Fake, me: Participant
) -> None:
    network = Network((1000, *[1] * 12, 6))
    vector = np.zeros(network.size, np.float32)
    first, *others = network.split(vector)
    first.kernel[SHIPPED.vocabulary.words.index("diabetes")] = np.finfo(np.float32).max
    for kernel, _ in others:
        kernel[:] = np.finfo(np.float32).max
    data = vector.astype("<f4").tobytes()
    serve_round(fake)
    weights = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    fake.serve_model(layers=list(network.layers), parameters=network.size, weights=weights)
    fake.serve_files(1, data)
    for page in (Page(title="Diabetes"), Page(title="Football")):
        with pytest.raises(PlanRefusedError, match="4 layers at most, not 13"):
            me.take_part([page], [0])
    assert not [one for one in fake.asked if one[0] == "PUT"]


def test_more_cover_pages_than_the_pool_has_are_refused(fake: Fake, me: Participant) -> None:
    serve_round(fake, cover_pages=5000)
    with pytest.raises(InputError, match=f"pool has {POOL_PAGES} pages"):
        me.take_part(PAGES, [0, 1])


def test_all_layers_are_sent_only_if_that_is_allowed(fake: Fake, me: Participant) -> None:
    serve_round(fake)
    fake.on("GET", "/api/v2/rounds/current", (200, ROUND))
    with pytest.raises(PlanRefusedError, match="give away the words"):
        me.take_part(PAGES, [0, 1])
    assert not [one for one in fake.asked if one[0] == "PUT"]
    with Participant(fake.address, id="a" * 32, secret="s", allow_all_layers=True) as allowing:
        allowing.take_part(PAGES, [0, 1])
    body = fake.asked[-1][3]
    assert len(body) == len(WEIGHTS)
    assert body != WEIGHTS


def test_a_page_is_used_in_two_rounds_at_most(fake: Fake, me: Participant) -> None:
    serve_round(fake)
    uses = Counter({PAGES[0]: 1})
    me.take_part(PAGES, [0, 1], uses=uses)
    assert uses == {PAGES[0]: 2, PAGES[1]: 1}
    me.take_part(PAGES, [0, 1], uses=uses)
    assert uses == {PAGES[0]: 2, PAGES[1]: 2}
    with pytest.raises(InputError, match="no page to train on"):
        me.take_part(PAGES, [0, 1], uses=uses)


def test_a_round_uses_four_pages_at_most(fake: Fake, me: Participant) -> None:
    serve_round(fake)
    pages, uses = [Page(title=f"diabetes {number}") for number in range(6)], Counter[Page]()
    me.take_part(pages, [0] * 6, uses=uses)
    assert sorted(uses.values()) == [1] * 4
    me.take_part(pages, [0] * 6, uses=uses)
    assert sum(uses.values()) == 8
    with pytest.raises(InputError, match="4 own pages at most"):
        me.trained(me.wait_for_round(), pages, [0] * 6)


def test_a_pool_that_is_not_what_was_announced_is_refused(fake: Fake, me: Participant) -> None:
    serve_round(fake)
    fake.on("GET", f"/api/v2/pools/{POOL_HASH}", (200, a_flipped_bit(POOL)))
    with pytest.raises(InputError, match="not the one that the server announced"):
        me.pool(1)


def test_a_pool_of_another_vocabulary_is_refused(fake: Fake, me: Participant) -> None:
    shipped = Pool.from_bytes(POOL, width=1000)
    other = Pool(shipped.rows, shipped.labels, bytes(32)).to_bytes()
    sha256 = hashlib.sha256(other).hexdigest()
    fake.serve_model(pool={"sha256": sha256, "bytes": len(other), "pages": POOL_PAGES})
    fake.on("GET", f"/api/v2/pools/{sha256}", (200, other))
    with pytest.raises(InputError, match="another vocabulary"):
        me.pool(1)


def test_a_server_without_a_pool_is_an_error_in_words(fake: Fake, me: Participant) -> None:
    fake.serve_model(pool=None)
    with pytest.raises(InputError, match="no pool of cover pages"):
        me.pool(1)


def test_it_says_what_a_server_of_another_version_says(fake: Fake, me: Participant) -> None:
    fake.serve_model(protocol=3)
    with pytest.raises(InputError, match="another version of the protocol"):
        me.model()
    fake.on("GET", "/api/v2/model", (410, {"type": "/problems/update-needed", "title": "Update EITR."}))
    with pytest.raises(ServerError, match="Update EITR"):
        me.model()


def test_a_small_update_is_the_difference_in_half_the_bytes(fake: Fake, me: Participant) -> None:
    fake.serve_model()
    fake.on("PUT", "/api/v2/rounds/3/update", (202, {}))
    vector = SHIPPED.model.vector + np.float32(0.25)
    for plan, parameters in ((PrivatePlan(layers=1), 198), (PrivatePlan(layers=2), 8422), (TrainingPlan(), 264678)):
        me.send(OpenRound(3, 1, plan), vector, small=True)
        assert fake.asked[-1][2]["Content-Type"] == DIFFERENCE
        assert np.frombuffer(fake.asked[-1][3], "<f2").shape == (parameters,)
        assert np.allclose(np.frombuffer(fake.asked[-1][3], "<f2"), 0.25)


def a_flipped_bit(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


SMALL_VOCABULARY = Vocabulary(("church", "clinic", "party"), np.ones(3)).to_json().encode()


def serve_vocabulary(fake: Fake, data: bytes) -> None:
    """Announce and serve another vocabulary."""
    fake.serve_model(vocabulary={"sha256": hashlib.sha256(data).hexdigest()})
    fake.on("GET", "/api/v2/models/1/vocabulary", (200, data))


def serve_compressed(fake: Fake) -> None:
    """Answer with few bytes that would become many."""
    fake.on("GET", "/api/v2/models/1/weights", (200, gzip.compress(bytes(100 << 20)), {"Content-Encoding": "gzip"}))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda fake: fake.on("GET", "/api/v2/models/1/weights", (200, a_flipped_bit(WEIGHTS))), "weights"),
        (lambda fake: fake.on("GET", "/api/v2/models/1/vocabulary", (200, VOCABULARY + b" ")), "vocabulary"),
        (lambda fake: fake.serve_model(classes=["a", "b"]), "other classes"),
        (lambda fake: fake.serve_model(layers="many"), "layers"),
        (lambda fake: fake.serve_model(layers=[1000, 6]), "another number of parameters"),
        (lambda fake: fake.serve_model(layers=[1000, 256, 32, 7]), "do not fit the classes"),
        (lambda fake: fake.serve_model(layers=[10**6, 10**6, 6]), "another number of parameters"),
        (
            lambda fake: fake.serve_model(
                layers=[10**5, 1000, 6], parameters=100007006, weights={**MANIFEST["weights"], "bytes": 400028024}
            ),
            "larger than any model",
        ),
        (lambda fake: fake.serve_model(parameters=264679), "another number of parameters"),
        (lambda fake: fake.serve_model(weights={**MANIFEST["weights"], "bytes": 4}), "another number of parameters"),
        (lambda fake: fake.serve_model(weights={"sha256": "../..", "bytes": len(WEIGHTS)}), "sha256"),
        (lambda fake: fake.serve_model(weights="many"), "weights"),
        (lambda fake: fake.serve_model(vocabulary={}), "sha256"),
        (lambda fake: fake.serve_model(vocabulary=None), "vocabulary"),
        (lambda fake: fake.serve_model(created="yesterday"), "created"),
        (lambda fake: fake.serve_model(created="2027-13-01T00:00:00+00:00"), "created"),
        (lambda fake: fake.serve_model(version=0), "version"),
        (lambda fake: fake.serve_model(version=2**60), "version"),
        (lambda fake: fake.serve_model(version=True), "version"),
        (lambda fake: fake.serve_model(protocol=99), "another version of the protocol"),
        (lambda fake: fake.serve_model(protocol=True), "another version of the protocol"),
        (lambda fake: fake.serve_model(protocol=None), "another version of the protocol"),
        (lambda fake: fake.on("GET", "/api/v2/model", (200, b" " * 100_000)), "longer than the 65536 bytes"),
        (lambda fake: fake.on("GET", "/api/v2/model", (200, b"{" * 60_000)), "not JSON"),
        (lambda fake: fake.on("GET", "/api/v2/models/1/weights", (200, bytes(2 << 20))), "longer than the 1058712"),
        (lambda fake: fake.on("GET", "/api/v2/models/1/vocabulary", (200, bytes(17 << 20))), "longer than"),
        (lambda fake: fake.on("GET", "/api/v2/models/1/weights", (302, b"", {"Location": "/"})), "302"),
        (lambda fake: serve_compressed(fake), "compressed"),
        (lambda fake: serve_vocabulary(fake, b"\xff"), "not UTF-8"),
        (lambda fake: serve_vocabulary(fake, SMALL_VOCABULARY), "3 words, not 1000"),
        (lambda fake: fake.serve_model(version="one"), "version"),
        (lambda fake: fake.on("GET", "/api/v2/model", (200, b"<html>")), "not JSON"),
        (lambda fake: fake.on("GET", "/api/v2/model", (200, b"[]")), "not a JSON object"),
    ],
)
def test_a_model_that_is_not_what_was_announced_is_refused(
    fake: Fake, me: Participant, change: Callable[[Fake], None], told: str
) -> None:
    fake.serve_model()
    change(fake)
    with pytest.raises(InputError, match=told):
        me.model()


def test_a_lower_version_than_before_is_refused(fake: Fake, me: Participant, slept: list[float]) -> None:
    fake.serve_model(version=5)
    fake.serve_files(5)
    me.model()
    assert me.version == 5
    fake.serve_model(version=4)
    fake.serve_files(4)
    with pytest.raises(InputError, match="offers version 4 of the model, though it had 5 before"):
        me.model()
    assert len(slept) == 3
    # Also after a restart, if the program kept the number.
    with (
        Participant(fake.address, version=me.version, attempts=1) as again,
        pytest.raises(InputError, match="though it had 5 before"),
    ):
        again.model()
    assert not [one for one in fake.asked if one[1].startswith("/api/v2/models/4/")]


def test_a_process_that_learns_of_a_version_late_is_asked_again(
    fake: Fake, me: Participant, slept: list[float]
) -> None:
    fake.serve_model(version=2)
    fake.serve_files(2)
    me.model()
    old, new = (200, {**MANIFEST, "version": 1}), (200, {**MANIFEST, "version": 2})
    fake.on("GET", "/api/v2/model", old, old, new)
    me.model()
    assert slept == [0.2, 0.4]


def test_a_version_never_changes(fake: Fake, me: Participant) -> None:
    fake.serve_model()
    me.model()
    other = a_flipped_bit(WEIGHTS)
    fake.serve_model(weights={"sha256": hashlib.sha256(other).hexdigest(), "bytes": len(other)})
    with pytest.raises(InputError, match="another version 1 of the model than before"):
        me.model()


def test_a_base_whose_manifest_was_seen_is_checked_by_it_whatever_its_etag(fake: Fake, me: Participant) -> None:
    fake.serve_model()
    assert me.model() is not None
    me._classifiers.clear()  # as if it had been too long ago to be kept
    fake.serve_model(version=2)
    other = a_flipped_bit(WEIGHTS)
    fake.serve_files(1, other, ETag=f'"{hashlib.sha256(other).hexdigest()}"')
    with pytest.raises(InputError, match="weights of version 1 are not those"):
        me.model(1)


@pytest.mark.parametrize(
    ("pool", "told"),
    [
        ({"sha256": POOL_HASH, "bytes": len(POOL), "pages": POOL_PAGES + 1}, "not 2022 as the server announced"),
        ({"sha256": POOL_HASH, "bytes": len(POOL) + 1, "pages": POOL_PAGES}, "not the one that the server announced"),
        ({"sha256": POOL_HASH, "bytes": len(POOL) - 1, "pages": POOL_PAGES}, "longer than"),
        ({"sha256": POOL_HASH, "bytes": 2 << 20, "pages": POOL_PAGES}, "more than the 1048576"),
        ({"sha256": "x" * 64, "bytes": len(POOL), "pages": POOL_PAGES}, "sha256"),
        ({"sha256": POOL_HASH, "pages": POOL_PAGES}, "bytes"),
        ("many", "pool"),
    ],
)
def test_a_pool_out_of_bounds_is_refused(fake: Fake, me: Participant, pool: object, told: str) -> None:
    fake.serve_model(pool=pool)
    with pytest.raises(InputError, match=told):
        me.pool(1)


@pytest.mark.parametrize(
    "changes",
    [
        {"epochs": 101},
        {"max_batches": 1001},
        {"batch_size": 1025},
        {"learning_rate": 1.5},
        {"learning_rate": 0},
        {"dropout": 0.95},
    ],
)
def test_a_plan_as_in_the_paper_out_of_bounds_is_refused(fake: Fake, changes: dict[str, float]) -> None:
    fake.serve_model()
    fake.on("GET", "/api/v2/rounds/current", (200, {**ROUND, "training": {**ROUND["training"], **changes}}))  # type: ignore[dict-item]
    with (
        Participant(fake.address, id="a" * 32, secret="s", allow_all_layers=True) as me,
        pytest.raises(PlanRefusedError, match="asks for more than EITR gives"),
    ):
        me.take_part(PAGES, [0, 1])
    assert not [one for one in fake.asked if one[0] == "PUT"]


@pytest.mark.parametrize(
    "changes",
    [{"id": 0}, {"id": -1}, {"base": 0}, {"base": 1.0}, {"base": None}, {"deadline": "soon"}, {"deadline": 7}],
)
def test_a_round_that_makes_no_sense_is_refused(fake: Fake, me: Participant, changes: dict[str, object]) -> None:
    fake.on("GET", "/api/v2/rounds/current", (200, {**PRIVATE_ROUND, **changes}))
    with pytest.raises(InputError, match=next(iter(changes))):
        me.round()


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"id": "b" * 32},
        {"id": "b" * 31, "secret": "t"},
        {"id": "b" * 32, "secret": "t\r\nX: y"},
        {"id": 7, "secret": "t"},
    ],
)
def test_credentials_of_another_form_are_refused(fake: Fake, me: Participant, told: dict[str, object]) -> None:
    fake.on("POST", "/api/v2/participants", (201, told))
    with pytest.raises(InputError, match=r"has no (id|secret)"):
        me.enrol()
    assert (me.id, me.secret) == ("a" * 32, "s")


def test_what_the_server_adds_to_its_answers_is_ignored(fake: Fake, me: Participant) -> None:
    fake.serve_model(news={"version 5": "includes your round"})
    assert me.model().model.network.size == 264678
    fake.on("GET", "/api/v2/rounds/current", (200, {**PRIVATE_ROUND, "news": 1}))
    assert me.round() is not None


@pytest.mark.parametrize(
    "training",
    [
        None,
        {"epochs": 1},
        {"method": "another", "epochs": 1},
        {"method": "paper", "epochs": 0},
        {"method": "paper", "epochs": 1, "surprise": 2},
        {"method": "paper", "learning_rate": "fast"},
        {**PRIVATE, "noise": "much"},
        {**PRIVATE, "noise": float("inf")},
        {**PRIVATE, "clip": 0},
        {**PRIVATE, "surprise": 2},
    ],
)
def test_instructions_that_make_no_sense_are_refused(fake: Fake, me: Participant, training: object) -> None:
    fake.on("GET", "/api/v2/rounds/current", (200, {**ROUND, "training": training}))
    with pytest.raises(InputError):
        me.round()


def test_who_is_not_enrolled_is_told_to(fake: Fake) -> None:
    with Participant(fake.address) as nobody, pytest.raises(InputError, match="enrol"):
        nobody.export()


def test_leaving_forgets_the_secret(fake: Fake, me: Participant) -> None:
    fake.on("DELETE", "/api/v2/me", (204, b""))
    me.erase()
    assert me.secret is None


def test_old_versions_are_fetched_once(fake: Fake, me: Participant) -> None:
    fake.serve_model(version=2)
    fake.serve_files(2)
    for _ in range(2):
        assert np.array_equal(me.model(1).model.vector, SHIPPED.model.vector)
        assert me.model().model.network.size == 264678
    assert [one[1] for one in fake.asked].count("/api/v2/models/1/weights") == 1
    assert [one[1] for one in fake.asked].count("/api/v2/models/2/weights") == 1


def test_an_old_version_is_checked_by_its_etags(fake: Fake, me: Participant) -> None:
    fake.serve_model(version=2)
    fake.serve_files(1, a_flipped_bit(WEIGHTS))
    with pytest.raises(InputError, match="weights of version 1 are not those"):
        me.model(1)
    fake.serve_files(1, ETag="")
    with pytest.raises(InputError, match="weights of version 1 are not those"):
        me.model(1)
    fake.serve_files(1, ETag=f'W/"{MANIFEST["weights"]["sha256"]}"')
    with pytest.raises(InputError, match="vocabulary of version 1 are not those"):
        me.model(1)
