"""The command that rebuilds the initial model: `python -m eitr.initial --data-dir DIR`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from eitr.errors import InputError
from eitr.initial.build import SEED, build

ASSETS = Path(__file__).parents[1] / "assets"


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the arguments, build, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m eitr.initial", description="Rebuild the initial model.")
    parser.add_argument("--data-dir", type=Path, required=True, help="folder with news_rows.jsonl.gz and the others")
    parser.add_argument("--out", type=Path, default=ASSETS, help="where to write (default: the package's assets)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--date", default="not given", help="the date to write on the model card")
    parser.add_argument("--compare", action="store_true", help="train with other vocabularies too, for the card")
    options = parser.parse_args(arguments)
    try:
        report = build(
            options.data_dir,
            options.out,
            options.seed,
            lambda line: print(line, file=sys.stderr),
            date=options.date,
            compare=options.compare,
        )
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for name, evaluation in report.evaluations.items():
        print(f"{name:24} accuracy {evaluation.accuracy:.3f}  macro recall {evaluation.macro_recall:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
