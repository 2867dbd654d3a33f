"""Thousands of simulated participants on PostgreSQL, several servers and workers, and kills: is anything lost?

    python -m benchmarks.crowd_server [--participants 5000] [--per-round 1000] [--rounds 5] [--kills 20]
    python -m benchmarks.crowd_server --participants 10000 --per-round 10000 --rounds 1 --kills 0     # one large round
    python -m benchmarks.crowd_server --participants 300 --per-round 60 --rounds 3 --kills 4          # does it run?

In each round some participants, drawn anew, send an update to one of the servers, and again until it is received.
Meanwhile servers and workers, in turns, are ended by SIGKILL and started again. At the end every update that was
answered with 202 must be in exactly one round that was published, observed once, and no bytes may be left in the update
store. Participants are written to the database directly: enrolment is not what is measured. Everybody, PostgreSQL and
the participants too, shares the machine. Writes crowd.md and crowd.json; exits with 1 if something was lost.
"""

import argparse
import base64
import hashlib
import json
import os
import queue
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from sqlalchemy import func, select

from benchmarks.machine import describe_machine, machine_line
from benchmarks.markdown import significant, table
from benchmarks.server import update_store
from benchmarks.server_field import NO_LIMITS, POSTGRESQL, Cluster, enrol
from benchmarks.server_load import ACCEPTED, CURRENT, Connection, update_head
from benchmarks.server_process import Process, free_port
from benchmarks.server_report import MEGABYTE, quantile
from eitr.model.classifier import Classifier
from eitr.model.private import trained_from
from eitr.model.update_encoding import DIFFERENCE
from eitr.server.composition.wiring import update_bytes
from eitr.server.db.connection import Database
from eitr.server.db.tables import AuditRow, ObservationRow, OverwriteRow, RoundRow, RoundStatus, UpdateRow
from eitr.server.domain.keys import Key
from eitr.server.settings import read_settings

PATTERNS = 64
"""Different updates; each participant's is one of them with numbers of its own at the beginning."""
PAUSE = 0.1
"""Seconds between two questions for the next round, or two attempts to send."""
LONGEST = 1800.0
"""Seconds without any progress after which the benchmark gives up."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much is done."""

    participants: int
    per_round: int
    rounds: int
    kills: int
    servers: int
    workers: int
    connections: int
    store: str
    training: str
    rule: str
    seed: int


@dataclass
class Outcome:
    """What was seen."""

    accepted: dict[tuple[int, str], str] = field(default_factory=dict)
    """By round and participant, the hash of what was answered with 202."""
    latencies: list[float] = field(default_factory=list)
    """Seconds of each request that was answered with 202."""
    answers: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    memory: dict[str, int] = field(default_factory=dict)
    """By process, the most memory it had, over all its lives."""
    sending: float = 0.0
    """Seconds in which updates were sent."""


class Fleet:
    """Servers and workers, each of which can be killed and started again."""

    def __init__(self, plan: Plan, folder: Path, address: str, store: str, outcome: Outcome) -> None:
        self._folder, self._outcome = folder, outcome
        self._environment = {
            **NO_LIMITS,
            "EITR_BOUNDS": "false",
            "EITR_DATABASE": address,
            "EITR_FOLDER": str(folder / "server"),
            "EITR_LEASE_SECONDS": "5",
            "EITR_MARGIN": "1",
            "EITR_CLASS_MARGIN": "1",
            "EITR_MAXIMUM": str(plan.per_round),
            "EITR_MINIMUM": str(plan.per_round),
            "EITR_PAUSE_SECONDS": "0",
            "EITR_POLL_SECONDS": "0.1",
            "EITR_QUORUM": str(plan.per_round),
            "EITR_RULE": plan.rule,
            "EITR_TRAINING": plan.training,
            "EITR_UPDATE_STORE": store,
        }
        self.ports = {f"server {number + 1}": free_port() for number in range(plan.servers)}
        self._workers = [f"worker {number + 1}" for number in range(plan.workers)]
        self._running: dict[str, Process] = {}
        self._lives: Counter[str] = Counter()
        first = next(iter(self.ports))
        self._start(first)  # it makes the schema and the key that the others share
        self._running[first].wait("/readyz")

    def start_others(self) -> None:
        """Start everybody else."""
        for name in [*self.ports, *self._workers]:
            if name not in self._running:
                self._start(name)
        for name in self.ports:
            self._running[name].wait("/readyz")

    def kill(self, name: str) -> None:
        """Kill a process and start it again."""
        process = self._running[name]
        process.kill()
        self._note(name, process)
        self._outcome.kills[name.partition(" ")[0]] += 1
        self._start(name)

    def stop(self) -> None:
        """Stop everybody."""
        for name, process in self._running.items():
            process.stop()
            self._note(name, process)

    @property
    def names(self) -> list[str]:
        """All processes, servers and workers in turns."""
        servers, workers = list(self.ports), self._workers
        return [name for pair in zip(servers * len(workers), workers * len(servers), strict=True) for name in pair]

    def _start(self, name: str) -> None:
        self._lives[name] += 1
        port = self.ports.get(name, 0)
        command = ["serve", "--no-worker", "--port", str(port)] if port else ["worker"]
        log = self._folder / f"{name.replace(' ', '-')}-{self._lives[name]}.log"
        program = [sys.executable, "-c", "from eitr.cli import main; main()"]
        self._running[name] = Process([*program, *command], port, log, self._environment)

    def _note(self, name: str, process: Process) -> None:
        self._outcome.memory[name] = max(self._outcome.memory.get(name, 0), process.most)


