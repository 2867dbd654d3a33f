"""A participant in Python: speaks the same protocol as the browser extension (`docs/http-protocol.md`).

    with Participant("http://127.0.0.1:8000") as me:
        me.enrol()
        me.take_part(pages, labels)      # waits for a round, trains, sends one vector

Pages and labels are not sent, only parameters. From these the server can tell which words the pages contain: see
`docs/privacy.md`. Needs `pip install 'eitr[server]'`, which brings httpx.
"""

import base64
import hashlib
import random
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import httpx
import numpy as np

from eitr.errors import InputError
from eitr.model import Model, Network, Vector, train
from eitr.model.classifier import Classifier
from eitr.model.plan import TrainingPlan
from eitr.model.update_encoding import DIFFERENCE, PARAMETERS, encoded
from eitr.pages import Page, Vocabulary
from eitr.taxonomy import NAMES

AGAIN = (408, 425, 429, 500, 502, 503, 504)
"""Answers after which the same request may succeed later."""
FIRST_WAIT, LONGEST_WAIT = 0.2, 30.0
LARGEST_FILE = 64 << 20


class ServerError(InputError):
    """The server refused; `slug` is the last part of the problem's type, such as "round-closed"."""

    def __init__(self, status: int, slug: str, detail: str) -> None:
        super().__init__(f"the server answered {status}: {detail or slug}")
        self.status, self.slug = status, slug


@dataclass(frozen=True, slots=True)
class OpenRound:
    """A round that takes updates."""

    id: int
    base: int
    plan: TrainingPlan


