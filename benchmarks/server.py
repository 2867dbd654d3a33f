"""How many updates a second the server takes, how long they wait, and how much memory that needs.

    python -m benchmarks.server [--quick] [--updates N] [--against SOURCES] [--check]
    python -m benchmarks.server --layers 2 --encoding difference           # updates of the upper layers: 17 kB
    python -m benchmarks.server --training paper --encoding difference     # of the whole model as float16: 0.53 MB
    python -m benchmarks.server --training paper --store s3                # ... as float32, 1.06 MB, on an S3 server

64 clients with connections that stay open send updates as fast as they are answered; everybody, the database and the
clients too, shares two cores. Meanwhile somebody else asks for the manifest every 20 ms. First the server without its
worker, in turns with the endpoint one would write first (`server_naive.py`), so that a busy moment hits both; then
memory over many updates; then rounds that close, are aggregated and follow each other. Everything on SQLite and on
PostgreSQL. How fast the clients alone can send is measured, too: they must not be what limits the others. Absolute
numbers belong to a machine and its disk: compare the ratios. Writes server.md and server.json.
"""

import argparse
import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.engine_work import CORES, stay_on_cores
from benchmarks.machine import describe_machine, load_average
from benchmarks.server_field import (
    POSTGRESQL,
    ROOT,
    SQLITE,
    Cluster,
    Naive,
    Ours,
    Process,
    ProcessGroup,
    StartFailedError,
    naive_server,
    our_server,
    sink,
)
from benchmarks.server_load import MANIFEST, Connection, Job, Seen
from benchmarks.server_report import OURS, Burst, Course, Report, as_json, as_markdown, verdicts
from eitr.model import Vector
from eitr.model.classifier import Classifier
from eitr.model.private import trained_from
from eitr.model.update_encoding import DIFFERENCE, PARAMETERS, WIDTHS, encoded
from tests.server.s3_server import BUCKET, s3_server

