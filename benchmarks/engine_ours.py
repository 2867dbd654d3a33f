"""Our engine for processors on the work: the federated run of the lab, and the work itself, made of the same run.

    python -m benchmarks.engine_ours FOLDER COURSE ROUNDS THREADS

The engine is used as the lab uses it. It answers more questions a round than the others: besides the test pages, the
training loss on a sample and the success of two attacks.
"""

import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from benchmarks.engine_work import Course, Pages, Settings, Work, read_settings, stay_on_cores
from benchmarks.threads import limit_threads
from eitr.aggregation import make_rule
from eitr.attacks.interface import Twins
from eitr.datasets.interface import Examples
from eitr.datasets.registry import load
from eitr.lab.runs.federated import FederatedRun
from eitr.lab.runs.run import Run
from eitr.lab.simulation import sparse_engine
from eitr.lab.simulation.batches import Trainees
from eitr.lab.simulation.compute import HIDDEN
from eitr.lab.simulation.context import Context
from eitr.lab.simulation.population import population
from eitr.model.network import Network
from eitr.model.plan import TrainingPlan


def paper_settings(size: int, *, clients: int = 10, seed: int = 0) -> Settings:
    """Return the settings of the paper, on a number of pages."""
    run = FederatedRun(data="builtin", rule=make_rule("fedavg"), clients=clients, seed=seed)
    layers = _network(_examples(size, seed)).layers
    return Settings(size=size, clients=clients, alpha=run.alpha, seed=seed, layers=layers, **asdict(run.plan))


def make_work(settings: Settings) -> Work:
    """Return what the others are given: the pages of our population, and our first model."""
    examples = _examples(settings.size, settings.seed)
    people = population(examples, _run(settings, rounds=1))
    parts = [*people.pages, np.flatnonzero(examples.test)]
    *clients, test = (Pages(examples.rows.take(part).dense(), examples.labels[part]) for part in parts)
    return Work(settings, clients, test, Network(settings.layers).initial(settings.seed))


def run_ours(settings: Settings, rounds: int) -> Course:
    """Simulate rounds with our engine."""
    examples = _examples(settings.size, settings.seed)
    run = _run(settings, rounds)
    steps = sum(_steps(examples, run))
    course = Course()

    def watch(run: Run, done: int, rounds: int, accuracy: float) -> None:
        course.add(accuracy, steps)

    context = Context(device=torch.device("cpu"), on_progress=watch)
    list(sparse_engine.run_all([run], examples, Network(settings.layers), context))
    return course


def _steps(examples: Examples, run: FederatedRun) -> list[int]:
    """Return the steps of every client in a round, as the engine draws them."""
    people = population(examples, run)
    return (
        Trainees(people, torch.from_numpy(examples.labels), run, Twins(0, len(examples.rows)))
        .draw(1)
        .steps[: run.clients]
    )


def _run(settings: Settings, rounds: int) -> FederatedRun:
    plan = TrainingPlan(**{name: getattr(settings, name) for name in TrainingPlan.__dataclass_fields__})
    return FederatedRun(
        data="builtin",
        rule=make_rule("fedavg"),
        clients=settings.clients,
        alpha=settings.alpha,
        rounds=rounds,
        seed=settings.seed,
        plan=plan,
    )


def _examples(size: int, seed: int) -> Examples:
    return load("builtin", size=size, seed=seed)


def _network(examples: Examples) -> Network:
    return Network((examples.rows.width, *HIDDEN, len(examples.classes)))


def main(folder: str, course: str, rounds: str, threads: str) -> None:
    """Run in a process of its own."""
    stay_on_cores()
    limit_threads(int(threads))
    run_ours(read_settings(Path(folder)), int(rounds)).write(Path(course))


if __name__ == "__main__":
    main(*sys.argv[1:])
