"""`python -m eitr.lab run ...`: the lab on a machine with only Python, numpy and torch.

Where everything is installed, `eitr lab` is the same and more.
"""

import argparse
import sys

from eitr.datasets.own.options import HELP, take_options
from eitr.errors import InputError


def main() -> None:
    """Parse, run, and say where the results are."""
    parser = argparse.ArgumentParser(prog="python -m eitr.lab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="compute experiments; a report is made of the results elsewhere")
    run.add_argument("ids", nargs="+", metavar="ID")
    run.add_argument("--data", default="builtin", help="a data set, a prepared .npz file, or your own pages")
    run.add_argument("--data-dir", help="the folder with the data sets' files (default: EITR_DATA)")
    run.add_argument("--profile", default="paper", help="quick or paper")
    run.add_argument("--device", default="auto", help="auto, cpu or cuda")
    run.add_argument("--seeds", type=int, help="how many seeds")
    run.add_argument("--out", default="results", help="the folder of the results")
    run.add_argument("--resume", action="store_true", help="continue with the results in the folder")
    run.add_argument("--checkpoint-seconds", type=float, default=30.0, help="seconds of work that a kill may lose")
    for name, text in HELP.items():
        action = "store_true" if name == "skip_bad" else "store"
        run.add_argument(f"--{name.replace('_', '-')}", help=text, action=action)
    given = vars(parser.parse_args())
    given.pop("command")
    try:
        given["options"] = take_options(given, lambda error: print(f"left out: {error}", file=sys.stderr))
        from eitr.lab import run_experiments

        lab = run_experiments(given.pop("ids"), quiet=False, **given)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"results in {lab.folder}; make the report with: eitr lab report {lab.folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
