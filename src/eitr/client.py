"""A participant in Python: speaks the same protocol as the browser extension (`docs/http-protocol.md`).

    with Participant("http://127.0.0.1:8000") as me:
        me.enrol()
        me.take_part(pages, labels)      # waits for a round, trains, sends one vector

Pages and labels are not sent, only the parameters of the last layers, with noise that hides which pages they were
trained on: `docs/privacy.md` says how far. Rounds with another way of training, in which all layers are sent and give
away the words of the pages, are refused unless `allow_all_layers` is set. Everything that a server says is checked
before it is used: it may be broken, or lie. Needs `pip install 'eitr[server]'`, which brings httpx.
"""

import base64
import hashlib
import json
import random
import re
import secrets
import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import httpx
import numpy as np

from eitr.errors import InputError
from eitr.model import Model, Network, Vector, train
from eitr.model.classifier import Classifier
from eitr.model.private import PrivatePlan, private_step
from eitr.model.round_plan import (
    MOST_OWN_PAGES,
    MOST_USES,
    RoundPlan,
    check_paper_plan,
    check_private_plan,
    first_trained,
    read_plan,
)
from eitr.model.update_encoding import DIFFERENCE, PARAMETERS, encoded
from eitr.pages import Page, Vocabulary
from eitr.pages.federated_vocabulary import TermReport
from eitr.pages.pool import Pool, vocabulary_digest
from eitr.taxonomy import NAMES

AGAIN = (408, 425, 429, 500, 502, 503, 504)
"""Answers after which the same request may succeed later."""
FIRST_WAIT, LONGEST_WAIT = 0.2, 30.0
LONGEST_ANSWER = 64 << 10
"""Bytes of a document; those of files are told beforehand."""
LARGEST_FILE = 64 << 20
LARGEST_VOCABULARY = 16 << 20
LARGEST_POOL = 1 << 20
LARGEST_NUMBER = 2**53 - 1
"""Numbers beyond it are not the same in all programs that read JSON."""
MOST_MANIFESTS = 1000
OUTCOME = re.compile(r"[a-z-]{1,40}")
"""What became of a round: a word of the protocol, perhaps one of a later version."""
SLUG = re.compile(r"[a-z0-9-]{1,40}")
LINE = re.compile(r"[^\x00-\x1f\x7f]{1,2000}")
PATH = re.compile(r"/[!-~]{0,200}")
LARGEST_TASKS = 4 << 20
"""Bytes of a list of tasks: a thousand addresses."""
SHA256 = re.compile(r"[0-9a-f]{64}")
ID = re.compile(r"[0-9a-f]{32}")
SECRET = re.compile(r"[!-~]{1,200}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.+Z-]{1,30}")
API = "/api/v2"
PROTOCOL = 2


class PlanRefusedError(InputError):
    """The server asks for more than a participant gives: it does not take part in this round."""


class ServerError(InputError):
    """The server refused; `slug` is the last part of the problem's type, such as "round-closed"."""

    def __init__(self, status: int, slug: str, detail: str) -> None:
        super().__init__(f"the server answered {status}: {detail or slug}")
        self.status, self.slug = status, slug


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the server says of its current model."""

    version: int
    network: Network
    weights: str
    vocabulary: str
    """The SHA-256 of both files."""
    pool: "PoolFile | None"


@dataclass(frozen=True, slots=True)
class PoolFile:
    """What the server says of its cover pages."""

    sha256: str
    bytes: int
    pages: int


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: httpx.Headers
    content: bytes


@dataclass(frozen=True, slots=True)
class OpenRound:
    """A round that takes updates."""

    id: int
    base: int
    plan: RoundPlan


@dataclass(frozen=True, slots=True)
class SentRound:
    """A round that was sent to, and what became of it: the same for everybody who sent to it."""

    id: int
    outcome: str
    """`open`, `aggregating`, `published`, `rolled-back` or `not-published`; newer servers may say something else."""
    version: int | None
    """The version that was published from it, also if it was rolled back later."""


@dataclass(frozen=True, slots=True)
class StudyStanding:
    """The study that a participant is in, and how far they are."""

    study: str
    title: str
    status: str
    """`draft`, `open` or `closed`."""
    hide_prediction: bool
    uses_per_page: int
    collect: bool
    """Whether labels may be sent: the person has consented to it."""
    terms: bool
    """Whether terms may be sent: the person has consented to it."""
    tasks: int
    done: int
    completion_code: str | None
    page: str
    """The path of the person's own page on the server."""


