"""Run scenarios, several at a time, and write their numbers, tables and figures."""

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from eitr.errors import InputError
from eitr.io.atomic import write_together
from eitr.lab.scale import report
from eitr.lab.scale.plan import Plan
from eitr.lab.scale.scenarios import scenario
from eitr.lab.scale.simulation import simulate
from eitr.lab.scale.summary import summary

GROWTH: Final = "founders"
"""The scenario that is also run with fewer browsers."""
SIZES: Final = (10_000, 100_000, 1_000_000)

Tell = Callable[[str], None]


def run_scenarios(ids: Sequence[str], base: Plan, *, growth: bool = True, jobs: int = 1, tell: Tell) -> dict[str, Any]:
    """Return the numbers of scenarios, and of one of them with fewer browsers; `tell` hears what is done."""
    plans = {id: scenario(id).plan(base) for id in dict.fromkeys(ids)}
    if not plans:
        raise InputError("name at least one scenario")
    tasks: dict[tuple[str, int], Plan] = {(id, base.browsers): plan for id, plan in plans.items()}
    if growth:
        for size in (*SIZES, base.browsers):
            if size <= base.browsers:
                tasks.setdefault((GROWTH, size), scenario(GROWTH).plan(replace(base, browsers=size)))
    done: dict[tuple[str, int], dict[str, Any]] = {}
    for number, (key, found) in enumerate(_computed(tasks, jobs, tell), 1):
        done[key] = found
        tell(f"{number} of {len(tasks)} done: {key[0]} with {key[1]:,} browsers")
    sizes = sorted(size for id, size in tasks if id == GROWTH) if growth else []
    return {
        "scenarios": {id: done[id, base.browsers] for id in plans},
        "growth": [done[GROWTH, size] for size in sizes],
    }


def write_results(found: dict[str, Any], folder: Path) -> None:
    """Write scale.json, scale.md and the figures."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "scale.json": json.dumps(found, indent=1) + "\n",
        "scale.md": report.tables(found),
        **report.figures(found),
    }
    write_together({folder / name: text.encode() for name, text in texts.items()})


def _computed(
    tasks: dict[tuple[str, int], Plan], jobs: int, tell: Tell
) -> Iterable[tuple[tuple[str, int], dict[str, Any]]]:
    if jobs == 1:
        for key, plan in tasks.items():
            yield key, _one(plan, lambda share, key=key: tell(f"{key[0]}, {key[1]:,} browsers: {share:.0%}"))  # type: ignore[misc]
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        futures = {pool.submit(_one, plan): key for key, plan in tasks.items()}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _one(plan: Plan, progress: Callable[[float], None] | None = None) -> dict[str, Any]:
    """Simulate a plan; return its numbers and its curves of the last day."""
    outcome = simulate(plan, progress=progress)
    minutes = {
        name: outcome.last_day(name).reshape(report.POINTS_A_DAY, -1).mean(axis=1) / 60 for name in outcome.series
    }
    return summary(outcome) | {
        "curves": {
            "requests_per_second": [round(float(value), 2) for value in minutes["requests"]],
            "gbit": [round(float(value) * 8 / 1e9, 5) for value in minutes["origin_bytes"] + minutes["cdn_bytes"]],
        }
    }
