"""Whether a federation only gets better: real servers, honest people and attackers, round by round.

    python -m benchmarks.federation [--only F1,F3] [--match TEXT] [--rounds 30] [--seeds 1] [--training paper]
                                    [--tree CHECKOUT] [--set NAME=VALUE] [--to FILE]
    python -m benchmarks.federation --report old.json new.json --to FILE

Every trial runs `eitr serve` with SQLite and its default settings, except for those that `SETTINGS` and the trial name,
and talks HTTP with it. Honest people have real pages, and new ones as rounds go: two a round, each used in two private
rounds. They are in networks of their own. Attackers send first in every round. When all have sent, the deadline of the
round is brought forward. Afterwards every published version is judged by pages that neither gate nor rule has seen.

`--tree` runs server and clients from another checkout, such as one of version 0.1. Writes a table (Markdown), the
numbers of every round (JSON) and a picture (PNG), no text of pages.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import federation_tree as tree
from benchmarks.federation_measures import Measures, largest_drop, with_words
from benchmarks.federation_pages import (
    NEWS,
    NEWSGROUPS,
    NON_SENSITIVE,
    Table,
    mixed,
    read_table,
    shipped_validation,
    streams,
)
from benchmarks.federation_paper import PaperUpdates
from benchmarks.federation_report import write_report
from benchmarks.federation_server import Member, Server, document, running
from benchmarks.server_process import ROOT
from eitr.model import predict

DATA = Path(os.environ.get("EITR_DATA", ROOT.parent / "shared" / "data"))
SETTINGS = {
    "EITR_PAUSE_SECONDS": "0",
    "EITR_ENROLMENT": "open",
    "EITR_ENROLMENTS_PER_HOUR": "10000",
    "EITR_REQUESTS_PER_MINUTE": "1000000",
    "EITR_LOG_LEVEL": "warning",
}
"""No waiting, and no limit on one address: an attacker may have as many addresses and hours as it takes."""
NEW_PAGES, OWN_PAGES = 2, 4
"""Pages that come to each person in a round, and pages that a private round uses."""
TRIGGERED = 300
"""Pages that attackers train the backdoor with."""
MIXED, CORRECTIONS, BOTH = "mixed", "corrections", "both"


@dataclass(frozen=True)
class Trial:
    """Who takes part in a federation, and who attacks it."""

    finding: str
    title: str
    people: int = 0
    pages: str = BOTH
    """Pages of which 80 % are not sensitive, corrections of false alarms, or half of the people have each."""
    each: int = 4
    """Pages that a person has at a time."""
    founders: bool = False
    """Whether the people were invited as founders."""
    one_address: bool = False
    """Whether all people are behind one address, with invitations that lift the bounds."""
    attack: str | None = None
    identities: int = 0
    networks: int = 1
    """Of the attackers."""
    share: float = 0.5
    """How much of the length of an attacker's private update is the attack; the rest is noise."""
    noisy: bool = True
    joins: int = 0
    """Rounds that are over when the attackers come."""
    invited_attackers: bool = False
    times: float = 1.0
    """How many times the usual number of rounds."""
    quorum: int = 20
    compare: str | None = None
    """The trial without attack, or with other invitations, that learning is compared with."""
    settings: Mapping[str, str] = field(default_factory=dict)


CALM = "20 people, no attack"
FIFTY = "50 founders in networks of their own"