BODIES = 16
"""Different updates; with more they no longer fit into the processor's cache, with fewer a rule would find them odd."""
QUORUM = 50
ROUNDS = {
    "EITR_QUORUM": str(QUORUM),
    "EITR_PAUSE_SECONDS": "0",
    "EITR_POLL_SECONDS": "0.05",
    "EITR_MARGIN": "1",
    "EITR_BOUNDS": "false",
}
"""Rounds that follow each other at once."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much is measured."""

    clients: int
    burst: int
    """Updates of one turn."""
    repeats: int
    """Turns of each contender."""
    updates: int
    """Over which memory is watched."""
    rounds: int
    """To be aggregated."""
    kinds: Sequence[str]
    training: str
    """`private`: updates hold the last layers; `paper`: all layers."""
    layers: int
    """How many of the last layers, with private training."""
    encoding: str
    store: str
    """The update store: an address, or nothing for the folder of each server."""
    processes: int
    """Of our server, on one port."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""
    options = _parser().parse_args(arguments)
    quick = options.quick
    plan = Plan(
        clients=options.clients,
        burst=options.burst or (100 if quick else 1000),
        repeats=options.repeats or (1 if quick else 5),
        updates=options.updates if options.updates is not None else (300 if quick else 10_000),
        rounds=options.rounds if options.rounds is not None else (2 if quick else 20),
        kinds=options.database or (SQLITE, POSTGRESQL),
        training=options.training,
        layers=options.layers,
        encoding=DIFFERENCE if options.encoding == "difference" else PARAMETERS,
        store=options.store,
        processes=options.processes,
    )
    stay_on_cores()
    try:
        report = run(plan, quick=quick, against=options.against)
    except StartFailedError as failed:
        print(failed, file=sys.stderr)
        return 1
    print(write(report, options.out), end="")
    return int(options.check and not all(verdict.holds for verdict in verdicts(report)))


def run(plan: Plan, *, quick: bool, against: Path | None = None) -> Report:
    """Measure everything, with a line on stderr for each step."""
    machine = describe_machine(CORES)
    with (
        tempfile.TemporaryDirectory(prefix="server", ignore_cleanup_errors=True) as name,
        update_store(plan.store, Path(name)) as store,
    ):
        folder, plan = Path(name), replace(plan, store=store)
        network, vector = Classifier.shipped().model
        base = vector[0 if plan.training == "paper" else trained_from(network, plan.layers) :]
        bodies = make_bodies(base, folder, plan.encoding)
        alone = send_nowhere(plan, bodies)
        _say(f"the clients alone: {alone:.0f} updates/s")
        bursts: list[Burst] = []
        courses: list[Course] = []
        rounds: list[Burst] = []
        for kind in plan.kinds:
            place = folder / kind.lower()
            place.mkdir()
            cluster = Cluster(kind, place)
            try:
                # The naive endpoint takes any number of float32; differences are half as many.
                naive = base.size * WIDTHS[plan.encoding] // WIDTHS[PARAMETERS]
                found, course = _ingest(cluster, place, plan, bodies, naive, against)
                bursts += found
                courses += course
                if plan.rounds:
                    rounds.append(_rounds(cluster, place, plan, bodies))
            finally:
                cluster.close()
    return Report(machine, base.size, plan.clients, alone, bursts, courses, rounds, quick)


@contextmanager
def update_store(kind: str, folder: Path) -> Iterator[str]:
    """Yield the address of an update store: of a real S3 server, or nothing for the folder of each server."""
    if kind != "s3":
        yield ""
        return
    with s3_server(folder / "s3") as server:
        os.environ.update(server.environment)
        yield f"s3://{BUCKET}"


def make_bodies(base: Vector, folder: Path, encoding: str = PARAMETERS) -> list[tuple[str, str]]:
    """Write updates that look honest to a folder; return path and digest of each."""
    generator, found = np.random.default_rng(0), []
    for number in range(BODIES):
        step = generator.normal(0, 0.01, base.size).astype(np.float32)
        data = encoded(encoding, base + step, base)
        path = folder / f"update-{number}"
        path.write_bytes(data)
        found.append((str(path), base64.b64encode(hashlib.sha256(data).digest()).decode()))
    return found


def send_nowhere(plan: Plan, bodies: list[tuple[str, str]]) -> float:
    """Return how many updates a second the clients send to somebody who does nothing with them."""
    with sink() as port:
        job = Job(port=port, connections=plan.clients, round=1, updates=1000, tickets=["a.b"], bodies=bodies)
        seen = _load(job)
    return len(seen.latencies) / seen.seconds


def _ingest(
    cluster: Cluster, folder: Path, plan: Plan, bodies: list[tuple[str, str]], parameters: int, against: Path | None
) -> tuple[list[Burst], list[Course]]:
    """Let the contenders take turns; then watch our memory."""
    people = max(plan.burst, 1000)
    with ExitStack() as stack:
        contenders: list[Naive | Ours] = [
            stack.enter_context(naive_server(cluster, folder, parameters)),
            stack.enter_context(
                our_server(
                    cluster,
                    folder,
                    OURS,
                    participants=people,
                    training=plan.training,
                    layers=plan.layers,
                    store=plan.store,
                    processes=plan.processes,
                )
            ),
        ]
        if against is not None:
            name = f"EITR, {against.name}"
            contenders.append(
                stack.enter_context(
                    our_server(cluster, folder, name, participants=people, training=plan.training, source=against)
                )
            )
        for contender in contenders:  # a turn that does not count: afterwards files have the length they need
            measure(cluster, contender, plan.burst, plan, bodies)
        bursts = [
            measure(cluster, contender, plan.burst, plan, bodies)
            for _ in range(plan.repeats)
            for contender in contenders
        ]
        courses = [_course(cluster, one, plan, bodies) for one in contenders if isinstance(one, Ours) and plan.updates]
    return bursts, courses


def measure(
    cluster: Cluster, contender: Naive | Ours, updates: int, plan: Plan, bodies: list[tuple[str, str]]
) -> Burst:
    """Send updates to a contender, in a round of their own, and ask for the manifest meanwhile."""
    job = Job(
        port=contender.process.port,
        connections=plan.clients,
        encoding=plan.encoding,
        round=contender.open_round(),
        updates=updates,
        tickets=contender.tickets,
        bodies=bodies,
    )
    return _burst(cluster, contender.name, contender.process, job)


def _course(cluster: Cluster, ours: Ours, plan: Plan, bodies: list[tuple[str, str]]) -> Course:
    """Watch our memory over many updates."""
    step = min(1000, max(1, plan.updates // 3))
    bursts = [measure(cluster, ours, step, plan, bodies) for _ in range(plan.updates // step)]
    return Course(cluster.kind, ours.name, step, bursts)


def _rounds(cluster: Cluster, folder: Path, plan: Plan, bodies: list[tuple[str, str]]) -> Burst:
    """Let rounds follow each other."""
    with our_server(
        cluster,
        folder,
        "rounds",
        participants=4000,
        training=plan.training,
        layers=plan.layers,
        store=plan.store,
        processes=plan.processes,
        settings=ROUNDS,
        worker=True,
    ) as ours:
        job = Job(
            port=ours.process.port,
            connections=plan.clients,
            encoding=plan.encoding,
            round=0,
            updates=QUORUM,
            tickets=ours.tickets,
            bodies=bodies,
        )
        _burst(cluster, OURS, ours.process, job)  # compiles the rule's kernels, or loads them
        before = published(ours.process.port)
        job = Job(**{**asdict(job), "updates": plan.rounds * QUORUM, "tickets": ours.tickets[QUORUM:]})
        return _burst(cluster, OURS, ours.process, job, versions=lambda: published(ours.process.port) - before)


def published(port: int) -> int:
    """Return the current version of the model."""
    connection = Connection(port)
    _, content = connection.get(MANIFEST)
    connection.close()
    return int(json.loads(content)["version"])


def _burst(
    cluster: Cluster, name: str, process: Process | ProcessGroup, job: Job, versions: Callable[[], int] = lambda: 0
) -> Burst:
    load, start, processor, database = load_average(), process.memory, process.processor, cluster.processor
    process.most = start
    with _watching(process.port) as manifest:
        seen = _load(job)
    found = Burst(
        kind=cluster.kind,
        contender=name,
        seconds=seen.seconds,
        latencies=seen.latencies,
        statuses=seen.statuses,
        example=seen.example,
        manifest=manifest,
        memory_start=start,
        memory_most=process.most,
        memory_end=process.memory,
        processor=process.processor - processor,
        database_processor=cluster.processor - database,
        clients_processor=seen.processor,
        versions=versions(),
        load_average=load,
    )
    _say(f"{cluster.kind}, {name}: {found}")
    return found


@contextmanager
def _watching(port: int) -> Iterator[list[float]]:
    """Ask for the manifest meanwhile; the list is filled at the end."""
    found: list[float] = []
    watcher = _start()
    assert watcher.stdin is not None
    watcher.stdin.write(json.dumps({"port": port}) + "\n")
    watcher.stdin.flush()
    try:
        yield found
    finally:
        told, _ = watcher.communicate()
    found += json.loads(told)


def _load(job: Job) -> Seen:
    """Send updates from a process of its own."""
    told, _ = _start().communicate(json.dumps(asdict(job)) + "\n")
    return Seen(**json.loads(told))


def _start() -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.server_load"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def write(report: Report, folder: Path) -> str:
    """Write server.md and server.json; return the Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    markdown = as_markdown(report)
    (folder / "server.md").write_text(markdown, encoding="utf-8")
    (folder / "server.json").write_text(json.dumps(as_json(report), indent=1) + "\n", encoding="utf-8")
    return markdown


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.server", description="Measure updates a second, waiting and memory of the server."
    )
    parser.add_argument("--clients", type=int, default=64, help="connections that send at the same time (64)")
    parser.add_argument("--burst", type=int, help="updates of a turn (1000)")
    parser.add_argument("--repeats", type=int, help="turns of each contender (5)")
    parser.add_argument("--updates", type=int, help="updates over which memory is watched; 0: not at all (10000)")
    parser.add_argument("--rounds", type=int, help="rounds to aggregate; 0: none (20)")
    parser.add_argument("--database", action="append", choices=(SQLITE, POSTGRESQL), help="one kind only (both)")
    parser.add_argument(
        "--against", type=Path, help="a folder with another `eitr` package, to be measured in turns, too"
    )
    parser.add_argument(
        "--training",
        choices=("private", "paper"),
        default="private",
        help="whether updates hold the last layer or, as in the paper, all layers (private)",
    )
    parser.add_argument("--layers", type=int, default=1, help="how many of the last layers, with private training (1)")
    parser.add_argument(
        "--encoding",
        choices=("parameters", "difference"),
        default="parameters",
        help="whether updates are float32 parameters or, half as long, float16 differences (parameters)",
    )
    parser.add_argument(
        "--processes", type=int, default=1, help="processes of our server on one port, with PostgreSQL only (1)"
    )
    parser.add_argument("--store", choices=("folder", "s3"), default="folder", help="the update store (folder)")
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="folder for the results (bench-out)")
    parser.add_argument("--quick", action="store_true", help="few updates: does it run? The numbers mean nothing")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a promise is broken or was not measured")
    return parser


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # whoever stops the benchmark stops its servers, too
    sys.exit(main())
