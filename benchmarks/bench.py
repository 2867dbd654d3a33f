"""What the reputation rule costs, beside others, in one run on one machine.

    python -m benchmarks.bench [--clients 10 50 100 200] [--quick] [--check]

Time: our reputation and residual rules as a whole (checks of the input included), the same rule written
straightforwardly in PyTorch, `torch.median`, and five rules of ByzFL; interleaved, with the same number of threads, in
float32. Absolute seconds belong to a machine and its load: compare the ratios. Memory: the peak above the loaded input.
Writes bench.md, bench.json, bench.png and bench.svg. `docs/benchmarks.md` says how to read them.
"""

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.threads import limit_threads, usable_threads


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""
    options = _parser().parse_args(arguments)
    if importlib.util.find_spec("torch") is None:
        print("the benchmark needs PyTorch: make setup-dev", file=sys.stderr)
        return 2
    limit_threads(options.threads)
    # Imported only now: the BLAS behind NumPy reads its number of threads when it is loaded.
    from benchmarks.acceptance import MEMORY_CLIENTS, MEMORY_PARAMETERS
    from benchmarks.run import Sizes, run, write

    quick = options.quick
    sizes = Sizes(
        clients=sorted(set(options.clients or ((5, 10) if quick else (10, 50, 100, 200)))),
        parameters=options.parameters or (2000 if quick else None),
        repeats=options.repeats or (2 if quick else 5),
        memory=(10, 20_000) if quick else (MEMORY_CLIENTS, MEMORY_PARAMETERS),
    )
    report = run(sizes, threads=options.threads, seed=options.seed, quick=quick)
    print(write(report, options.out), end="")
    return int(options.check and not all(verdict.holds for verdict in report.verdicts))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench", description="Measure what the rules cost, beside others."
    )
    parser.add_argument("--clients", type=_clients, nargs="+", help="numbers of clients, 3 or more (10 50 100 200)")
    parser.add_argument(
        "--parameters", type=_positive, help="parameters of a client (so many that the updates take 100 MB)"
    )
    parser.add_argument("--repeats", type=_positive, help="times each contender is measured (5)")
    parser.add_argument("--threads", type=_positive, default=usable_threads(), help="for everybody (all processors)")
    parser.add_argument("--seed", type=int, default=0, help="of the updates and of the order of the contenders (0)")
    parser.add_argument("--out", type=Path, default=Path("bench-out"), help="folder for the results (bench-out)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run? The numbers mean nothing")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a promise is broken or was not measured")
    return parser


def _positive(text: str) -> int:
    return _at_least(1, text)


def _clients(text: str) -> int:
    return _at_least(3, text)


def _at_least(least: int, text: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, not {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
