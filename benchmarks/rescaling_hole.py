"""The hole in the paper's rescaling: what attackers gain when they shift every parameter.

    python -m benchmarks.rescaling_hole [--parameters 2000] [--seeds 5] [--out bench-out]

Ten clients; the honest ones send base + 0.05 * normal noise, the attackers the same plus a constant shift. One round of
the reputation rule with `rescale=paper` and with `rescale=median`, and the plain mean beside them. Reported are the
attackers' weight together and the error: the mean over all parameters of the distance to the honest clients' mean.

The paper's Algorithm 1 shrinks the range of a parameter by taking from the largest value what it gives to the smallest.
That keeps the column's mean and drags *honest* values towards the attackers: once a shift stretches the range beyond 2,
honest and attacking values end mixed around the plain mean, nobody stands out, and the moved values are averaged.
Clipping around the median leaves the honest values where they are.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from benchmarks.markdown import significant, table
from eitr.aggregation import Round, make_rule

CLIENTS = 10
ATTACKERS = (1, 2, 3, 4)
SHIFTS = (0.02, 0.3, 1.0, 3.0, 50.0, 10_000.0)
"""The first lies within the honest spread of 0.05: rightly nobody sees it, and it does little harm."""
RESCALINGS = ("paper", "median")
_BASE_SPREAD, _HONEST_SPREAD = 0.1, 0.05


@dataclass(frozen=True)
class Cell:
    """What one way of rescaling made of one attack; lists hold one number a seed."""

    rescale: str
    attackers: int
    shift: float
    weights: list[float]
    """The attackers' weights together. Their share of the clients is what the plain mean gives them."""
    errors: list[float]
    """Mean distance of the model to the honest clients' mean."""
    rejected: list[float]
    """Share of the attackers' values that were rejected."""
    mean_errors: list[float]
    """The error of the plain mean."""


def measure_cell(rescale: str, attackers: int, shift: float, *, parameters: int, seeds: int) -> Cell:
    """Attack once for each seed."""
    rule = make_rule("reputation", rescale=rescale)
    cell = Cell(rescale, attackers, shift, [], [], [], [])
    for seed in range(seeds):
        updates = _attacked_updates(attackers, shift, parameters, seed)
        _, result = rule.update(rule.init(), Round(None, updates, [f"client{number}" for number in range(CLIENTS)]))
        assert result.weights is not None
        assert result.negative is not None
        cell.weights.append(float(result.weights[:attackers].sum()))
        cell.rejected.append(float(result.negative[:attackers].mean()) / parameters)
        honest = updates[attackers:].mean(axis=0, dtype=np.float64)
        cell.errors.append(float(np.abs(result.model - honest).mean()))
        cell.mean_errors.append(float(np.abs(updates.mean(axis=0, dtype=np.float64) - honest).mean()))
    return cell


def measure_all(*, parameters: int, seeds: int) -> Iterable[Cell]:
    """Yield all cells, by attackers, shift and rescaling."""
    for attackers in ATTACKERS:
        for shift in SHIFTS:
            for rescale in RESCALINGS:
                yield measure_cell(rescale, attackers, shift, parameters=parameters, seeds=seeds)


def as_markdown(cells: Sequence[Cell]) -> str:
    """Return one table: a row for each attack, the two rescalings side by side."""
    found = {(cell.attackers, cell.shift, cell.rescale): cell for cell in cells}
    head = ("attackers", "shift", "paper: weight", "error", "median: weight", "error", "plain mean: error")
    rows = []
    for attackers, shift in dict.fromkeys((cell.attackers, cell.shift) for cell in cells):
        paper, median = (found[attackers, shift, rescale] for rescale in RESCALINGS)
        rows.append(
            (
                f"{attackers / CLIENTS:.0%}",
                f"{shift:,g}",
                *_weight_and_error(paper),
                *_weight_and_error(median),
                _distance(mean(paper.mean_errors)),
            )
        )
    note = (
        f"{CLIENTS} clients, honest spread {_HONEST_SPREAD}. Weight: of all attackers together. Error: mean distance "
        f"to the honest clients' mean. Means over {len(cells[0].weights)} seeds, the worst seed in brackets."
    )
    return f"{note}\n\n{table(head, rows)}\n"


def _weight_and_error(cell: Cell) -> tuple[str, str]:
    weight = f"{mean(cell.weights):.3f} ({max(cell.weights):.3f})"
    return weight, f"{_distance(mean(cell.errors))} ({_distance(max(cell.errors))})"


def _distance(number: float) -> str:
    """Return four decimals below 1: the honest spread is 0.05."""
    return f"{number:.4f}" if number < 1 else significant(number)


def _attacked_updates(attackers: int, shift: float, parameters: int, seed: int) -> NDArray[np.float32]:
    """Return the updates; the first rows are the attackers'."""
    rng = np.random.default_rng(seed)
    base = _BASE_SPREAD * rng.standard_normal(parameters)
    updates = base + _HONEST_SPREAD * rng.standard_normal((CLIENTS, parameters))
    updates[:attackers] += shift
    return updates.astype(np.float32)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; write it and the numbers behind it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rescaling_hole", description="Attack both ways of rescaling with constant shifts."
    )
    parser.add_argument("--parameters", type=int, default=2000, help="parameters of a client (2000)")
    parser.add_argument("--seeds", type=int, default=5, help="rounds, each with other noise (5)")
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="folder for the results (bench-out)")
    options = parser.parse_args(arguments)
    cells = list(measure_all(parameters=options.parameters, seeds=options.seeds))
    markdown = as_markdown(cells)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "rescaling_hole.md").write_text(markdown, encoding="utf-8")
    numbers = {"parameters": options.parameters, "cells": [asdict(cell) for cell in cells]}
    (options.out / "rescaling_hole.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    print(markdown, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
