"""What requests, rounds and rows cost a real server, and whether the simulation of the lab predicts it.

    python -m benchmarks.scale_check [--requests 2000] [--rounds 20,100,400] [--to bench-out/scale_check.json]

Starts `eitr serve` (SQLite, one process) on this machine. Three parts:

- Polls: the two requests of a browser that has the newest model, `GET /api/v2/model` (304) and
  `GET /api/v2/rounds/current`; and the download of the weights. First one request after the other, which gives the
  processor time of a request without any waiting; then from many connections at once, which gives the throughput at
  saturation; then at random moments (a Poisson process) at 50 % and 75 % of that, which gives waiting times.
- The prediction: the lab's station with one server (`eitr.lab.scale.stations`), given the same moments and the seconds
  that requests took one by one. Its throughput and its times stand beside the measured ones.
- Rounds: so many participants send private updates; the time from the close of a round to its end, and the rows and
  bytes that stay in the database.

Clients and server share the machine's cores, so compare ratios. `docs/scale.md` has the numbers.
"""

import argparse
import json
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.federation_server import Call, Member, Server
from benchmarks.federation_tree import EITR, source_folder
from benchmarks.machine import describe_machine, load_average
from benchmarks.server_load import CURRENT, MANIFEST, NOTHING, Connection
from benchmarks.server_process import Process, free_port
from eitr.errors import InputError
from eitr.lab.scale.stations import Station

CONNECTIONS = 16
LOADS = (0.5, 0.75)
SETTINGS = {
    "EITR_ENROLMENT": "open",
    "EITR_ENROLMENTS_PER_HOUR": "1000000",
    "EITR_REQUESTS_PER_MINUTE": "100000000",
    "EITR_BOUNDS": "false",
    "EITR_PAUSE_SECONDS": "0",
    "EITR_POLL_SECONDS": "0.05",
    "EITR_LOG_LEVEL": "warning",
}
PARAMETERS = 198
"""Of the last layer, which private rounds train."""
PATIENCE = 300.0


def main() -> int:
    """Measure, predict, write."""
    options = _options()
    found: dict[str, Any] = {"machine": describe_machine(0), "load_average": load_average()}
    with tempfile.TemporaryDirectory(prefix="eitr-scale-") as name:
        found["requests"] = requests(Path(name), options.requests, options.seed)
        found["rounds"] = [round_cost(Path(name), people) for people in options.rounds]
    options.to.parent.mkdir(parents=True, exist_ok=True)
    options.to.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(report(found))
    return 0