class Crowd:
    """Participants: each takes part in rounds that it is drawn for."""

    def __init__(self, plan: Plan, ports: list[int], tickets: list[str], outcome: Outcome) -> None:
        self._plan, self._ports, self._tickets, self._outcome = plan, ports, tickets, outcome
        self._jobs: queue.Queue[tuple[int, int] | None] = queue.Queue()
        self._lock = threading.Lock()
        network, vector = Classifier.shipped().model
        size = vector.size - (0 if plan.training == "paper" else trained_from(network, 1))
        rng = np.random.default_rng(plan.seed)
        self._patterns = rng.normal(0, 0.002, (PATTERNS, size)).astype("<f2")
        self.rounds: list[int] = []

    @property
    def received(self) -> int:
        """How many updates were answered with 202."""
        return len(self._outcome.accepted)

    def run(self) -> None:
        """Send to as many rounds as are planned."""
        threads = [threading.Thread(target=self._sender, args=(n,), daemon=True) for n in range(self._plan.connections)]
        for thread in threads:
            thread.start()
        chance = random.Random(self._plan.seed)
        for _ in range(self._plan.rounds):
            round = self._next_round(self.rounds[-1] if self.rounds else 0)
            self.rounds.append(round)
            _say(f"round {round} is open")
            start = time.perf_counter()
            for person in chance.sample(range(len(self._tickets)), self._plan.per_round):
                self._jobs.put((round, person))
            self._jobs.join()
            self._outcome.sending += time.perf_counter() - start
        for _ in threads:
            self._jobs.put(None)
        for thread in threads:
            thread.join()

    def _next_round(self, after: int) -> int:
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            for port in self._ports:
                with suppress(OSError, ValueError):
                    connection = Connection(port)
                    status, content = connection.get(CURRENT)
                    connection.close()
                    if status == 200 and json.loads(content)["id"] > after:
                        return int(json.loads(content)["id"])
            time.sleep(PAUSE)
        raise TimeoutError(f"no round followed round {after}")

    def _sender(self, number: int) -> None:
        turn, connection = number, None
        while (job := self._jobs.get()) is not None:
            round, person = job
            data = self._update(round, person)
            digest = hashlib.sha256(data).digest()
            told = base64.b64encode(digest).decode()
            head = update_head(round, self._tickets[person], told, len(data), DIFFERENCE)
            while True:
                start = time.perf_counter()
                try:
                    connection = connection or Connection(self._ports[turn % len(self._ports)])
                    status, content = connection.ask(head, memoryview(data))
                except OSError:
                    self._outcome.answers["broken"] += 1
                    connection, turn = None, turn + 1
                    time.sleep(PAUSE)
                    continue
                with self._lock:
                    self._outcome.answers[str(status)] += 1
                    if status == ACCEPTED:
                        self._outcome.latencies.append(time.perf_counter() - start)
                        self._outcome.accepted[round, self._tickets[person].partition(".")[0]] = digest.hex()
                if status != 503:
                    break
                time.sleep(PAUSE)
            if status != ACCEPTED:
                _say(f"an update was answered with {status}: {content[:200]!r}")
            self._jobs.task_done()

    def _update(self, round: int, person: int) -> bytes:
        own = self._patterns[person % PATTERNS].copy()
        own[:4] = np.random.default_rng((round, person)).normal(0, 0.002, 4)
        return own.tobytes()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""
    options = _parser().parse_args(arguments)
    out: Path = options.out
    plan = Plan(**{name: value for name, value in vars(options).items() if name != "out"})
    with tempfile.TemporaryDirectory(prefix="crowd", ignore_cleanup_errors=True) as name, ExitStack() as stack:
        folder = Path(name)
        store = stack.enter_context(update_store(plan.store, folder))
        cluster = Cluster(POSTGRESQL, folder)
        stack.callback(cluster.close)
        report = run(plan, folder, cluster.database("crowd"), store)
    out.mkdir(parents=True, exist_ok=True)
    (out / "crowd.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    markdown = as_markdown(report)
    (out / "crowd.md").write_text(markdown, encoding="utf-8")
    print(markdown, end="")
    return int(bool(report["wrong"]))


def run(plan: Plan, folder: Path, address: str, store: str) -> dict[str, object]:
    """Let everything happen; return the figures."""
    outcome = Outcome()
    fleet = Fleet(plan, folder, address, store, outcome)
    try:
        tickets = enrol(address, plan.participants)
        fleet.start_others()
        crowd = Crowd(plan, list(fleet.ports.values()), tickets, outcome)
        over = threading.Event()
        killer = threading.Thread(target=_kill, args=(plan, fleet, crowd, over), daemon=True)
        killer.start()
        crowd.run()
        database = Database(address)
        _wait_for_ends(database, crowd.rounds)
        over.set()
        killer.join()
    finally:
        fleet.stop()
    settings = read_settings(folder=folder / "server", database=address, update_store=store)
    updates = update_bytes(database, settings, Key.of(settings.folder))
    left = [one.name for one in updates.store.objects() if one.round in crowd.rounds]
    with database.reading() as session:
        rounds = [session.get_one(RoundRow, id) for id in crowd.rounds]
    wrong = account(database, outcome, crowd.rounds, left)
    database.close()
    return {
        "machine": describe_machine(os.cpu_count() or 1),
        "plan": asdict(plan),
        "updates": len(outcome.accepted),
        "updates per second while sending": len(outcome.accepted) / outcome.sending,
        "p50 ms": quantile(outcome.latencies, 0.5),
        "p99 ms": quantile(outcome.latencies, 0.99),
        "answers": dict(outcome.answers),
        "kills": dict(outcome.kills),
        "memory": outcome.memory,
        "rounds": [
            {
                "round": round.id,
                "received": round.received,
                "open": (round.closed - round.opened).total_seconds() if round.closed else None,
                "until the end": (round.ended - round.closed).total_seconds() if round.ended and round.closed else None,
                "aggregation": round.seconds,
                "attempts": round.attempts,
                "status": round.status,
            }
            for round in rounds
        ],
        "wrong": wrong,
    }


def _kill(plan: Plan, fleet: Fleet, crowd: Crowd, over: threading.Event) -> None:
    """Kill somebody whenever so many more updates were received, or, while a round ends, after a while."""
    chance, names = random.Random(plan.seed), fleet.names
    total = plan.rounds * plan.per_round
    for number in range(plan.kills):
        due = total * (number + chance.random()) / plan.kills
        while crowd.received < due and not over.is_set():
            over.wait(0.01)
        over.wait(chance.uniform(0, 1))
        name = names[number % len(names)]
        _say(f"kill {number + 1} of {plan.kills}: {name}, after {crowd.received} updates")
        fleet.kill(name)


def _wait_for_ends(database: Database, rounds: list[int]) -> None:
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        with database.reading() as session:
            ended = select(func.count()).where(RoundRow.id.in_(rounds), RoundRow.ended.is_not(None))
            if session.scalar(ended) == len(rounds):
                return
        time.sleep(PAUSE)
    raise TimeoutError("rounds did not end")


def account(database: Database, outcome: Outcome, rounds: list[int], left: list[str]) -> list[str]:
    """Return what is wrong: nothing, if every update that was answered with 202 counted once, and no bytes are left."""
    wrong = []
    with database.reading() as session:
        rows = session.execute(select(UpdateRow.round, UpdateRow.participant, UpdateRow.sha256)).all()
        stored = {(round, participant): sha256.hex() for round, participant, sha256 in rows}
        if len(rows) != len(stored) or stored != outcome.accepted:
            lost, other = outcome.accepted.items() - stored.items(), stored.items() - outcome.accepted.items()
            wrong.append(f"{len(lost)} accepted updates are not stored, and {len(other)} others are")
        seen = session.execute(select(ObservationRow.round, ObservationRow.participant)).all()
        if len(seen) != len(outcome.accepted) or {(round, who) for round, who in seen} != set(outcome.accepted):
            wrong.append(f"{len(seen)} updates were observed, {len(outcome.accepted)} accepted")
        entries = session.scalars(select(AuditRow).where(AuditRow.action == "published a round")).all()
        if sorted(entry.detail["round"] for entry in entries) != sorted(rounds):
            wrong.append(f"rounds {rounds} were to be published once, {[e.detail['round'] for e in entries]} were")
        for round in session.scalars(select(RoundRow).where(RoundRow.id.in_(rounds))):
            if round.status != RoundStatus.PUBLISHED:
                wrong.append(f"round {round.id} is {round.status}: {round.reason}")
        if session.scalar(select(func.count()).where(UpdateRow.object.is_not(None))):
            wrong.append("rows still name objects")
        if session.scalar(select(func.count()).select_from(OverwriteRow)):
            wrong.append("bytes are still to be overwritten")
        if session.scalars(select(AuditRow).where(AuditRow.action == "could not read updates")).all():
            wrong.append("updates could not be read")
    if left:
        wrong.append(f"{len(left)} objects are left in the update store")
    return wrong


def as_markdown(report: dict) -> str:
    """Return the figures as tables."""
    plan, memory = report["plan"], report["memory"]
    lines = [
        "# A crowd on PostgreSQL",
        "",
        machine_line(report["machine"]),
        "",
        f"{plan['participants']} participants, {plan['per_round']} a round, {plan['servers']} servers, "
        f"{plan['workers']} workers, updates in {plan['store']}, training {plan['training']}, rule {plan['rule']}. "
        f"Kills: {report['kills'] or 'none'}. Answers: {report['answers']}.",
        "",
        table(
            ("updates", "updates/s while sending", "p50 ms", "p99 ms"),
            [
                (
                    str(report["updates"]),
                    significant(report["updates per second while sending"]),
                    significant(report["p50 ms"]),
                    significant(report["p99 ms"]),
                )
            ],
        ),
        "",
        table(
            ("round", "received", "open s", "closed to ended s", "of these aggregation s", "attempts"),
            [
                (
                    str(one["round"]),
                    str(one["received"]),
                    *(significant(one[name] or 0) for name in ("open", "until the end", "aggregation")),
                    str(one["attempts"]),
                )
                for one in report["rounds"]
            ],
        ),
        "",
        table(("process", "peak memory MB"), [(name, f"{most / MEGABYTE:.0f}") for name, most in memory.items()]),
        "",
        "Nothing lost, nothing twice, no bytes left."
        if not report["wrong"]
        else "**Wrong:** " + "; ".join(report["wrong"]),
    ]
    return "\n".join(lines) + "\n"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.crowd_server", description="Send updates of a crowd while processes are killed."
    )
    parser.add_argument("--participants", type=int, default=5000, help="simulated participants (5000)")
    parser.add_argument("--per-round", type=int, default=1000, help="of whom so many are drawn for a round (1000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (5)")
    parser.add_argument("--kills", type=int, default=20, help="processes killed meanwhile (20)")
    parser.add_argument("--servers", type=int, default=2, help="processes of `eitr serve` (2)")
    parser.add_argument("--workers", type=int, default=2, help="processes of `eitr worker` (2)")
    parser.add_argument("--connections", type=int, default=64, help="participants that send at a time (64)")
    parser.add_argument("--store", choices=("folder", "s3"), default="folder", help="the update store (folder)")
    parser.add_argument("--training", choices=("private", "paper"), default="private", help="see EITR_TRAINING")
    parser.add_argument("--rule", default="fused", help="the aggregation rule (fused)")
    parser.add_argument("--seed", type=int, default=0, help="of everything that is drawn (0)")
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="folder for the results (bench-out)")
    return parser


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # whoever stops the benchmark stops its servers, too
    sys.exit(main())
