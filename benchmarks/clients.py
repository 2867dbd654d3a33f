"""What the rules cost as the number of clients grows, from 10 to 10,000.

    python -m benchmarks.clients [--clients 10 100 1000 10000] [--values 20000000] [--quick]

Times `reputation` and `fused` as a whole, `torch.median` and, where installed, ByzFL's median, one after the other
in each repeat. The more clients, the fewer parameters a table has: the cost of a parameter does not depend on how many
there are. What a round costs besides (comparing clients) is measured on a small table. From both follow the seconds for
the 264,678 parameters of the model. Slope: the exponent of the number of clients, over the last two numbers; 1 is
linear. Writes clients.md, clients.json, clients.png and clients.svg.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.threads import limit_threads, usable_threads

MODEL = 264_678
"""Parameters of the page classifier."""
LEAST = 8192
"""Parameters of the large table at least: with fewer, what a round costs besides hides what they cost."""
FEWEST = 64
"""Parameters of the small table that tells what a round costs whatever the number of parameters."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clients", description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, nargs="+", help="numbers of clients (10 30 100 300 1000 3000 10000)")
    parser.add_argument("--values", type=int, default=20_000_000, help="values in a table of updates (20000000)")
    parser.add_argument("--repeats", type=int, default=3, help="times each contender is measured (3)")
    parser.add_argument("--threads", type=int, default=usable_threads(), help="for everybody (all processors)")
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="folder for the results (bench-out)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run? The numbers mean nothing")
    options = parser.parse_args(arguments)
    numbers = sorted(set(options.clients or ((10, 20) if options.quick else (10, 30, 100, 300, 1000, 3000, 10_000))))
    if numbers[0] < 3 or len(numbers) < 2:
        parser.error("--clients needs two or more different numbers of at least 3")
    limit_threads(options.threads)
    seconds = measure(numbers, 20_000 if options.quick else options.values, 1 if options.quick else options.repeats)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "clients.json").write_text(json.dumps({"clients": numbers, "seconds": seconds}, indent=1))
    table = as_table(numbers, seconds)
    (options.out / "clients.md").write_text(table)
    draw(numbers, seconds, options.out)
    print(table, end="")
    return 0


def measure(numbers: Sequence[int], values: int, repeats: int) -> dict[str, list[float]]:
    """Return the seconds of each contender for a round of the model's parameters, by number of clients."""
    from benchmarks.inputs import make_input

    found: dict[str, list[float]] = {}
    for clients in numbers:
        parameters = max(min(LEAST, values // numbers[0]), values // clients)
        large, small = (make_input(clients, size) for size in (parameters, FEWEST))
        best: dict[str, list[float]] = {}
        for _ in range(repeats + 1):  # the first compiles
            for name, contender in contenders().items():
                pair = [_seconds(contender, each) for each in (small, large)]
                best.setdefault(name, []).extend(pair)
        for name, times in best.items():
            once, all_of_it = min(times[2::2]), min(times[3::2])
            each = max(all_of_it - once, 0.0) / (parameters - FEWEST)
            found.setdefault(name, []).append(once + each * (MODEL - FEWEST))
    return found


def contenders() -> dict[str, Callable[[Any], Any]]:
    """Return what is measured, by name."""
    import torch

    from benchmarks import peers
    from eitr.aggregation import Round, make_rule

    def ours(name: str) -> Callable[[Any], Any]:
        rule = make_rule(name)
        return lambda given: rule.update(rule.init(), Round(given.base, given.updates, given.ids))

    every: dict[str, Callable[[Any], Any]] = {f"EITR {name}": ours(name) for name in ("reputation", "fused")}
    every["torch.median"] = lambda given: torch.from_numpy(given.updates).median(dim=0)
    if "Median" in peers.rules():
        every["ByzFL Median"] = lambda given: peers.rules()["Median"](torch.from_numpy(given.updates))
    return every


def slope(numbers: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the exponent of the number of clients in the cost, over the last two numbers.

    >>> slope([10, 100, 200], [1.0, 9.0, 36.0])
    2.0
    """
    return math.log(seconds[-1] / seconds[-2]) / math.log(numbers[-1] / numbers[-2])


def as_table(numbers: Sequence[int], seconds: dict[str, list[float]]) -> str:
    """Return the seconds and slopes as a table in Markdown."""
    head = ["clients", *(f"{number:,}" for number in numbers), "slope"]
    rows = [
        [name, *(f"{each:.3g}" for each in times), f"{slope(numbers, times):.2f}"] for name, times in seconds.items()
    ]
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def draw(numbers: Sequence[int], seconds: dict[str, list[float]], folder: Path) -> None:
    """Write clients.png and clients.svg."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.size": 11, "svg.fonttype": "none", "svg.hashsalt": "eitr"}):
        figure = Figure(figsize=(8, 5.5), layout="constrained")
        axes = figure.add_subplot()
        for (name, times), marker in zip(seconds.items(), "osD^", strict=False):
            axes.loglog(numbers, times, marker=marker, label=f"{name}: slope {slope(numbers, times):.2f}")
        axes.set_xlabel("clients")
        axes.set_ylabel(f"seconds for {MODEL:,} parameters")
        axes.grid(alpha=0.3)
        axes.legend()
        for ending in ("png", "svg"):
            figure.savefig(folder / f"clients.{ending}", dpi=150)


def _seconds(contender: Callable[[Any], Any], given: Any) -> float:
    start = time.perf_counter()
    contender(given)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
