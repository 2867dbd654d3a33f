"""`python -m eitr.lab run ...`, or `compare`: the lab on a machine with only Python, numpy and torch.

Where everything is installed, `eitr lab` is the same and more.
"""

import argparse
import shlex
import sys

from eitr.cluster.engine import HELP as ENGINE_HELP
from eitr.cluster.engine import LOCAL
from eitr.datasets.own.options import HELP, take_options
from eitr.errors import InputError
from eitr.plugins import load_plugin


def main() -> None:
    """Parse, run, and say where the results are."""
    parser = argparse.ArgumentParser(prog="python -m eitr.lab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="compute experiments; a report is made of the results elsewhere")
    run.add_argument("ids", nargs="+", metavar="ID")
    run.add_argument("--profile", default="paper", help="quick or paper")
    compare = commands.add_parser("compare", help="compute every rule under every attack in every setting")
    compare.add_argument("--rule", dest="rules", metavar="RULES", help="rules with settings, separated by commas")
    compare.add_argument("--attack", dest="attacks", metavar="ATTACKS", help="attacks with settings, or none")
    compare.add_argument("--training", metavar="WAYS", help="paper, or private with settings, separated by commas")
    axes = {"attackers": _numbers, "clients": _counts, "alpha": _numbers, "participation": _numbers}
    for name, one_of in axes.items():
        compare.add_argument(f"--{name}", type=one_of, metavar="LIST", help="numbers, separated by commas")
    for name, kind in (("rounds", int), ("steps", int), ("learning-rate", float)):
        compare.add_argument(f"--{name}", type=kind)
    for one, data in ((run, "builtin"), (compare, None)):
        one.add_argument("--data", default=data, help="a data set, a prepared .npz file, or your own pages")
        one.add_argument(
            "--start",
            default=None if one is compare else "random",
            metavar="MODEL",
            help="what to start from: random, shipped, or a folder with model.safetensors and vocabulary.json",
        )
        one.add_argument("--data-dir", help="the folder with the data sets' files (default: EITR_DATA)")
        one.add_argument("--device", default="auto", help="auto, cpu or cuda")
        one.add_argument("--seeds", type=int, help="how many seeds")
        one.add_argument("--out", default="results", help="the folder of the results")
        one.add_argument("--resume", action="store_true", help="continue with the results in the folder")
        one.add_argument("--checkpoint-seconds", type=float, default=30.0, help="seconds of work that a kill may lose")
        one.add_argument("--engine", default=LOCAL, help=ENGINE_HELP.replace("`", ""))
        one.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a Python file of your own")
        for name, text in HELP.items():
            action = "store_true" if name == "skip_bad" else "store"
            one.add_argument(f"--{name.replace('_', '-')}", help=text, action=action)
    given = vars(parser.parse_args())
    command = given.pop("command")
    try:
        given["options"] = take_options(given, lambda error: print(f"left out: {error}", file=sys.stderr))
        for path in given.pop("plugin"):
            load_plugin(path)
        from eitr import lab

        if command == "compare":
            done = lab.compare(quiet=False, **given)
        else:
            done = lab.run_experiments(given.pop("ids"), quiet=False, **given)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        words = [*(word for word in sys.argv[1:] if word != "--resume"), "--resume"]
        print(f"stopped; go on with: python -m eitr.lab {shlex.join(words)}", file=sys.stderr)
        sys.exit(130)
    print(f"results in {done.folder}; make the report with: eitr lab report {done.folder}", file=sys.stderr)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers") from None


def _counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of whole numbers") from None


if __name__ == "__main__":
    main()
