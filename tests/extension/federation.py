"""A server for one browser, whose answers a test can spoil and at which it can stop the browser's worker."""

import base64
import contextlib
import hashlib
import json
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import eitr
from eitr.model.classifier import Classifier
from eitr.taxonomy import NAMES

SHIPPED = Classifier.shipped()
WEIGHTS = SHIPPED.model.vector.astype("<f4").tobytes()
ASSETS = Path(eitr.__file__).parent / "assets"
VOCABULARY = (ASSETS / "vocabulary.json").read_bytes()
POOL = (ASSETS / "pool.bin").read_bytes()
POOL_PATH = f"/api/v2/pools/{hashlib.sha256(POOL).hexdigest()}"
PRIVATE: dict[str, Any] = {
    "method": "private",
    "layers": 1,
    "cover_pages": 200,
    "own_weight": 4.0,
    "clip": 0.133,
    "learning_rate": 0.05,
    "noise": 4.0,
}
PAPER: dict[str, Any] = {
    "method": "paper",
    "epochs": 2,
    "max_batches": 1000,
    "batch_size": 64,
    "learning_rate": 0.01,
    "momentum": 0.8,
    "dropout": 0.5,
}
SIZES = {"private": 2 * (32 * 6 + 6), "paper": len(WEIGHTS) // 2}
"""The bytes of an update by each method: half precision, of the last layer alone or of all."""

CODE = "THANK-YOU-7"
TERMS_PATH = "/api/v2/study/terms"
Answer = tuple[int, bytes | dict[str, Any], dict[str, str]]
NO_ROUND: Answer = (404, {"type": "/problems/no-round", "title": "No round is open.", "status": 404}, {})


NO_STUDY: Answer = (404, {"type": "/problems/no-study", "title": "There is no study.", "status": 404}, {})
CONSENT_NEEDED: Answer = (403, {"type": "/problems/consent-needed", "title": "No consent.", "status": 403}, {})


class Study:
    """A study with one participant. `facts` is what the server says of it, `told` what it was told, in order."""

    def __init__(self, *urls: str, **facts: Any) -> None:
        self.tasks: list[dict[str, Any]] = [
            {"id": 100 + place, "position": place, "url": url, "state": "open"} for place, url in enumerate(urls, 1)
        ]
        self.told: list[tuple[int, dict[str, Any]]] = []
        self.received: list[bytes] = []
        """All that was sent, also what was refused."""
        self.terms: list[bytes] = []
        """All reports of words that were sent, also those that were refused."""
        self.spare: list[str] = []
        """Pages that replace broken ones."""
        self.facts: dict[str, Any] = {
            "study": "covid",
            "title": "Pages about COVID-19",
            "status": "open",
            "hide_prediction": True,
            "uses_per_page": 2,
            "collect": False,
            "terms": False,
            "page": "/study/covid/me",
            **facts,
        }

    def answer(self, method: str, path: str, body: bytes) -> Answer:
        if path == "/api/v2/study":
            return 200, {**self.facts, **self.progress()}, {}
        if path == "/api/v2/tasks":
            return 200, {"tasks": self.tasks}, {}
        assert method == "PUT"
        if path == TERMS_PATH:
            self.terms.append(body)
            return (204, b"", {}) if self.facts["terms"] else CONSENT_NEEDED
        number, said = int(path.rpartition("/")[2]), json.loads(body)
        self.received.append(body)
        task = next((task for task in self.tasks if task["id"] == number), None)
        if task is None:
            return 404, {"type": "/problems/not-found", "status": 404}, {}
        if "label" in said and not self.facts["collect"]:
            return CONSENT_NEEDED
        self.told.append((number, said))
        if said["state"] != "opened":
            task["state"] = said["state"]
        if said["state"] == "broken" and self.spare:
            task |= {"id": 500 + len(self.spare), "url": self.spare.pop(), "state": "open"}
        return 200, {**self.progress(), "replacement": None}, {}

    def progress(self) -> dict[str, Any]:
        done = sum(task["state"] != "open" for task in self.tasks)
        return {"tasks": len(self.tasks), "done": done, "completion_code": CODE if done == len(self.tasks) else None}


class Federation:
    """What the server knows. `spoiled` replaces answers by path; `before` and `after` are called around each answer."""

    def __init__(self) -> None:
        self.address = ""
        self.version = 1
        self.round: int | None = 1
        self.training: dict[str, Any] = PRIVATE
        self.pool = POOL
        self.weights = WEIGHTS
        self.outcomes: list[dict[str, Any]] = []
        """What became of the rounds that the browser sent to."""
        self.asked: list[str] = []
        self.answered = 0
        """How many requests were answered, whether or not anybody still waited for it."""
        self.enrolled = 0
        self.invitations: list[str | None] = []
        """The codes that were used to enrol."""
        self.study: Study | None = None
        self.bodies: list[bytes] = []
        self.updates: dict[int, list[str]] = {}
        self.spoiled: dict[str, Answer | Callable[[], Answer]] = {}
        self.before: Callable[[str], None] = lambda path: None
        self.after: Callable[[str], None] = lambda path: None

    def answer(self, method: str, path: str, headers: Any, body: bytes) -> Answer:
        spoiled = self.spoiled.get(path)
        if spoiled is not None:
            return spoiled() if callable(spoiled) else spoiled
        if (method, path) == ("POST", "/api/v2/participants"):
            self.enrolled += 1
            self.invitations.append(json.loads(body).get("invitation"))
            return 201, {"id": f"{self.enrolled:032x}", "secret": "s3cret-_x"}, {}
        if path == "/api/v2/model":
            etag = f'"{self.version}-{hashlib.sha256(self.pool).hexdigest()}"'
            return (304, b"", {}) if headers["If-None-Match"] == etag else (200, self.manifest(), {"ETag": etag})
        if path.endswith("/weights"):
            return 200, self.weights, {}
        if path.endswith("/vocabulary"):
            return 200, VOCABULARY, {}
        if path == self.manifest()["pool"]["url"]:
            return 200, self.pool, {}
        if path == "/api/v2/rounds/current":
            return NO_ROUND if self.round is None else (200, self.call(), {})
        if method == "PUT" and path == f"/api/v2/rounds/{self.round}/update":
            return self.received(headers, body)
        if (method, path) == ("GET", "/api/v2/me/rounds"):
            assert headers["Authorization"].endswith(".s3cret-_x")
            return 200, {"rounds": self.outcomes}, {}
        if path in ("/api/v2/study", "/api/v2/tasks", TERMS_PATH) or path.startswith("/api/v2/tasks/"):
            assert headers["Authorization"].endswith(".s3cret-_x")
            return NO_STUDY if self.study is None else self.study.answer(method, path, body)
        if (method, path) == ("DELETE", "/api/v2/me"):
            return 204, b"", {}
        return 404, {"type": "/problems/not-found", "status": 404}, {}

    def favour(self, topic: int) -> None:
        """From the next version on, judge every page to be about this topic."""
        vector = SHIPPED.model.vector.astype("<f4")
        vector[topic - len(NAMES)] += 50
        self.weights = vector.tobytes()

    def publish(self) -> None:
        """Publish a version that includes the open round."""
        self.version += 1
        self.outcomes.insert(0, {"round": self.round, "outcome": "published", "version": self.version})
        self.round = None

    def manifest(self) -> dict[str, Any]:
        here = f"/api/v2/models/{self.version}"
        pool = hashlib.sha256(self.pool).hexdigest()
        return {
            "protocol": 2,
            "version": self.version,
            "created": "2027-01-31T12:00:00+00:00",
            "classes": list(NAMES),
            "layers": [1000, 256, 32, 6],
            "parameters": len(WEIGHTS) // 4,
            "weights": {
                "url": f"{here}/weights",
                "sha256": hashlib.sha256(self.weights).hexdigest(),
                "bytes": len(self.weights),
            },
            "vocabulary": {"url": f"{here}/vocabulary", "sha256": hashlib.sha256(VOCABULARY).hexdigest()},
            "pool": {
                "url": f"/api/v2/pools/{pool}",
                "sha256": pool,
                "bytes": len(self.pool),
                "pages": struct.unpack_from("<I", self.pool, 4)[0],
            },
            "training": {name: self.training[name] for name in ("method", "layers", "clip") if name in self.training},
        }

    def call(self) -> dict[str, Any]:
        return {
            "id": self.round,
            "base": self.version,
            "deadline": "2099-01-01T00:00:00+00:00",
            "training": self.training,
        }

    def received(self, headers: Any, body: bytes) -> Answer:
        assert self.round is not None
        digest = hashlib.sha256(body)
        assert headers["Content-Type"] == "application/vnd.eitr.difference"
        assert headers["Content-Digest"] == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
        assert headers["Authorization"].endswith(".s3cret-_x")
        assert len(body) == SIZES[self.training["method"]]
        self.bodies.append(body)
        self.updates.setdefault(self.round, []).append(digest.hexdigest())
        return 202, {"round": self.round, "sha256": digest.hexdigest()}, {}


@contextmanager
def federation() -> Iterator[Federation]:
    """Serve until the end of the block."""
    found = Federation()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            try:
                self.handle_one()
            finally:
                found.answered += 1

        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            found.asked.append(f"{self.command} {self.path}")
            found.before(self.path)
            status, told, headers = found.answer(self.command, self.path, self.headers, body)
            data = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()
            found.after(self.path)

        do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            # Who asked may have been killed.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