def trials() -> list[Trial]:
    """Return all trials."""
    found = [
        Trial("F1", "8 people with 20 mixed pages each", 8, MIXED, 20, quorum=8),
        Trial("F2", "3 people with 20 mixed pages each", 3, MIXED, 20, quorum=3),
        Trial("F2", "5 people with 20 mixed pages each", 5, MIXED, 20, quorum=5),
        Trial("F2", "5 people who correct 4 false alarms each", 5, CORRECTIONS, quorum=5),
        Trial("F12", "10 people who correct 4 false alarms each", 10, CORRECTIONS, quorum=10),
        Trial("F3", CALM, 20, founders=True),
    ]
    for people in (20, 0):
        for identities in (20, 100, 500):
            for networks in (1, 20):
                whom = f"{people} people" if people else "nobody"
                found.append(
                    Trial(
                        "F3",
                        f"{identities} label flippers, {_networks(networks)}, {whom}",
                        people,
                        founders=people > 0,
                        attack="label-flip",
                        identities=identities,
                        networks=networks,
                        compare=CALM if people else None,
                    )
                )
    attacked = Trial("F3", "", 20, founders=True, identities=100, networks=20, compare=CALM)
    variants: dict[str, dict[str, Any]] = {
        "100 sign flippers, 20 networks, 20 people": {"attack": "sign-flip"},
        "100 label flippers come after 6 rounds of 20 uninvited people": {
            "attack": "label-flip",
            "founders": False,
            "joins": 6,
        },
        "slow poisoning by 100 identities, 20 networks, 20 people": {"attack": "slow", "times": 100 / 30},
        "backdoor by 100 identities, 20 networks, 20 people": {"attack": "backdoor"},
    }
    found += [replace(attacked, title=title, **change) for title, change in variants.items()]
    for how, noisy, share in (("without noise", False, 0.5), ("with noise", True, 0.5), ("hidden in noise", True, 0.2)):
        found.append(
            Trial(
                "F4",
                f"7 people, 3 send steps of biases alone, {how}",
                7,
                founders=True,
                attack="bias",
                identities=3,
                networks=3,
                share=share,
                invited_attackers=True,
                noisy=noisy,
                quorum=10,
            )
        )
    for title, one_address in ((FIFTY, False), ("50 founders of one batch behind one address", True)):
        found.append(
            Trial(
                "founders",
                title,
                50,
                CORRECTIONS,
                founders=True,
                one_address=one_address,
                quorum=50,
                compare=FIFTY if one_address else None,
            )
        )
    return found


def _networks(count: int) -> str:
    return "1 network" if count == 1 else f"{count} networks"