@dataclass(frozen=True, slots=True)
class Task:
    """A page to label."""

    id: int
    position: int
    url: str
    """The page, or its archived copy on the server: always a whole address."""
    state: str
    """`open`, `labelled`, `skipped` or `broken`."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """How far a participant is after something was done with a task."""

    tasks: int
    done: int
    completion_code: str | None
    replacement: Task | None


class Participant:
    """Enrols, fetches models, takes part in rounds. Requests that fail for the moment are tried again.

    `version` is the highest version of the model that was ever seen on this server: lower ones are refused. Save it
    with `id` and `secret`, and give it again when the program starts anew.

    `allow_all_layers` lets it take part in rounds with the method "paper", too. The updates of such rounds tell the
    server which words occur on the pages.
    """

    def __init__(
        self,
        address: str,
        *,
        id: str | None = None,
        secret: str | None = None,
        version: int = 0,
        allow_all_layers: bool = False,
        attempts: int = 6,
        timeout: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.id, self.secret, self.version = id, secret, version
        self._allow_all_layers = allow_all_layers
        self._attempts, self._sleep = attempts, sleep
        # Nothing is compressed: a short answer must not become a long one.
        self._http = httpx.Client(base_url=address, timeout=timeout, headers={"Accept-Encoding": "identity"})
        self._classifiers: dict[int, Classifier] = {}
        self._manifests: dict[int, Manifest] = {}
        """Those seen before: the files of a version never change."""
        self._pools: dict[str, Pool] = {}

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
        told = self._json(self._ask("POST", f"{API}/participants", json=wish))
        id, secret = told.get("id"), told.get("secret")
        if (
            not isinstance(id, str)
            or not ID.fullmatch(id)
            or not isinstance(secret, str)
            or not SECRET.fullmatch(secret)
        ):
            raise InputError("the server's answer has no id and secret")
        self.id, self.secret = id, secret

    def model(self, version: int | None = None) -> Classifier:
        """Return a version of the model with its vocabulary; the current one by default.

        The files are checked by their hashes: those of the manifest or, for older versions, which have none, the ETags.
        """
        manifest = self._manifest()
        wanted = manifest.version if version is None else version
        if wanted not in self._classifiers:
            self._classifiers[wanted] = self._fetch(wanted)
            for old in sorted(self._classifiers)[:-3]:
                del self._classifiers[old]
        return self._classifiers[wanted]

    def pool(self, version: int) -> Pool:
        """Return the public pages that cover pages are drawn from in rounds that start from a version of the model.

        The file is checked by its hash, and must be made by the vocabulary of this version.
        """
        words = self.model(version).vocabulary
        told = self._manifest().pool
        if told is None:
            raise InputError("the server has no pool of cover pages")
        if told.sha256 not in self._pools:
            data = self._ask("GET", f"{API}/pools/{told.sha256}", most=told.bytes).content
            if len(data) != told.bytes or hashlib.sha256(data).hexdigest() != told.sha256:
                raise InputError("the pool of cover pages is not the one that the server announced")
            self._pools = {told.sha256: Pool.from_bytes(data, width=len(words))}
        pool = self._pools[told.sha256]
        if len(pool) != told.pages:
            raise InputError(f"the pool has {len(pool)} cover pages, not {told.pages} as the server announced")
        if pool.vocabulary != vocabulary_digest(words.to_json().encode()):
            raise InputError("the pool of cover pages belongs to another vocabulary than the model")
        return pool

    def round(self) -> OpenRound | None:
        """Return the round that is open; None if there is none."""
        try:
            told = self._json(self._ask("GET", f"{API}/rounds/current"))
        except ServerError as error:
            if error.slug == "no-round":
                return None
            raise
        training = told.get("training")
        if not isinstance(training, dict):
            raise InputError("the server's round has no instructions for training")
        _check_moment(told, "deadline")
        return OpenRound(_whole(told, "id"), _whole(told, "base"), read_plan(training))

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
        """Return all parameters after training on one's own pages, as the round asks; refuse if it asks for too much.

        `seed` is for the method "paper" alone: cover pages and noise of private training are never repeated.
        """
        classifier = self.model(round.base)
        network, vector = classifier.model
        plan = round.plan
        try:
            check_private_plan(network, plan) if isinstance(plan, PrivatePlan) else check_paper_plan(plan)
        except InputError as error:
            raise PlanRefusedError(f"the server asks for more than EITR gives: {error}") from None
        rows = classifier.vocabulary.rows(pages)
        if isinstance(plan, PrivatePlan):
            if len(pages) > MOST_OWN_PAGES:
                raise InputError(f"a private round uses {MOST_OWN_PAGES} own pages at most, not {len(pages)}")
            return private_step(network, vector, (rows, labels), self.pool(round.base).drawn(plan.cover_pages), plan)
        if not self._allow_all_layers:
            raise PlanRefusedError(
                "the server asks for updates of all layers, which give away the words of the pages: "
                "make the participant with allow_all_layers=True only if they may be known"
            )
        return train(network, vector, rows, labels, plan, secrets.randbits(31) if seed is None else seed)

    def send(self, round: OpenRound, vector: Vector, *, small: bool = False) -> None:
        """Send what the round trains of all parameters; with `small`, the difference to the base in half the bytes."""
        encoding = DIFFERENCE if small else PARAMETERS
        network, base = self.model(round.base).model
        first = first_trained(network, round.plan)
        self.send_bytes(round.id, encoded(encoding, vector[first:], base[first:]), encoding)

    def send_bytes(self, round: int, data: bytes, encoding: str = PARAMETERS) -> None:
        """Send bytes as they are, with their digest."""
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        headers = {"Content-Type": encoding, "Content-Digest": f"sha-256=:{digest}:", **self._authorization()}
        self._ask("PUT", f"{API}/rounds/{round}/update", content=data, headers=headers)

    def take_part(
        self,
        pages: Sequence[Page],
        labels: Sequence[int],
        *,
        after: int = 0,
        uses: MutableMapping[Page, int] | None = None,
        **options: Any,
    ) -> OpenRound:
        """Wait for a round, train, send; return the round.

        What a page reveals adds up over rounds, and the bound in `docs/privacy.md` holds for two. `uses` counts the
        rounds of each page, on all servers: give the same mapping each time (such as a `Counter`), and keep it. Pages
        that were used twice are left out. Without it nothing is counted, and you must not give a page more often.
        A private round uses four of the others at most, drawn at random.
        """
        found = self.wait_for_round(after=after, **options)
        chosen = [place for place, page in enumerate(pages) if uses is None or uses.get(page, 0) < MOST_USES]
        if not chosen:
            raise InputError(
                f"there is no page to train on: none is left that was used in less than {MOST_USES} rounds"
            )
        if isinstance(found.plan, PrivatePlan):
            chosen = secrets.SystemRandom().sample(chosen, min(len(chosen), MOST_OWN_PAGES))
        vector = self.trained(found, [pages[place] for place in chosen], [labels[place] for place in chosen])
        if uses is not None:  # before it is sent: an answer may be lost
            for page in {pages[place] for place in chosen}:
                uses[page] = uses.get(page, 0) + 1
        self.send(found, vector)
        return found

    def rounds(self) -> list[SentRound]:
        """Return what became of the last rounds that were sent to, newest first; at most 50.

        It does not say whether this participant's own update counted: nobody is told that.
        """
        told = self._json(self._ask("GET", f"{API}/me/rounds", headers=self._authorization())).get("rounds")
        if not isinstance(told, list) or not all(isinstance(one, dict) for one in told):
            raise InputError("the server's answer has no rounds")
        return [
            SentRound(
                _whole(one, "round"),
                _text(one, "outcome", OUTCOME),
                None if one.get("version") is None else _whole(one, "version"),
            )
            for one in told
        ]

    def study(self) -> StudyStanding | None:
        """Return the study that this participant is in; None if they are in none, or have not consented yet."""
        try:
            told = self._json(self._ask("GET", f"{API}/study", headers=self._authorization()))
        except ServerError as error:
            if error.slug == "no-study":
                return None
            raise
        return StudyStanding(
            study=_text(told, "study", SLUG),
            title=_text(told, "title", LINE),
            status=_text(told, "status", OUTCOME),
            uses_per_page=_whole(told, "uses_per_page"),
            tasks=_whole(told, "tasks", least=0),
            done=_whole(told, "done", least=0),
            completion_code=_text_or_none(told, "completion_code", LINE),
            page=_text(told, "page", PATH),
            **{name: _truth(told, name) for name in ("hide_prediction", "collect", "terms")},
        )

    def tasks(self) -> list[Task]:
        """Return the pages to label, in order."""
        told = self._json(self._ask("GET", f"{API}/tasks", LARGEST_TASKS, headers=self._authorization())).get("tasks")
        if not isinstance(told, list) or not all(isinstance(one, dict) for one in told):
            raise InputError("the server's answer has no tasks")
        return [self._task(one) for one in told]

    def end_task(self, id: int, state: str, label: str | None = None) -> TaskResult:
        """Say what was done with a task: `opened`, `labelled`, `skipped` or `broken`.

        Give the label only if `study().collect` is true: the server refuses it otherwise.
        """
        wish = {"state": state} if label is None else {"state": state, "label": label}
        told = self._json(self._ask("PUT", f"{API}/tasks/{id}", json=wish, headers=self._authorization()))
        new = told.get("replacement")
        return TaskResult(
            tasks=_whole(told, "tasks", least=0),
            done=_whole(told, "done", least=0),
            completion_code=_text_or_none(told, "completion_code", LINE),
            replacement=self._task(new) if isinstance(new, dict) else None,
        )

    def send_terms(self, report: TermReport) -> None:
        """Report the terms of one's task pages; only if `study().terms` is true."""
        wish = {"samples": report.samples, "weights": report.weights, "documents": report.documents}
        self._ask("PUT", f"{API}/study/terms", json=wish, headers=self._authorization())

    def _task(self, told: dict[str, Any]) -> Task:
        url = _text(told, "url", LINE)
        if url.startswith("/"):
            url = str(self._http.base_url.join(url))
        if not url.startswith(("http://", "https://")):
            raise InputError("the server's task has an address that is not http or https")
        return Task(_whole(told, "id"), _whole(told, "position"), url, _text(told, "state", OUTCOME))

    def export(self) -> dict[str, Any]:
        """Return everything the server keeps about this participant."""
        return self._json(self._ask("GET", f"{API}/me/export", LARGEST_FILE, headers=self._authorization()))

    def erase(self) -> None:
        """Leave, and have everything deleted."""
        self._ask("DELETE", f"{API}/me", headers=self._authorization())
        self.id = self.secret = None

    def _authorization(self) -> dict[str, str]:
        if self.id is None or self.secret is None:
            raise InputError("not enrolled: call enrol() first")
        return {"Authorization": f"Bearer {self.id}.{self.secret}"}

    def _manifest(self) -> Manifest:
        """Return the manifest; refuse one of a lower version than was seen before, or another one of the same."""
        wait = FIRST_WAIT
        for attempt in range(1, self._attempts + 1):
            manifest = _read_manifest(self._json(self._ask("GET", f"{API}/model")))
            if manifest.version >= self.version:
                break
            # Of several processes of a server, one may learn of a new version a second later than another.
            if attempt == self._attempts:
                raise InputError(
                    f"the server offers version {manifest.version} of the model, though it had {self.version} before"
                )
            self._sleep(wait)
            wait = min(LONGEST_WAIT, 2 * wait)
        before = self._manifests.get(manifest.version)
        if before is not None and (before.weights, before.vocabulary) != (manifest.weights, manifest.vocabulary):
            raise InputError(f"the server offers another version {manifest.version} of the model than before")
        self.version = manifest.version
        self._manifests[manifest.version] = manifest
        for old in sorted(self._manifests)[:-MOST_MANIFESTS]:
            del self._manifests[old]
        return manifest

    def _fetch(self, version: int) -> Classifier:
        manifest = self._manifests.get(version)
        most = LARGEST_FILE if manifest is None else 4 * manifest.network.size
        weights = self._file(version, "weights", most, None if manifest is None else manifest.weights)
        vocabulary = self._file(
            version, "vocabulary", LARGEST_VOCABULARY, None if manifest is None else manifest.vocabulary
        )
        try:
            words = Vocabulary.from_json(vocabulary.decode())
        except UnicodeDecodeError:
            raise InputError(f"the vocabulary of version {version} is not UTF-8") from None
        network = _like(words, len(weights)) if manifest is None else manifest.network
        if len(weights) != 4 * network.size:
            raise InputError(f"the weights of version {version} are {len(weights)} bytes, not {4 * network.size}")
        if network.inputs != len(words):
            raise InputError(f"the vocabulary of version {version} has {len(words)} words, not {network.inputs}")
        vector = np.frombuffer(weights, "<f4").astype(np.float32)
        network.check(vector)
        return Classifier(Model(network, vector), words)

    def _file(self, version: int, name: str, most: int, announced: str | None) -> bytes:
        """Return a file of a version; refuse one whose hash is not the announced one, by the ETag if there is none."""
        answer = self._ask("GET", f"{API}/models/{version}/{name}", most)
        if announced is None:
            announced = answer.headers.get("ETag", "").removeprefix("W/").strip('"')
        if announced != hashlib.sha256(answer.content).hexdigest():
            raise InputError(f"the {name} of version {version} are not those the server announced")
        return answer.content

    def _ask(self, method: str, path: str, most: int = LONGEST_ANSWER, **options: Any) -> _Answer:
        """Send a request; where the server cannot be reached or is busy, wait and try again, longer each time."""
        wait = FIRST_WAIT
        for attempt in range(1, self._attempts + 1):
            told: str | None = None
            try:
                with self._http.stream(method, path, **options) as response:
                    answer = _Answer(response.status_code, response.headers, _content(response, most))
                    if response.is_success:
                        return answer
                if answer.status not in AGAIN or attempt == self._attempts:
                    raise _refusal(answer)
                told = answer.headers.get("Retry-After")
            except httpx.TransportError as error:
                if attempt == self._attempts:
                    raise InputError(f"the server cannot be reached: {error}") from error
            pause = float(told) if told and told.isdecimal() and len(told) < 10 else wait
            # Not all at the same moment, when a server comes back.
            self._sleep(min(LONGEST_WAIT, pause) * random.uniform(0.5, 1.0))  # noqa: S311 (no secret)
            wait *= 2
        raise AssertionError

    @staticmethod
    def _json(answer: _Answer) -> dict[str, Any]:
        try:
            told = json.loads(answer.content)
        except (ValueError, RecursionError):
            raise InputError("the server's answer is not JSON") from None
        if not isinstance(told, dict):
            raise InputError("the server's answer is not a JSON object")
        return told


