"""The command that makes and judges the initial model: `python -m eitr.initial --data-dir DIR [--evaluate]`.

The model card takes its numbers from a saved evaluation, so evaluate first, then build.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eitr.errors import InputError
from eitr.initial.build import SEED, build, rewrite_card
from eitr.initial.fit import Ingredient, Recipe
from eitr.initial.leaving_out import judge_model, judge_recipe, read_model
from eitr.initial.pool import build_pool
from eitr.initial.sources import read_sources
from eitr.initial.unknown_words import PANDEMIC
from eitr.initial.yardstick import Verdicts, measure
from eitr.initial.yardstick_report import RECIPE, WITHOUT, markdown, svg
from eitr.io.atomic import write_together
from eitr.model import Classifier
from eitr.model.answer import THRESHOLD
from eitr.pages.reading import WITH_BOILERPLATE
from eitr.pages.vocabulary import VERSION
from eitr.taxonomy import NAMES

ASSETS = Path(__file__).parents[1] / "assets"
EVALUATED = Path("bench-out", "initial")
DOCUMENT = Path(__file__).parents[3] / "docs" / "classifier"
"""Where the published evaluation is; only a checkout has it."""
DIGITS = 5
"""Of the numbers in evaluation.json, which is under version control."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the arguments, build or evaluate, and return the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.without and (options.model or not options.evaluate):
        parser.error("--without needs --evaluate and no --model: it trains without the ingredient")
    if options.before_pandemic and (options.evaluate or not options.out):
        parser.error("--before-pandemic builds a model beside the shipped one: name its folder by --out")
    if options.render and not options.beside:
        parser.error("--render needs --beside: the evaluation.json files to write about")
    if not (options.render or options.data_dir):
        parser.error("the following arguments are required: --data-dir")
    try:
        if options.render:
            return _render(options)
        command = _evaluate if options.evaluate else _build_pool if options.pool else _build
        return command(options)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m eitr.initial", description="Rebuild the initial model, or judge how it is made."
    )
    parser.add_argument("--data-dir", type=Path, help="folder with news_rows.jsonl.gz and the others")
    parser.add_argument(
        "--out",
        type=Path,
        help=f"where to write (default: the package's assets; with --evaluate: {EVALUATED}; with --render: "
        "docs/classifier)",
    )
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--date", default="not given", help="the date to write on the model card")
    parser.add_argument(
        "--before-pandemic",
        action="store_true",
        help="leave out the words of the pandemic and all pages that use them: the start of a study about a new topic",
    )
    parser.add_argument("--pool", action="store_true", help="build the pool of cover pages for the vocabulary there is")
    parser.add_argument("--card", action="store_true", help="write only the model card, of the model there is")
    parser.add_argument(
        "--evaluation",
        type=Path,
        default=DOCUMENT / "evaluation.json",
        help="where the model card takes its numbers from (default: docs/classifier/evaluation.json)",
    )
    judging = parser.add_argument_group("to judge")
    judging.add_argument(
        "--evaluate", action="store_true", help="train without each group of sources and measure there"
    )
    judging.add_argument("--model", help="judge this model instead of training: 'shipped', or a folder with its files")
    judging.add_argument(
        "--without",
        type=Ingredient,
        choices=list(Ingredient),
        metavar="INGREDIENT",
        help=f"leave this out, to see what it brings: {', '.join(Ingredient)}",
    )
    judging.add_argument("--name", help="what the tables call what is judged")
    judging.add_argument("--threshold", type=float, default=THRESHOLD, help="how sure a shown topic must be")
    judging.add_argument(
        "--beside", type=Path, action="append", default=[], help="an evaluation.json whose models join the tables"
    )
    judging.add_argument(
        "--render", action="store_true", help="judge nothing: write tables and curves of what --beside names"
    )
    judging.add_argument(
        "--final", action="store_true", help="measure also on COVID-19 and the validation pages: when all is decided"
    )
    return parser


def _build(options: argparse.Namespace) -> int:
    out = options.out or ASSETS
    measured = _read_measured(options.evaluation)
    if options.card:
        evaluations = rewrite_card(options.data_dir, out, options.seed, date=options.date, measured=measured)
    else:
        unknown = PANDEMIC if options.before_pandemic else ()
        report = build(options.data_dir, out, options.seed, _say, date=options.date, measured=measured, unknown=unknown)
        evaluations = report.evaluations
    for name, evaluation in evaluations.items():
        print(f"{name:24} accuracy {evaluation.accuracy:.3f}  macro recall {evaluation.macro_recall:.3f}")
    return 0


def _build_pool(options: argparse.Namespace) -> int:
    out: Path = options.out or ASSETS
    pool = build_pool(options.data_dir, (out / "vocabulary.json").read_bytes())
    write_together({out / "pool.bin": pool.to_bytes()})
    counts = Counter(NAMES[label] for label in pool.labels)
    print(f"{len(pool)} pages, {len(pool.to_bytes())} bytes: {', '.join(f'{n} {name}' for name, n in counts.items())}")
    return 0


def _evaluate(options: argparse.Namespace) -> int:
    measured = _read_beside(options)
    if options.model:
        verdicts = _judge(read_model(options.model), options)
    else:
        _say("reading the data")
        version = WITH_BOILERPLATE if options.without == Ingredient.BOILERPLATE else VERSION
        pages = read_sources(options.data_dir, version=version, last=options.final)
        verdicts = judge_recipe(pages, Recipe(without=options.without), options.seed, _say)
    judged = WITHOUT + options.without if options.without else RECIPE
    measured[options.name or options.model or judged] = measure(verdicts, options.threshold)
    _write(measured, options.out or EVALUATED)
    return 0


def _render(options: argparse.Namespace) -> int:
    _write(_read_beside(options), options.out or DOCUMENT)
    return 0


def _write(measured: dict[str, Any], out: Path) -> None:
    """Write results as JSON, tables and curves, and print the summary."""
    # Rounded first: what is written again from the JSON file must be the same.
    measured = _rounded(measured)
    text = markdown(measured)
    out.mkdir(parents=True, exist_ok=True)
    files = {
        "evaluation.json": (json.dumps(measured, indent=1) + "\n").encode(),
        "evaluation.md": text.encode(),
        "evaluation.svg": svg(measured).encode(),
    }
    write_together({out / name: data for name, data in files.items()})
    print(text.split("## By length")[0].rstrip())
    _say(f"written: {', '.join(files)} in {out}")


def _judge(classifier: Classifier, options: argparse.Namespace) -> Verdicts:
    _say("reading the data for a finished model")
    version = classifier.vocabulary.version
    return judge_model(read_sources(options.data_dir, version=version, last=options.final), classifier)


def _read_beside(options: argparse.Namespace) -> dict[str, Any]:
    return {name: found for path in options.beside for name, found in _read_measured(path).items()}


def _read_measured(path: Path) -> dict[str, Any]:
    try:
        measured: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not an evaluation.json of this command: {error}") from None
    return measured


def _rounded(value: Any) -> Any:
    """Return the same structure with its numbers rounded."""
    match value:
        case dict():
            return {key: _rounded(part) for key, part in value.items()}
        case list():
            return [_rounded(part) for part in value]
        case float():
            return round(value, DIGITS)
    return value


def _say(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