def requests(folder: Path, number: int, seed: int) -> dict[str, Any]:
    """Measure requests of a poll and of a download on a server with an open round, and predict them."""
    process, port = _server(folder / "polls", {})
    try:
        with closing(Connection(port)) as one:
            etag = _etag(port)
            _, answer = one.get(MANIFEST)
            weights = json.loads(answer)["weights"]["url"]
            vocabulary = json.loads(answer)["vocabulary"]["url"]
        asked = {
            "manifest": _head(MANIFEST, f"If-None-Match: {etag}\r\n"),
            "round": _head(CURRENT),
            "weights": _head(weights),
            "vocabulary": _head(vocabulary),
        }
        costs = {}
        for kind, head in asked.items():
            print(f"{kind}: {number} requests one after the other", file=sys.stderr, flush=True)
            costs[kind] = _one_by_one(process, port, head, number // 10 if kind in ("weights",) else number)
        turn = [asked["manifest"], asked["round"]]
        services = [np.array(costs[kind].pop("seconds")) for kind in asked][:2]
        for cost in costs.values():
            cost.pop("seconds", None)
        print(f"polls from {CONNECTIONS} connections at once", file=sys.stderr, flush=True)
        saturated = _at_once(process, port, turn, number)
        loads = []
        for load in LOADS:
            print(f"polls at {load:.0%} of that", file=sys.stderr, flush=True)
            moments = _poisson(load * saturated["per_second"], number, seed)
            loads.append(_predicted(_at_moments(port, turn, moments), moments, services, load))
    finally:
        process.stop()
    saturated["predicted_per_second"] = round(1 / float(np.mean([one.mean() for one in services])), 1)
    return {"one_by_one": costs, "saturated": saturated, "open": loads}


def round_cost(folder: Path, people: int) -> dict[str, Any]:
    """Let so many participants send one private update each; return what the round took and left behind."""
    print(f"a round of {people} updates", file=sys.stderr, flush=True)
    limits = dict.fromkeys(("EITR_QUORUM", "EITR_MINIMUM", "EITR_MAXIMUM"), str(people))
    own = folder / f"round-{people}"
    process, port = _server(own, limits)
    server = Server(port, own)
    try:
        addresses = [f"127.{1 + number // 250}.{number % 250}.1" for number in range(people)]
        empty = _stored(own)
        members = server.enrol(addresses)
        enrolled = _stored(own)
        rng = np.random.default_rng(people)
        seconds, after = [], [enrolled]
        call = server.wait_for_round(0)
        for _ in range(3):  # only in the first, the rule has not seen anybody before
            last, call = call, _sent(server, call, members, rng.normal(0.0, 2e-3, (people, PARAMETERS)))
            (row,) = server.table(
                f"SELECT (julianday(ended) - julianday(closed)) * 86400 AS seconds FROM rounds WHERE id = {last.id}"
            )
            seconds.append(row["seconds"])
            after.append(_stored(own))
    finally:
        server.close()
        process.stop()
    return {
        "updates": people,
        "seconds": round(statistics.median(seconds[1:]), 3),
        "rows_a_participant": (enrolled["rows"] - empty["rows"]) / people,
        "bytes_a_participant": (enrolled["bytes"] - empty["bytes"]) / people,
        "rows_a_round": after[3]["rows"] - after[2]["rows"],
        "bytes_first_round": after[1]["bytes"] - after[0]["bytes"],
        "bytes_a_round": (after[3]["bytes"] - after[1]["bytes"]) / 2,
    }


def _sent(server: Server, call: Call, members: list[Member], steps: NDArray[np.float64]) -> Call:
    """Send the updates of a round, and wait for the next one."""
    last = server.weights(call.base)[-PARAMETERS:]
    updates = [(member, (last + step).astype("<f4").tobytes()) for member, step in zip(members, steps, strict=True)]
    told = server.send(call.id, updates)
    if told["accepted"] != len(updates):
        raise InputError(f"not all updates were accepted: {dict(told)}")
    return server.wait_for_round(call.id)


def _stored(folder: Path) -> dict[str, int]:
    """Return how many rows and bytes the database has."""
    with closing(sqlite3.connect(folder / "eitr.db", timeout=60)) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = sum(database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names)
        (pages,) = database.execute("PRAGMA page_count").fetchone()
        (free,) = database.execute("PRAGMA freelist_count").fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    return {"rows": rows, "bytes": (pages - free) * size}


def _server(folder: Path, more: dict[str, str]) -> tuple[Process, int]:
    port = free_port()
    environment = {**SETTINGS, **more, "PYTHONPATH": str(source_folder())}
    command = [*EITR, "serve", "--port", str(port), "--folder", str(folder)]
    process = Process(command, port, folder.with_suffix(".log"), environment)
    process.wait("/readyz")
    with closing(Connection(port)) as one:
        end = time.monotonic() + PATIENCE
        while one.get(CURRENT)[0] != 200:
            if time.monotonic() > end:
                raise InputError(f"no round opened within {PATIENCE:g} s")
            time.sleep(0.05)
    return process, port


def _etag(port: int) -> str:
    from urllib.request import urlopen

    with urlopen(f"http://127.0.0.1:{port}{MANIFEST}", timeout=60) as answer:
        return str(answer.headers["ETag"])


def _head(path: str, more: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode()


def _one_by_one(process: Process, port: int, head: bytes, number: int) -> dict[str, Any]:
    """Return the processor time of the server and the seconds that requests take if nobody else asks."""
    with closing(_Asking(port)) as one:
        for _ in range(20):
            one.ask(head)
        before, seconds = process.processor, []
        for _ in range(number):
            began = time.perf_counter()
            one.ask(head)
            seconds.append(time.perf_counter() - began)
        busy = process.processor - before
    return {
        "requests": number,
        "processor_ms": 1000 * busy / number,
        "ms": 1000 * sum(seconds) / number,
        "seconds": seconds,
    }


def _at_once(process: Process, port: int, turn: list[bytes], number: int) -> dict[str, float]:
    """Return the throughput when every connection asks again as soon as it has its answer."""
    before, began = process.processor, time.perf_counter()
    each = number // CONNECTIONS

    def work(place: int) -> None:
        with closing(_Asking(port)) as one:
            for count in range(each):
                one.ask(turn[(place + count) % len(turn)])

    _together(work)
    seconds = time.perf_counter() - began
    done = each * CONNECTIONS
    return {
        "connections": CONNECTIONS,
        "per_second": round(done / seconds, 1),
        "processor_ms": 1000 * (process.processor - before) / done,
    }


def _at_moments(port: int, turn: list[bytes], moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ask at given seconds, whoever of the connections is free; return how long each answer took from its moment."""
    taken, lock, waits = iter(range(len(moments))), threading.Lock(), np.zeros(len(moments))
    start = time.perf_counter() + 0.5

    def work(_place: int) -> None:
        with closing(_Asking(port)) as one:
            while True:
                with lock:
                    place = next(taken, None)
                if place is None:
                    return
                due = start + moments[place]
                if (early := due - time.perf_counter()) > 0:
                    time.sleep(early)
                one.ask(turn[place % len(turn)])
                waits[place] = time.perf_counter() - due

    _together(work)
    return waits


def _together(work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(place,)) for place in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _poisson(rate: float, number: int, seed: int) -> NDArray[np.float64]:
    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate, number))


def _predicted(
    measured: NDArray[np.float64], moments: NDArray[np.float64], services: list[NDArray[np.float64]], load: float
) -> dict[str, float]:
    """Return what was measured at a load, and what the lab's station makes of the same moments.

    It draws service times from those that were measured one by one.
    """
    rng = np.random.default_rng(0)
    drawn = np.array([rng.choice(services[place % len(services)]) for place in range(len(moments))])
    predicted = Station(1).serve(moments, drawn).waits + drawn
    return {
        "load": load,
        "per_second": round(len(moments) / float(moments[-1]), 1),
        "mean_ms": 1000 * float(measured.mean()),
        "p50_ms": 1000 * float(np.quantile(measured, 0.5)),
        "p99_ms": 1000 * float(np.quantile(measured, 0.99)),
        "predicted_mean_ms": 1000 * float(predicted.mean()),
        "predicted_p50_ms": 1000 * float(np.quantile(predicted, 0.5)),
        "predicted_p99_ms": 1000 * float(np.quantile(predicted, 0.99)),
    }


class _Asking(Connection):
    """A connection that also takes answers without a length, such as 304."""

    def ask(self, head: bytes, body: memoryview = NOTHING) -> tuple[int, bytes]:
        self._socket.sendall(head)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._more()
        top, _, content = answer.partition(b"\r\n\r\n")
        lines = [line for line in top.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        left = int(lines[0][15:]) - len(content) if lines and not top.startswith(b"HTTP/1.1 304") else 0
        while left > 0:
            left -= len(self._more())
        status = int(top[9:12])
        if status not in (200, 304):
            raise InputError(f"the server answered {status}")
        return status, content


def report(found: dict[str, Any]) -> str:
    """Return the tables."""
    from benchmarks.markdown import table

    asked = found["requests"]
    costs = [[kind, f"{one['processor_ms']:.2f}", f"{one['ms']:.2f}"] for kind, one in asked["one_by_one"].items()]
    full = asked["saturated"]
    loads = [
        [
            f"{one['load']:.0%}",
            f"{one['per_second']:.0f}",
            *(f"{one[name]:.1f}" for name in ("mean_ms", "predicted_mean_ms", "p99_ms", "predicted_p99_ms")),
        ]
        for one in asked["open"]
    ]
    rounds = [
        [
            str(one["updates"]),
            f"{one['seconds']:.2f}",
            f"{one['rows_a_participant']:.1f}",
            f"{one['bytes_a_participant']:.0f}",
            f"{one['rows_a_round'] / one['updates']:.1f}",
            f"{one['bytes_first_round'] / 1000:.0f}",
            f"{one['bytes_a_round'] / 1000:.0f}",
        ]
        for one in found["rounds"]
    ]
    return "\n\n".join(
        (
            table(["request", "processor ms", "ms one by one"], costs),
            f"at saturation: {full['per_second']:.0f} requests/s, predicted {full['predicted_per_second']:.0f}",
            table(["load", "requests/s", "mean ms", "predicted", "p99 ms", "predicted"], loads),
            table(
                [
                    "updates",
                    "aggregation s",
                    "rows a participant",
                    "bytes",
                    "rows an update",
                    "first round kB",
                    "others kB",
                ],
                rounds,
            ),
        )
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000, help="of each kind")
    parser.add_argument("--rounds", type=_counts, default=[20, 100, 400], help="updates of the rounds, with commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--to", type=Path, default=Path("bench-out", "scale_check.json"))
    return parser.parse_args()


def _counts(text: str) -> list[int]:
    found = [int(part) for part in text.split(",")]
    if not all(5 <= count <= 10_000 for count in found):
        raise argparse.ArgumentTypeError("a round has 5 to 10000 updates")
    return found


if __name__ == "__main__":
    sys.exit(main())