def _content(response: httpx.Response, most: int) -> bytes:
    """Read the body of an answer; refuse more bytes than expected before they are in memory."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise InputError("the server's answer is compressed, though this was not asked for")
    data = bytearray()
    for part in response.iter_raw(65536):
        data += part
        if len(data) > most:
            raise InputError(f"the server's answer is longer than the {most} bytes expected")
    return bytes(data)


def _read_manifest(told: dict[str, Any]) -> Manifest:
    """Check a manifest; what this program does not know is ignored."""
    if told.get("protocol") != PROTOCOL or isinstance(told.get("protocol"), bool):
        raise InputError(f"the server speaks another version of the protocol than {PROTOCOL}: update EITR")
    if told.get("classes") != list(NAMES):
        raise InputError("the server's model has other classes than this program")
    network = Network(tuple(_layers(told)))
    if network.outputs != len(NAMES):
        raise InputError("the server's manifest names layers that do not fit the classes")
    weights = _object(told, "weights")
    if told.get("parameters") != network.size or weights.get("bytes") != 4 * network.size:
        raise InputError("the server's manifest names another number of parameters than its layers have")
    if 4 * network.size > LARGEST_FILE:
        raise InputError("the server's model is larger than any model")
    _check_moment(told, "created")
    pool = _object(told, "pool") if told.get("pool") is not None else None
    return Manifest(
        _whole(told, "version"),
        network,
        _text(weights, "sha256", SHA256),
        _text(_object(told, "vocabulary"), "sha256", SHA256),
        None if pool is None else _pool_file(pool),
    )


def _pool_file(told: dict[str, Any]) -> PoolFile:
    pool = PoolFile(_text(told, "sha256", SHA256), _whole(told, "bytes"), _whole(told, "pages"))
    if pool.bytes > LARGEST_POOL:
        raise InputError(f"the server's pool has {pool.bytes} bytes, more than the {LARGEST_POOL} that are fetched")
    return pool


def _refusal(answer: _Answer) -> ServerError:
    try:
        told = json.loads(answer.content)
    except (ValueError, RecursionError):
        told = {}
    told = told if isinstance(told, dict) else {}
    slug = str(told.get("type", "")).rpartition("/")[2]
    return ServerError(answer.status, slug, str(told.get("detail") or told.get("title") or ""))


def _object(told: dict[str, Any], name: str) -> dict[str, Any]:
    value = told.get(name)
    if not isinstance(value, dict):
        raise InputError(f"the server's manifest has no {name}")
    return value


def _text(told: dict[str, Any], name: str, form: re.Pattern[str]) -> str:
    value = told.get(name)
    if not isinstance(value, str) or not form.fullmatch(value):
        raise InputError(f"the server's answer has no {name}, or one of another form")
    return value


def _text_or_none(told: dict[str, Any], name: str, form: re.Pattern[str]) -> str | None:
    return None if told.get(name) is None else _text(told, name, form)


def _truth(told: dict[str, Any], name: str) -> bool:
    value = told.get(name)
    if not isinstance(value, bool):
        raise InputError(f"the server's answer has no {name}")
    return value


def _whole(told: dict[str, Any], name: str, *, least: int = 1) -> int:
    value = told.get(name)
    if type(value) is not int or not least <= value <= LARGEST_NUMBER:
        raise InputError(f"the server's answer has no {name}")
    return value


def _check_moment(told: dict[str, Any], name: str) -> None:
    try:
        datetime.fromisoformat(_text(told, name, MOMENT))
    except ValueError:  # an InputError is one, too
        raise InputError(f"the server's answer has no {name} that is a time") from None


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
