"""Many clients that send updates, and one that asks for the manifest: each a process that costs little itself.

    python -m benchmarks.server_load        # a job as JSON on stdin, what was seen as JSON on stdout

A client is a thread with a connection that stays open. What it sends was made before: one call hands head and octets to
the kernel, one takes the answer. Every answer's status is looked at.
"""

import json
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from eitr.model.update_encoding import PARAMETERS

LONGEST = 120.0
"""Seconds after which an answer no longer comes."""
PAUSE = 0.02
"""Seconds between two questions: for the manifest, or for the next round."""
MANIFEST = "/api/v2/model"
CURRENT = "/api/v2/rounds/current"
NOTHING = memoryview(b"")
ACCEPTED, CLOSED, NONE = 202, 409, 404


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be sent."""

    port: int
    connections: int
    round: int
    """The open round; 0: whichever is, and when it closes the next one."""
    updates: int
    """So many must be received; then everybody stops."""
    tickets: list[str]
    """ID.SECRET of participants, taken one after the other, again from the first when all had their turn."""
    encoding: str = PARAMETERS
    """The media type of updates."""
    bodies: list[tuple[str, str]]
    """Files of octets, with the digest of each."""


@dataclass
class Seen:
    """What came back."""

    seconds: float = 0.0
    """From the first octet to the last answer."""
    latencies: list[float] = field(default_factory=list)
    """Seconds of each update that was received."""
    statuses: dict[str, int] = field(default_factory=dict)
    """All answers to updates; "closed" where the round had ended meanwhile, "broken" for a lost connection."""
    example: str = ""
    """The first answer that was an error."""
    processor: float = 0.0
    """Seconds of processor time that sending took."""


class Connection:
    """Speaks as much HTTP as is needed here."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=LONGEST)
        self._socket.settimeout(None)  # with a time limit, sending would take a call for each bufferful
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _seconds(LONGEST))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, head: bytes, body: memoryview = NOTHING) -> tuple[int, bytes]:
        """Send a request; return status and content of the answer."""
        sent = self._socket.sendmsg([head, body])
        if sent < len(head) + len(body):
            self._socket.sendall(body[sent - len(head) :])
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._more()
        top, _, content = answer.partition(b"\r\n\r\n")
        length = next(int(line[15:]) for line in top.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        while len(content) < length:
            content += self._more()
        return int(top[9:12]), content

    def get(self, path: str) -> tuple[int, bytes]:
        """Ask for a document."""
        return self.ask(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    def close(self) -> None:
        """End it."""
        self._socket.close()

    def _more(self) -> bytes:
        data = self._socket.recv(16384)
        if not data:
            raise ConnectionError("the server closed the connection")
        return data


class Load:
    """All clients of a job."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._bodies = [(memoryview(Path(path).read_bytes()), digest) for path, digest in job.bodies]
        self._seen, self._statuses = Seen(), Counter[str]()
        self._lock = threading.Lock()
        self._round = job.round
        self._left = job.updates
        self._turn = 0

    def run(self) -> Seen:
        """Send until enough was received."""
        threads = [threading.Thread(target=self._client, daemon=True) for _ in range(self._job.connections)]
        start, processor = time.perf_counter(), time.process_time()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._seen.seconds = time.perf_counter() - start
        self._seen.processor = time.process_time() - processor
        self._seen.statuses = dict(self._statuses)
        return self._seen

    def _client(self) -> None:
        connection = Connection(self._job.port)
        for ticket, (body, digest) in self._turns():
            round = self._round or self._next_round(connection, 0)
            while True:
                start = time.perf_counter()
                try:
                    status, content = connection.ask(
                        update_head(round, ticket, digest, len(body), self._job.encoding), body
                    )
                except OSError as error:
                    self._note("broken", repr(error))
                    connection.close()
                    connection = Connection(self._job.port)
                    break
                if status == ACCEPTED:
                    self._seen.latencies.append(time.perf_counter() - start)
                    self._statuses[str(status)] += 1
                    break
                if status != CLOSED or self._job.round:
                    self._note(str(status), content.decode(errors="replace")[:300])
                    break
                self._statuses["closed"] += 1
                round = self._next_round(connection, round)
        connection.close()

    def _turns(self) -> Iterator[tuple[str, tuple[memoryview, str]]]:
        """Yield who sends next, and what, until so many updates are under way as are wanted."""
        while True:
            with self._lock:
                if self._left == 0:
                    return
                self._left -= 1
                turn = self._turn
                self._turn += 1
            yield self._job.tickets[turn % len(self._job.tickets)], self._bodies[turn % len(self._bodies)]

    def _next_round(self, connection: Connection, after: int) -> int:
        """Wait for the round after one that closed: one client asks, the others look at what it found."""
        while True:
            if self._lock.acquire(blocking=False):
                try:
                    if self._round <= after or self._round == 0:
                        status, content = connection.get(CURRENT)
                        if status not in (200, NONE):
                            self._note(str(status), content.decode(errors="replace")[:300])
                        self._round = json.loads(content)["id"] if status == 200 else after
                finally:
                    self._lock.release()
            if self._round > after:
                return self._round
            time.sleep(PAUSE)

    def _note(self, status: str, example: str) -> None:
        self._statuses[status] += 1
        self._seen.example = self._seen.example or f"{status}: {example}"


def watch(port: int, until: Callable[[], bool]) -> list[float]:
    """Ask for the manifest again and again; return the seconds of each answer."""
    connection, found = Connection(port), []
    while not until():
        start = time.perf_counter()
        status, content = connection.get(MANIFEST)
        found.append(time.perf_counter() - start)
        if status != 200 or b"version" not in content:
            raise ValueError(f"the manifest was answered with {status}")
        time.sleep(PAUSE)
    connection.close()
    return found


def update_head(round: int, ticket: str, digest: str, length: int, encoding: str) -> bytes:
    """Return the head of the request that sends an update."""
    return (
        f"PUT /api/v2/rounds/{round}/update HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ticket}\r\n"
        f"Content-Type: {encoding}\r\nContent-Digest: sha-256=:{digest}:\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def _seconds(seconds: float) -> bytes:
    return int(seconds).to_bytes(8, sys.byteorder) + bytes(8)


def main() -> None:
    """Do the job on stdin: send updates, or, if it names only a port, watch the manifest until stdin ends."""
    told: dict[str, Any] = json.loads(sys.stdin.readline())
    if "updates" in told:
        print(json.dumps(asdict(Load(Job(**told)).run())))
        return
    ended = threading.Event()

    def listen() -> None:
        with suppress(OSError):
            sys.stdin.read()
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    print(json.dumps(watch(told["port"], ended.is_set)))


if __name__ == "__main__":
    main()