class Participant:
    """Enrols, fetches models, takes part in rounds. Requests that fail for the moment are tried again."""

    def __init__(
        self,
        address: str,
        *,
        id: str | None = None,
        secret: str | None = None,
        attempts: int = 6,
        timeout: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.id, self.secret = id, secret
        self._attempts, self._sleep = attempts, sleep
        self._http = httpx.Client(base_url=address, timeout=timeout)
        self._classifiers: dict[int, Classifier] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def enrol(self, invitation: str | None = None) -> None:
        """Become a participant. Save `id` and `secret`: the server shows them only once."""
        wish = {} if invitation is None else {"invitation": invitation}
        told = self._json(self._ask("POST", "/api/v1/participants", json=wish))
        self.id, self.secret = _text(told, "id"), _text(told, "secret")

    def model(self, version: int | None = None) -> Classifier:
        """Return a version of the model with its vocabulary; the current one by default.

        The files are checked by their hashes: those of the manifest or, for older versions, which have none, the ETags.
        """
        manifest = self._json(self._ask("GET", "/api/v1/model"))
        current = _whole(manifest, "version")
        wanted = current if version is None else version
        if wanted not in self._classifiers:
            self._classifiers[wanted] = self._fetch(wanted, manifest if wanted == current else None)
            for old in sorted(self._classifiers)[:-3]:
                del self._classifiers[old]
        return self._classifiers[wanted]

    def round(self) -> OpenRound | None:
        """Return the round that is open; None if there is none."""
        try:
            told = self._json(self._ask("GET", "/api/v1/rounds/current"))
        except ServerError as error:
            if error.slug == "no-round":
                return None
            raise
        training = told.get("training")
        if not isinstance(training, dict):
            raise InputError("the server's round has no instructions for training")
        try:
            plan = TrainingPlan(**training)
        except TypeError:
            raise InputError("the server's instructions for training are not understood") from None
        return OpenRound(_whole(told, "id"), _whole(told, "base"), plan)

    def wait_for_round(self, *, after: int = 0, seconds: float = 60.0, every: float = 0.2) -> OpenRound:
        """Wait until a round with a higher number is open."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self.round()
            if found is not None and found.id > after:
                return found
            self._sleep(every)
        raise InputError(f"no new round opened within {seconds:g} s")

    def trained(
        self, round: OpenRound, pages: Sequence[Page], labels: Sequence[int], seed: int | None = None
    ) -> Vector:
        """Return the parameters after training on one's own pages, as the round asks."""
        classifier = self.model(round.base)
        network, vector = classifier.model
        rows = classifier.vocabulary.rows(pages)
        chosen = secrets.randbits(31) if seed is None else seed
        return train(network, vector, rows, labels, round.plan, chosen)

    def send(self, round: OpenRound, vector: Vector, *, small: bool = False) -> None:
        """Send an update: the parameters, or, with `small`, the difference to the base in half as many bytes."""
        encoding = DIFFERENCE if small else PARAMETERS
        self.send_bytes(round.id, encoded(encoding, vector, self.model(round.base).model.vector), encoding)

    def send_bytes(self, round: int, data: bytes, encoding: str = PARAMETERS) -> None:
        """Send bytes as they are, with their digest."""
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        headers = {"Content-Type": encoding, "Content-Digest": f"sha-256=:{digest}:", **self._authorization()}
        self._ask("PUT", f"/api/v1/rounds/{round}/update", content=data, headers=headers)

    def take_part(self, pages: Sequence[Page], labels: Sequence[int], *, after: int = 0, **options: Any) -> OpenRound:
        """Wait for a round, train, send; return the round."""
        found = self.wait_for_round(after=after, **options)
        self.send(found, self.trained(found, pages, labels))
        return found

    def export(self) -> dict[str, Any]:
        """Return everything the server keeps about this participant."""
        return self._json(self._ask("GET", "/api/v1/me/export", headers=self._authorization()))

    def erase(self) -> None:
        """Leave, and have everything deleted."""
        self._ask("DELETE", "/api/v1/me", headers=self._authorization())
        self.id = self.secret = None

    def _authorization(self) -> dict[str, str]:
        if self.id is None or self.secret is None:
            raise InputError("not enrolled: call enrol() first")
        return {"Authorization": f"Bearer {self.id}.{self.secret}"}

    def _fetch(self, version: int, manifest: dict[str, Any] | None) -> Classifier:
        if manifest is not None and manifest.get("classes") != list(NAMES):
            raise InputError("the server's model has other classes than this program")
        weights, vocabulary = (self._file(version, name, manifest) for name in ("weights", "vocabulary"))
        words = Vocabulary.from_json(vocabulary.decode())
        network = Network(tuple(_layers(manifest))) if manifest is not None else _like(words, len(weights))
        if len(weights) != 4 * network.size:
            raise InputError(f"the weights of version {version} are {len(weights)} bytes, not {4 * network.size}")
        vector = np.frombuffer(weights, "<f4").astype(np.float32)
        network.check(vector)
        return Classifier(Model(network, vector), words)

    def _file(self, version: int, name: str, manifest: dict[str, Any] | None) -> bytes:
        """Return a file of a version; refuse one whose hash is not the announced one."""
        answer = self._ask("GET", f"/api/v1/models/{version}/{name}")
        data = answer.content
        if len(data) > LARGEST_FILE:
            raise InputError(f"the {name} of version {version} are larger than any model")
        if manifest is None:
            announced = answer.headers.get("ETag", "").removeprefix("W/").strip('"')
        else:
            file = manifest.get(name)
            announced = file.get("sha256") if isinstance(file, dict) else None
        if announced != hashlib.sha256(data).hexdigest():
            raise InputError(f"the {name} of version {version} are not those the server announced")
        return data

    def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request; where the server cannot be reached or is busy, wait and try again, longer each time."""
        wait = FIRST_WAIT
        for attempt in range(1, self._attempts + 1):
            told: str | None = None
            try:
                answer = self._http.request(method, path, **options)
                if answer.is_success:
                    return answer
                if answer.status_code not in AGAIN or attempt == self._attempts:
                    raise _refusal(answer)
                told = answer.headers.get("Retry-After")
            except httpx.TransportError as error:
                if attempt == self._attempts:
                    raise InputError(f"the server cannot be reached: {error}") from error
            pause = float(told) if told and told.isdigit() else wait
            # Not all at the same moment, when a server comes back.
            self._sleep(min(LONGEST_WAIT, pause) * random.uniform(0.5, 1.0))  # noqa: S311 (no secret)
            wait *= 2
        raise AssertionError

    @staticmethod
    def _json(answer: httpx.Response) -> dict[str, Any]:
        try:
            told = answer.json()
        except ValueError:
            raise InputError("the server's answer is not JSON") from None
        if not isinstance(told, dict):
            raise InputError("the server's answer is not a JSON object")
        return told


def _refusal(answer: httpx.Response) -> ServerError:
    try:
        told = answer.json()
    except ValueError:
        told = {}
    told = told if isinstance(told, dict) else {}
    slug = str(told.get("type", "")).rpartition("/")[2]
    return ServerError(answer.status_code, slug, str(told.get("detail") or told.get("title") or ""))


def _text(told: dict[str, Any], name: str) -> str:
    value = told.get(name)
    if not isinstance(value, str) or not value:
        raise InputError(f"the server's answer has no {name}")
    return value


def _whole(told: dict[str, Any], name: str) -> int:
    value = told.get(name)
    if type(value) is not int or value < 0:
        raise InputError(f"the server's answer has no {name}")
    return value


def _layers(manifest: dict[str, Any]) -> list[int]:
    layers = manifest.get("layers")
    if not isinstance(layers, list) or any(type(width) is not int for width in layers):
        raise InputError("the server's manifest names no layers")
    return layers


def _like(words: Vocabulary, size: int) -> Network:
    """Return the usual network for a vocabulary: older versions have no manifest."""
    network = Network((len(words), *Network().layers[1:]))
    if size != 4 * network.size:
        raise InputError("this version of the model has a network that this program does not know")
    return network
