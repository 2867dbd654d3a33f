"""The paper's study through a real server: people who consent, get tasks, label, train and send, all over HTTP.

    python -m benchmarks.study [--data covid] [--start FOLDER] [--training private,paper] [--rule fused]
                               [--malicious 0,0.1,0.3] [--rounds 40] [--browsers 3] [--defaults] [--to FILE]

`eitr study` makes the study, `eitr serve` runs it with SQLite. Every person reads the study's page, consents, enrols
with `eitr.client.Participant`, asks for their tasks, labels them by the model of human error of the lab
(`eitr.lab.simulation.people`), and takes part in every round. Afterwards the same study is simulated by the lab, given
the secrets of the server, and both are compared: accuracies round by round, reputations, and the parameters of the last
model. To be comparable, the server has no gate and no bounds on newcomers; with `--defaults` it has both, and there is
nothing to compare. Private steps take their noise from the seed, as no real client does.

With `--browsers`, the first people are Chromium windows with the extension, which label by clicks and draw their own
noise. Writes a table (Markdown) and all numbers (JSON), no text of pages.
"""

import argparse
import json
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.federation import DATA
from benchmarks.markdown import table
from benchmarks.study_pages import StudyPages, read_pages
from benchmarks.study_server import UNCHECKED, StudyServer, study_server, tasks_of
from eitr.client import OpenRound, Participant
from eitr.datasets.validation import ValidationSet
from eitr.errors import InputError
from eitr.lab.runs.federated import paper_rule
from eitr.lab.runs.private_training import PrivateTraining
from eitr.lab.runs.start import StartModel, find_start
from eitr.lab.runs.study import StudyRun
from eitr.lab.simulation.study import (
    Person,
    ServerSecrets,
    StudyModel,
    StudySimulation,
    UpperLayers,
    measures,
    own_plan,
    people_of,
    private_update,
    training_seed,
)
from eitr.model import Vector, predict
from eitr.model.round_plan import FULL_STEP
from eitr.model.update_encoding import PARAMETERS, encoded
from eitr.pages import Page
from eitr.server.domain.keys import Key
from eitr.server.domain.round_aggregation import secret_factors

PAPER, PRIVATE = "paper", "private"
THREADS = 8
AGREE = 1e-6
"""A simulation and a server agree if no number differs by more."""
NEAR = 0.005
"""With browsers among the people, whose noise nobody knows, if no accuracy does."""
RULE_SETTINGS = {"reputation": "rescale=paper"}


@dataclass(frozen=True, eq=False)
class Setting:
    """What all trials share."""

    pages: StudyPages
    start: StartModel
    data: str
    people: int
    rounds: int
    seed: int
    browsers: int
    defaults: bool
    pages_each: int = 20

    def run(self, rule: str, training: str, malicious: float) -> StudyRun:
        """Return the run of the lab that a trial corresponds to."""
        rate = 0.1 * min(1.0, self.people / FULL_STEP)
        return StudyRun(
            data=self.data,
            start=self.start.name,
            rule=paper_rule(rule),
            clients=self.people,
            pages_each=self.pages_each,
            rounds=self.rounds,
            malicious=malicious,
            training=PrivateTraining(learning_rate=rate) if training == PRIVATE else None,
            seed=self.seed,
        )