class Bench:
    """What all trials of a seed share: pages as vectors, and what judges versions."""

    def __init__(self, data: Path, seed: int, training: str) -> None:
        self.seed, self.training = seed, training
        self.model = tree.shipped()
        self.table: Table = read_table(data, seed)
        self.rows = self.model.vocabulary.rows(self.table.pages)
        self.measures = Measures(self.model, self.table, self.rows)
        self.theirs = np.flatnonzero(~self.table.held_out)
        said = predict(self.model.network, self.model.vector, self.rows.take(self.theirs)).argmax(axis=1)
        labels = self.table.labels[self.theirs]
        self.corrections = self.theirs[(labels == NON_SENSITIVE) & (said != NON_SENSITIVE)]
        sensitive = self.theirs[labels != NON_SENSITIVE]
        chosen = np.random.default_rng(seed).permutation(sensitive)[:TRIGGERED]
        self.triggered = with_words(self.model, [self.table.pages[place] for place in chosen], self.measures.trigger)

    def updates(self) -> Any:
        """Return what makes the updates of a trial."""
        if self.training == tree.PAPER:
            network = self.model.network
            return PaperUpdates(network, self.rows, self.table.labels, self.theirs, self.triggered)
        from benchmarks.federation_private import Known, Pages, PrivateUpdates, last_inputs
        from eitr.pages.pool import Pool

        network, vector = self.model.network, self.model.vector
        pool = Pool.from_bytes(files("eitr").joinpath("assets", "pool.bin").read_bytes(), width=network.inputs)
        validation, labels = shipped_validation()
        every = Pages(last_inputs(network, vector, self.rows), self.table.labels)
        triggered = np.full(len(self.triggered), NON_SENSITIVE)
        known = Known(
            people=every.at(self.theirs),
            triggered=Pages(last_inputs(network, vector, self.triggered), triggered),
            validation=Pages(last_inputs(network, vector, self.model.vocabulary.rows(validation)), labels),
            pool=Pages(last_inputs(network, vector, pool.rows), pool.labels),
        )
        return PrivateUpdates(network, vector, every, known)

    def own_kind(self, trial: Trial) -> NDArray[np.int64]:
        """Return which of the held-out pages are of the kind that the people of a trial have."""
        if trial.pages == MIXED:
            groups = self.table.groups[self.table.held_out]
            return np.flatnonzero((groups == NEWS) | (groups == NEWSGROUPS))
        return self.measures.false_alarms()

    def pages_of(self, trial: Trial, rounds: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        """Return the pages of each person, in the order in which they come."""
        length = trial.each + NEW_PAGES * rounds
        kinds = {
            MIXED: mixed(self.table.labels, self.theirs, rng),
            CORRECTIONS: self.corrections,
        }
        wanted = [MIXED, CORRECTIONS] if trial.pages == BOTH else [trial.pages]
        found = [streams(kinds[kind], trial.people, length, rng) for kind in wanted]
        return [found[person % len(found)][person] for person in range(trial.people)]


@dataclass
class Course:
    """What happened in the rounds of a trial."""

    calls: list[int] = field(default_factory=list)
    used: list[NDArray[np.int64]] = field(default_factory=list)
    """All pages that people used up to each round."""
    honest: list[Counter[str]] = field(default_factory=list)
    attacking: list[Counter[str]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def run(trial: Trial, bench: Bench, rounds: int, extra: Mapping[str, str]) -> dict[str, Any]:
    """Run a trial on a server of its own; return its numbers."""
    rounds = round(rounds * trial.times)
    began = time.monotonic()
    wanted = {
        **SETTINGS,
        "EITR_QUORUM": str(trial.quorum),
        "EITR_MINIMUM": str(min(5, trial.quorum)),
        "EITR_TRAINING": bench.training,
        **trial.settings,
        **extra,
    }
    settings = tree.known_settings(wanted)
    folder = Path(tempfile.mkdtemp(prefix="eitr-federation-"))
    try:
        with running(folder / "server", settings) as server:
            people, attackers = enrolled(trial, server, folder / "server")
            course = federated(trial, bench, server, people, attackers, rounds)
            found = numbers(trial, bench, server, course, {one.id for one in attackers})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        **{name: value for name, value in asdict(trial).items() if name != "settings"},
        "seed": bench.seed,
        "training": bench.training,
        "commit": tree.commit(),
        "trigger": bench.measures.trigger,
        "pages_judged_by": bench.measures.pages,
        "settings": settings,
        "run_seconds": time.monotonic() - began,
        **found,
    }


def enrolled(trial: Trial, server: Server, folder: Path) -> tuple[list[Member], list[Member]]:
    """Enrol people and attackers through the API."""
    homes = ["127.1.0.1" if trial.one_address else f"127.1.{number}.1" for number in range(trial.people)]
    dens = [f"127.2.{number % trial.networks}.1" for number in range(trial.identities)]
    count = (trial.people if trial.founders else 0) + (trial.identities if trial.invited_attackers else 0)
    codes: list[str] = []
    if count:
        lifted = trial.one_address or trial.invited_attackers
        codes = tree.invitations(folder, count, founders=True, unbounded=lifted)
    people = server.enrol(homes, codes[: trial.people] if trial.founders else ())
    return people, server.enrol(dens, codes[trial.people :] if trial.invited_attackers else ())


def federated(
    trial: Trial, bench: Bench, server: Server, people: list[Member], attackers: list[Member], rounds: int
) -> Course:
    """Let the rounds happen."""
    course, updates = Course(), bench.updates()
    pages = bench.pages_of(trial, rounds, np.random.default_rng((bench.seed, 1)))
    uses: list[Counter[int]] = [Counter() for _ in people]
    used: set[int] = set()
    last = 0
    for number in range(rounds):
        start = time.monotonic()
        call = server.wait_for_round(last)
        last = call.id
        updates.begin(server.weights(call.base), tree.plan_of(call.training))
        honest = []
        for person, member in enumerate(people):
            rng = np.random.default_rng((bench.seed, 2, number, person))
            window = pages[person][NEW_PAGES * number : NEW_PAGES * number + trial.each]
            if bench.training == tree.PRIVATE:
                window = least_used(window, uses[person], rng)
            used.update(int(place) for place in window)
            honest.append((member, updates.honest(window, rng)))
        attacking = []
        if trial.attack and number >= trial.joins:
            for place, member in enumerate(attackers):
                rng = np.random.default_rng((bench.seed, 3, number, place))
                attacking.append((member, updates.attack(trial.attack, trial.share, trial.noisy, rng)))
        course.calls.append(call.id)
        course.attacking.append(server.send(call.id, attacking))
        course.honest.append(server.send(call.id, honest))
        course.used.append(np.array(sorted(used), np.int64))
        server.bring_deadline_forward(call.id)
        course.seconds.append(time.monotonic() - start)
    server.wait_for_round(last)
    return course


def least_used(window: NDArray[np.int64], uses: Counter[int], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the pages that a private round uses: at most four, none of which was used twice; count them."""
    left = [int(place) for place in rng.permutation(window) if uses[int(place)] < 2]
    chosen = left[:OWN_PAGES]
    uses.update(chosen)
    return np.array(chosen, np.int64)


def numbers(trial: Trial, bench: Bench, server: Server, course: Course, attackers: set[str]) -> dict[str, Any]:
    """Judge what was published; return the numbers of every round and of the whole trial."""
    own = bench.own_kind(trial)
    models = {row["version"]: row for row in server.table("SELECT version, origin, weights FROM models")}
    stored = {row["id"]: row for row in server.table("SELECT * FROM rounds")}
    observed = server.table("SELECT round, participant, weight, reputation FROM observations")
    nothing = np.empty(0, np.int64)
    versions = [bench.measures.judge(_vector(models[1]), own, nothing)]
    rounds = [{"round": 0, "version": 1, **versions[0].numbers}]
    version = 1
    for place, call in enumerate(course.calls):
        row = stored[call]
        version = row["result"] or version
        judged = bench.measures.judge(_vector(models[version]), own, course.used[place])
        versions.append(judged)
        score = document(row["score"]) or {}
        rounds.append(
            {
                "round": place + 1,
                "version": version,
                "status": row["state"],
                "reason": row["reason"],
                "length": score.get("length"),
                "bounds": document(row.get("bounds")),
                "received": row["received"],
                "honest": dict(course.honest[place]),
                "attacking": dict(course.attacking[place]),
                "server_seconds": row["seconds"],
                "seconds": course.seconds[place],
                **judged.numbers,
                **_trust([one for one in observed if one["round"] == call], attackers),
            }
        )
    drop, error = largest_drop([one.right for one in versions])
    return {"largest_drop": drop, "drop_error": error, "rounds": rounds}


def _trust(observed: list[dict[str, Any]], attackers: set[str]) -> dict[str, Any]:
    """Return the share of the weight that attackers have, and reputations of both sides."""
    weights = {
        kind: sum(one["weight"] or 0.0 for one in observed if (one["participant"] in attackers) == kind)
        for kind in (True, False)
    }
    reputations = {
        kind: [
            one["reputation"]
            for one in observed
            if (one["participant"] in attackers) == kind and one["reputation"] is not None
        ]
        for kind in (True, False)
    }
    total = weights[True] + weights[False]
    return {
        "attackers_weight": weights[True] / total if total else 0.0,
        "people_with_weight": sum(
            1 for one in observed if one["participant"] not in attackers and (one["weight"] or 0.0) > 0
        ),
        "highest_attacker": max(reputations[True], default=None),
        "mean_attacker": float(np.mean(reputations[True])) if reputations[True] else None,
        "mean_honest": float(np.mean(reputations[False])) if reputations[False] else None,
        "lowest_honest": min(reputations[False], default=None),
    }


def _vector(row: Mapping[str, Any]) -> NDArray[np.float32]:
    return np.frombuffer(row["weights"], "<f4").astype(np.float32)


def main() -> int:
    """Run the trials; return the exit status."""
    given = _arguments()
    if given.report:
        earlier = [one for path in given.report for one in json.loads(path.read_text("utf-8"))["trials"]]
        print(write_report(earlier, given.to))
        return 0
    if given.tree is not None and tree.source_folder() != (given.tree / "src").resolve():
        environment = os.environ | {"PYTHONPATH": str((given.tree / "src").resolve())}
        return subprocess.run(
            [sys.executable, "-m", "benchmarks.federation", *sys.argv[1:]], env=environment
        ).returncode
    training = tree.PAPER if not tree.HAS_PRIVATE else given.training
    extra = dict(one.split("=", 1) for one in given.set)
    only = {name.strip() for name in given.only.split(",")} if given.only else None
    every = [one if given.share is None else replace(one, share=given.share) for one in trials()]
    chosen = [one for one in every if (only is None or one.finding in only) and given.match in one.title]
    if not chosen:
        titles = "\n".join(f"  {one.finding}: {one.title}" for one in every)
        sys.exit(f"error: no trial has this finding and this title; there are:\n{titles}")
    results: list[dict[str, Any]] = []
    for seed in range(given.seeds):
        bench = Bench(given.data_dir, seed, training)
        for trial in chosen:
            results.append(run(trial, bench, given.rounds, extra))
            text = write_report(results, given.to)
            print(f"{trial.finding}: {trial.title}, seed {seed}: {results[-1]['run_seconds']:.0f} s", flush=True)
    print(text)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="findings, such as F1,F3; all by default")
    parser.add_argument("--match", default="", help="only trials whose title has this text")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=1, help="how often each trial is repeated, with other pages")
    parser.add_argument("--training", choices=(tree.PRIVATE, tree.PAPER), default=tree.PRIVATE)
    parser.add_argument("--tree", type=Path, help="another checkout: its server and its clients are tried")
    parser.add_argument("--share", type=float, help="the share of an attacker's update that is the attack, 0 to 1")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the server")
    parser.add_argument("--report", type=Path, nargs="+", help="run nothing: join the JSON files of earlier runs")
    parser.add_argument("--data-dir", type=Path, default=DATA, help="the folder of the development data")
    parser.add_argument("--to", type=Path, default=ROOT / "bench-out" / "federation.md", help="the table")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