class Client:
    """One person with a Python client."""

    def __init__(self, server: StudyServer, run: StudyRun, person: Person, pages: StudyPages) -> None:
        self.person, self._run, self._pages = person, run, pages
        self.participant = Participant(server.address, allow_all_layers=run.training is None, timeout=300)

    def join(self, code: str, first_page: int) -> None:
        """Enrol, ask for the tasks, and label them all; labels stay here."""
        self.participant.enrol(code)
        standing = self.participant.study()
        found = tasks_of(self.participant, first_page)
        if standing is None or [place for _, place in found] != self.person.pages:
            raise InputError(f"person {self.person.number} was given other tasks than the lab draws")
        for task, _ in found:
            done = self.participant.end_task(task.id, "labelled")
        if done.done != len(found):
            raise InputError(f"person {self.person.number} labelled {len(found)} pages, and {done.done} count")

    def send(self, call: OpenRound, number: int, base: Vector, upper: UpperLayers | None) -> None:
        """Train and send. A private step needs no other words than those of the study, so one download is enough."""
        person, run = self.person, self._run
        if upper is not None:
            trained = base[-upper.network.size :]
            update = private_update(run, person, number, upper, trained)
            self.participant.send_bytes(call.id, encoded(PARAMETERS, update, trained))
            return
        theirs = replace(call, plan=own_plan(run, person))
        pages: list[Page] = [self._pages.study[place] for place in person.pages]
        vector = self.participant.trained(
            theirs, pages, person.labels.tolist(), seed=training_seed(run, person, number)
        )
        self.participant.send(call, vector)


def through_http(setting: Setting, run: StudyRun, rule: str, folder: Path) -> dict[str, Any]:
    """Run a study on a server of its own; return what was measured, and what a simulation of it needs."""
    training = PAPER if run.training is None else PRIVATE
    wanted = {"EITR_TRAINING": training, "EITR_RULE": rule, **({} if setting.defaults else UNCHECKED)}
    if rule in RULE_SETTINGS:
        wanted["EITR_RULE_SETTINGS"] = RULE_SETTINGS[rule]
    if setting.start.argument != "shipped":
        wanted["EITR_FIRST_MODEL"] = setting.start.argument
    people = people_of(run, setting.pages.study_labels)
    with ExitStack() as stack:
        server = stack.enter_context(study_server(folder, setting.pages, run, wanted))
        first_page = min(row["id"] for row in server.table("SELECT id FROM study_pages"))
        clients = [Client(server, run, person, setting.pages) for person in people]
        for client in clients:
            stack.callback(client.participant.close)
        for code in server.codes:  # one after the other: who begins first is person 0
            server.begin(code)
        windows = []
        if setting.browsers:
            from benchmarks.study_browsers import chromium_windows

            windows = stack.enter_context(chromium_windows(server, people[: setting.browsers], first_page))
        with ThreadPoolExecutor(THREADS) as pool:
            codes = server.codes[len(windows) :]
            joined = clients[len(windows) :]
            list(pool.map(lambda pair: pair[0].join(pair[1], first_page), zip(joined, codes, strict=True)))
            measured, vector = federated(setting, run, joined, windows, pool)
        ids = [client.participant.id or "" for client in joined]
        reputations = _reputations(server, ids)
        outcomes = [row["status"] for row in server.table("SELECT state AS status FROM rounds ORDER BY id")]
        key = Key.of(server.folder)
        monitor = server.table("SELECT state, count(*) AS n FROM study_tasks GROUP BY state")
    return {
        "measured": measured,
        "vector": vector,
        "ids": ids,
        "projection": int.from_bytes(key.hash("seed", "projection")),
        "factors": np.array([secret_factors(ids, key, number) for number in range(1, run.rounds + 1)]),
        "reputations": reputations,
        "outcomes": outcomes[: run.rounds],
        "tasks": {row["state"]: row["n"] for row in monitor},
    }


def federated(
    setting: Setting, run: StudyRun, clients: list[Client], windows: list[Any], pool: ThreadPoolExecutor
) -> tuple[list[dict[str, float]], NDArray[np.float32]]:
    """Let the rounds happen; return what the model of each version is like, from the start on, and the last one."""
    watcher = clients[0].participant
    truth = setting.start.classifier.vocabulary.rows(setting.pages.truth)
    upper = None
    if run.training is not None:
        upper = UpperLayers.of(_model(setting, run), run.training.layers, _study_rows(setting))
    found, last = [], 0
    for number in range(1, run.rounds + 2):
        call = watcher.wait_for_round(after=last, seconds=600, every=0.05)
        last = call.id
        network, vector = watcher.model(call.base).model
        found.append(measures(predict(network, vector, truth), setting.pages.truth_labels))
        if number <= run.rounds:
            for window in windows:
                window.learn()
            list(pool.map(lambda client: client.send(call, number, vector, upper), clients))  # noqa: B023 - used at once
    return found, vector


def simulated(setting: Setting, run: StudyRun, real: dict[str, Any]) -> dict[str, Any]:
    """Simulate the same study with the secrets of the server."""
    vocabulary = setting.start.classifier.vocabulary
    pages = (_study_rows(setting), setting.pages.study_labels)
    truth = (vocabulary.rows(setting.pages.truth), setting.pages.truth_labels)
    secrets = ServerSecrets(real["ids"], real["projection"], real["factors"])
    simulation = StudySimulation(run, _model(setting, run), pages, truth, ValidationSet(), secrets)
    found, reputation = [measures(simulation.chances(), truth[1])], None
    with ThreadPoolExecutor(THREADS) as threads:
        for number in range(1, run.rounds + 1):
            reputation = simulation.next_round(number, threads).reputation
            found.append(measures(simulation.chances(), truth[1]))
    return {"measured": found, "vector": simulation.model.vector, "reputations": reputation}


def trial(setting: Setting, rule: str, training: str, malicious: float) -> dict[str, Any]:
    """Run a study through HTTP, simulate it, and compare."""
    run = setting.run(rule, training, malicious)
    folder = Path(tempfile.mkdtemp(prefix="eitr-study-"))
    began = time.monotonic()
    try:
        real = through_http(setting, run, rule, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    seconds = time.monotonic() - began
    found: dict[str, Any] = {
        "rule": rule,
        "training": training,
        "malicious": malicious,
        "people": run.clients,
        "browsers": setting.browsers,
        "rounds": run.rounds,
        "seed": run.seed,
        "start": run.start,
        "defaults": setting.defaults,
        "seconds": round(seconds, 1),
        "http": real["measured"],
        "outcomes": {name: real["outcomes"].count(name) for name in sorted(set(real["outcomes"]))},
        "tasks": real["tasks"],
    }
    if setting.defaults:
        return found
    if setting.browsers:
        # Their ids are not needed: their updates cannot be repeated.
        names = [f"{place:032x}" for place in range(setting.browsers)]
        real["ids"] = [*names, *real["ids"]]
        real["factors"] = np.hstack([np.ones((run.rounds, setting.browsers)), real["factors"]])
        real["reputations"] = None
    made = simulated(setting, run, real)
    found["simulation"] = made["measured"]
    found["largest_difference"] = _differences(real, made)
    return found


def _differences(real: dict[str, Any], made: dict[str, Any]) -> dict[str, float | None]:
    """Return by how much measures, parameters and reputations differ at most."""
    pairs = list(zip(real["measured"], made["measured"], strict=True))
    reputations = None
    if real["reputations"] is not None and made["reputations"] is not None:
        reputations = float(np.abs(np.asarray(real["reputations"]) - made["reputations"]).max())
    return {
        "accuracy": max(abs(one["accuracy"] - other["accuracy"]) for one, other in pairs),
        "measures": max(abs(one[name] - other[name]) for one, other in pairs for name in one),
        "parameters": float(np.abs(real["vector"] - made["vector"]).max()),
        "reputation": reputations,
    }


def _reputations(server: StudyServer, ids: list[str]) -> list[float] | None:
    """Return the reputation of each participant after the last round; None if the rule has none."""
    rows = server.table("SELECT participant, reputation FROM observations ORDER BY round")
    last = {row["participant"]: row["reputation"] for row in rows}
    found = [last.get(id) for id in ids]
    return None if any(one is None for one in found) else [float(one) for one in found if one is not None]


def _model(setting: Setting, run: StudyRun) -> StudyModel:
    network, vector = setting.start.classifier.model
    pool = None if run.training is None else setting.start.pool
    return StudyModel(network, vector, setting.start.classifier.vocabulary, pool)


def _study_rows(setting: Setting) -> Any:
    return setting.start.classifier.vocabulary.rows(setting.pages.study)


def report(results: list[dict[str, Any]]) -> str:
    """Return the table of all trials."""
    head = ["rule, training", "malicious", "people", "rounds", "published", "start", "simulation", "HTTP", "balanced",
            "AUC", "largest difference: accuracy", "parameters", "reputation", "agree", "s"]  # fmt: skip
    return table(head, [_row(one) for one in results])


def _row(one: dict[str, Any]) -> list[str]:
    last, differs = one["http"][-1], one.get("largest_difference")
    windows = f", {one['browsers']} of them Chromium" if one["browsers"] else ""
    return [
        f"{one['rule']}, {one['training']}" + (", server's defaults" if one["defaults"] else ""),
        f"{100 * one['malicious']:.0f} %",
        f"{one['people']}{windows}",
        str(one["rounds"]),
        str(one["outcomes"].get("published", 0)),
        f"{100 * one['http'][0]['accuracy']:.1f} %",
        f"{100 * one['simulation'][-1]['accuracy']:.1f} %" if differs else "–",
        f"{100 * last['accuracy']:.1f} %",
        f"{100 * last['balanced_accuracy']:.1f} %",
        f"{last['auc']:.3f}",
        *(["–"] * 4 if differs is None else _compared(one, differs)),
        f"{one['seconds']:.0f}",
    ]


def _compared(one: dict[str, Any], differs: dict[str, float | None]) -> list[str]:
    numbers = [value for name, value in differs.items() if value is not None]
    agree = (differs["accuracy"] or 0) <= NEAR if one["browsers"] else max(numbers) <= AGREE
    return [
        *(f"{value:.1e}" if value is not None else "–" for value in (differs["accuracy"], differs["parameters"])),
        "–" if differs["reputation"] is None else f"{differs['reputation']:.1e}",
        "yes" if agree else "no",
    ]


def main() -> None:
    """Run the trials one after the other; write what is there after each of them."""
    options = _options()
    start = find_start(options.start)
    if start is None:
        raise SystemExit("a study starts from a trained model: give --start shipped, or a folder")
    pages = read_pages(options.data, options.data_dir)
    setting = Setting(
        pages,
        start,
        options.data,
        options.people,
        options.rounds,
        options.seed,
        options.browsers,
        options.defaults,
        options.pages_each,
    )
    results: list[dict[str, Any]] = []
    if options.to.with_suffix(".json").is_file():
        results = json.loads(options.to.with_suffix(".json").read_text("utf-8"))["trials"]
    for training in options.training.split(","):
        for rule in options.rule.split(","):
            for share in options.malicious.split(","):
                results.append(trial(setting, rule, training, float(share)))
                options.to.parent.mkdir(parents=True, exist_ok=True)
                options.to.write_text(report(results) + "\n", "utf-8")
                options.to.with_suffix(".json").write_text(json.dumps({"trials": results}, indent=1) + "\n", "utf-8")
                print(report(results[-1:]), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="covid", help="a data set of the lab, or builtin (generated pages)")
    parser.add_argument("--data-dir", type=Path, default=DATA)
    parser.add_argument("--start", default="shipped", help="shipped, or a folder with a model, as for the lab")
    parser.add_argument("--training", default=PRIVATE, help="private, paper, or both with a comma")
    parser.add_argument("--rule", default="fused", help="rules, with commas")
    parser.add_argument("--malicious", default="0,0.1,0.3", help="shares of malicious people, with commas")
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--pages-each", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--browsers", type=int, default=0, help="so many of the people are Chromium windows")
    parser.add_argument("--defaults", action="store_true", help="leave the server its gate and its bounds")
    parser.add_argument("--to", type=Path, default=Path("bench-out", "study.md"), help="results are added to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
