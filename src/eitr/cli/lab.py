"""`eitr lab`: list experiments, run them, compare rules of your choice, make the report."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from eitr.cli.console import add_row, tell
from eitr.cli.extras import needs_extra
from eitr.cli.file_options import reads_files
from eitr.cli.plugin_option import Plugins
from eitr.cluster.engine import HELP, LOCAL
from eitr.errors import InputError

if TYPE_CHECKING:
    from eitr.datasets.own.options import FileOptions

lab = typer.Typer(
    name="lab",
    help="Simulate federations under attack: every figure of the paper, and a verdict on every claim.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

DATA = typer.Option(
    help="A data set (`eitr data list`), your own pages (a file .jsonl, .csv or .tsv, or a folder of HTML files with "
    "labels.csv; `eitr data check` checks them), or an .npz file that `eitr data prepare` made.  [default: builtin]",
    show_default=False,
)
START = typer.Option(
    help="The model that federations start from: `random`; `shipped`, the model of this package; or a folder with "
    "model.safetensors and vocabulary.json. With a given model, its vocabulary makes the vectors of the pages.  "
    "[default: random]",
    metavar="MODEL",
    show_default=False,
)
Folder = Annotated[Path | None, typer.Option(help="The folder with the data sets' files (default: EITR_DATA).")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Out = Annotated[Path, typer.Option(help="The folder of the results.")]
EngineOption = Annotated[str, typer.Option("--engine", help=HELP, metavar="ENGINE")]
Seconds = Annotated[float, typer.Option(help="Seconds of work that may be lost if it is killed.", min=0.0)]


@lab.command("list")
def list_experiments(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
    plugin: Plugins = None,
) -> None:
    """List the experiments, and how many runs each has.

    Example: `eitr lab list --json`
    """
    from eitr.lab.experiments.registry import EXPERIMENTS
    from eitr.lab.runs.profile import PROFILES

    rows = [
        {
            "id": one.id,
            "title": one.title,
            "paper": one.paper,
            "runs": {name: len({run.key for run in one.runs(profile)}) for name, profile in PROFILES.items()},
        }
        for one in EXPERIMENTS.values()
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    first = Column("id", no_wrap=True)
    table = Table(first, "what it shows", "in the paper", "runs: quick", "paper", box=None, pad_edge=False)
    for row in rows:
        runs: dict[str, int] = row["runs"]  # type: ignore[assignment]
        about = (str(row["title"]), str(row["paper"]), str(runs["quick"]), str(runs["paper"]))
        add_row(table, Text(str(row["id"]), "bold"), *about)
    Console().print(table)


@lab.command()
@needs_extra("lab")
@reads_files
def run(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Experiments; `eitr lab list` shows them.")],
    files: "FileOptions",
    data: Annotated[str, DATA] = "builtin",
    data_dir: Folder = None,
    start: Annotated[str, START] = "random",
    profile: Annotated[str, typer.Option(help="`quick` or `paper` (the paper's settings).")] = "paper",
    device: Device = "auto",
    seeds: Annotated[int | None, typer.Option(help="How many seeds (default: the profile's).", min=1)] = None,
    out: Out = Path("results"),
    resume: Annotated[bool, typer.Option("--resume", help="Continue with the results in the folder.")] = False,
    checkpoint_seconds: Seconds = 30.0,
    engine: EngineOption = LOCAL,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON at the end.")] = False,
    plugin: Plugins = None,
) -> None:
    """Run experiments, then make their report.

    A run that several experiments share is computed once. If the command was killed, `--resume` continues it. On a
    machine with only Python, numpy and torch, use `python -m eitr.lab run` and make the report on another machine.

    Examples: `eitr lab run convergence weights --profile quick`,
    `eitr lab run attackers --data news-sections --data-dir ~/data --seeds 3 --out attackers`,
    `eitr lab run weights --data pages.csv --label-map "news=non-sensitive,doctor=health"`
    """
    with resumable():
        from eitr.lab import run_experiments

        done = run_experiments(
            ids,
            out=out,
            data=data,
            start=start,
            profile=profile,
            device=device,
            seeds=seeds,
            data_dir=data_dir,
            options=files,
            resume=resume,
            checkpoint_seconds=checkpoint_seconds,
            quiet=False,
            engine=engine,
        )
        _make_report(done.folder, as_json)


@lab.command()
@needs_extra("lab")
def scale(
    scenarios: Annotated[
        list[str] | None, typer.Argument(metavar="[SCENARIO]...", help="Which ones (default: all).", show_default=False)
    ] = None,
    browsers: Annotated[int, typer.Option(help="Browsers that take part, up to 50 million.")] = 10_000_000,
    days: Annotated[int, typer.Option(help="Days that are simulated; the last one is reported.")] = 2,
    step: Annotated[int, typer.Option(help="Seconds whose alarms are treated together; a divisor of 900.")] = 10,
    seed: Annotated[int, typer.Option(help="What all draws depend on.")] = 0,
    growth: Annotated[bool, typer.Option(help="Also run `founders` with fewer browsers.")] = True,
    jobs: Annotated[int, typer.Option(help="Scenarios that are computed at the same time.", min=1, max=64)] = 1,
    out: Annotated[Path, typer.Option(help="The folder of scale.json, scale.md and the figures.")] = Path("scale"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON instead of tables.")] = False,
) -> None:
    """Simulate millions of browsers that poll, download and send: what breaks first, and what it costs.

    The scenarios are `today`, `founders`, `aligned`, `one-machine`, `settings`, `last-layer`, `seldom` and `cohort`;
    docs/scale.md explains them. Every browser is simulated, so ten million for two days take some minutes each and
    about 1 GB of memory for each job.

    Examples: `eitr lab scale --jobs 2 --out scale`, `eitr lab scale founders cohort --browsers 100000 --no-growth`
    """
    from eitr.lab.scale.plan import Plan
    from eitr.lab.scale.report import tables
    from eitr.lab.scale.run import run_scenarios, write_results
    from eitr.lab.scale.scenarios import SCENARIOS

    plan = Plan(browsers=browsers, days=days, step=step, seed=seed)
    found = run_scenarios(scenarios or list(SCENARIOS), plan, growth=growth, jobs=jobs, tell=tell)
    write_results(found, out)
    print(json.dumps(found, indent=2) if as_json else tables(found))
    tell(f"results in {out}")


@lab.command()
@needs_extra("lab")
@reads_files
def compare(
    files: "FileOptions",
    rule: Annotated[
        list[str] | None,
        typer.Option(help="Rules, separated by commas, with settings: `fused,trimmed-mean:beta=0.2`.", metavar="RULES"),
    ] = None,
    attack: Annotated[
        list[str] | None,
        typer.Option(help="Attacks, written alike: `label-flip,ipm:epsilon=0.5`, or `none`.", metavar="ATTACKS"),
    ] = None,
    attackers: Annotated[str | None, typer.Option(help="Shares of attackers.  [default: 0.3]", metavar="LIST")] = None,
    clients: Annotated[str | None, typer.Option(help="Numbers of clients.  [default: 10]", metavar="LIST")] = None,
    alpha: Annotated[
        str | None,
        typer.Option(help="Dirichlet concentrations of the clients' pages.  [default: 0.9]", metavar="LIST"),
    ] = None,
    participation: Annotated[
        str | None,
        typer.Option(
            help="Shares of the clients that take part in a round, drawn anew each time.  [default: 1]", metavar="LIST"
        ),
    ] = None,
    training: Annotated[
        str | None,
        typer.Option(
            help="How clients train: `paper` (all layers, many steps) or `private` (one step on own and cover pages in "
            "the last layers, with noise), with settings: `paper,private:layers=2:noise=4`. `private` needs a "
            "`--start`.  [default: paper]",
            metavar="WAYS",
        ),
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds of a run.  [default: 40]", min=1)] = None,
    steps: Annotated[
        int | None, typer.Option(help="Local steps of a client in a round.  [default: 150]", min=1)
    ] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Of the local steps.  [default: 0.05]")] = None,
    seeds: Annotated[int | None, typer.Option(help="How many seeds.  [default: 3]", min=1)] = None,
    data: Annotated[str | None, DATA] = None,
    data_dir: Folder = None,
    start: Annotated[str | None, START] = None,
    device: Device = "auto",
    out: Out = Path("results"),
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the comparison in the folder; it knows all options but `--plugin`."),
    ] = False,
    checkpoint_seconds: Seconds = 30.0,
    engine: EngineOption = LOCAL,
    show_list: Annotated[
        bool, typer.Option("--list", help="List rules, attacks, ways to train and data sets, and exit.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results, or the list, as JSON.")] = False,
    plugin: Plugins = None,
) -> None:
    """Compare rules under attacks of your choice, then make a report: curves, table, worst case of each rule.

    Every rule meets every attack in every federation, and is also run without attackers. Rules that ask for the number
    of attackers are told the true one, or the expected one where only some clients take part, unless it is set.

    Examples: `eitr lab compare --list`,
    `eitr lab compare --rule fused,flame,median --attack label-flip,ipm:epsilon=0.5 --attackers 0.1,0.3 --out mine`,
    `eitr lab compare --rule fused,median --attack mimic --clients 200 --participation 0.1,0.5`,
    `eitr lab compare --rule fused,mine --plugin my_rule.py --attack shift --data pages.csv --text-column body`,
    `eitr lab compare --rule fused,median --attack label-flip,ipm --start shipped --out from-shipped`,
    `eitr lab compare --rule fused,median --attack label-flip --training paper,private:layers=2 --start shipped`,
    `eitr lab compare --out mine --resume`
    """
    if show_list:
        _list_choices(as_json)
        return
    with resumable():
        from eitr.lab import compare as run_comparison

        done = run_comparison(
            None if rule is None else ",".join(rule),
            None if attack is None else ",".join(attack),
            out=out,
            attackers=numbers("--attackers", attackers, float),
            clients=numbers("--clients", clients, int),
            alpha=numbers("--alpha", alpha, float),
            participation=numbers("--participation", participation, float),
            training=training,
            rounds=rounds,
            steps=steps,
            learning_rate=learning_rate,
            seeds=seeds,
            data=data,
            start=start,
            device=device,
            data_dir=data_dir,
            options=files,
            resume=resume,
            checkpoint_seconds=checkpoint_seconds,
            quiet=False,
            engine=engine,
        )
        _make_report(done.folder, as_json)


Number = TypeVar("Number", int, float)


def numbers(option: str, text: str | None, kind: type[Number]) -> list[Number] | None:
    """Return the numbers of an option, which are separated by commas; None where it is not given.

    >>> numbers("--clients", "10,50", int)
    [10, 50]
    """
    try:
        return None if text is None else [kind(part) for part in text.split(",")]
    except ValueError:
        word = "whole numbers" if kind is int else "numbers"
        raise InputError(f"{option} takes {word}, separated by commas, not {text!r}") from None


@contextmanager
def resumable() -> Iterator[None]:
    """Turn Ctrl-C into one line that says how to go on, and exit status 130."""
    try:
        yield
    except KeyboardInterrupt:
        words = ["eitr", *(word for word in sys.argv[1:] if word != "--resume"), "--resume"]
        tell(f"stopped; go on with: {shlex.join(words)}")
        raise typer.Exit(130) from None


def _list_choices(as_json: bool) -> None:
    """Print what can be compared, with settings and their defaults."""
    from eitr.aggregation.registry import RULES
    from eitr.attacks.registry import ATTACKS
    from eitr.datasets.registry import SOURCES
    from eitr.lab.runs.private_training import PAPER, PrivateTraining
    from eitr.settings import settings_of, spelled

    listed = {
        kind: [
            {
                "name": one.name,
                "summary": one.summary,
                "settings": {spelled(item): item.default for item, _ in settings_of(one)},
            }
            for one in registry.values()
        ]
        for kind, registry in (("rules", RULES), ("attacks", ATTACKS), ("training", {"private": PrivateTraining}))
    }
    listed["training"].insert(
        0, {"name": PAPER, "summary": "many steps in all layers, as in the paper", "settings": {}}
    )
    sources = [{"name": one.name, "summary": one.summary, "settings": {}} for one in SOURCES.values()]
    if as_json:
        print(json.dumps({**listed, "data": sources}, indent=2))
        return
    table = Table(Column("name", no_wrap=True), "what it is", "settings", box=None, pad_edge=False)
    for kind, entries in {**listed, "data": sources}.items():
        table.add_row(Text(kind, "bold"), "", "")
        for entry in entries:
            chosen: dict[str, object] = entry["settings"]  # type: ignore[assignment]
            shown = " ".join(f"{name}={value}" for name, value in chosen.items())
            add_row(table, f"  {entry['name']}", str(entry["summary"]), shown)
    Console().print(table)


@lab.command()
@needs_extra("lab")
def report(
    folder: Annotated[Path, typer.Argument(help="A folder of results, made by `eitr lab run`.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
    plugin: Plugins = None,
) -> None:
    """Make one HTML file of a folder of results: figures, tables, commands, verdicts.

    Example: `eitr lab report results`
    """
    _make_report(folder, as_json)


def _make_report(folder: Path, as_json: bool) -> None:
    from eitr.lab.experiments.interface import MEASURED, STATUSES
    from eitr.lab.report import make_report

    page = make_report(folder)
    if as_json:
        print((folder / "report.json").read_text(encoding="utf-8"), end="")
        return
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    console = Console()
    for one in told["experiments"]:
        if not one["verdicts"] and one.get("summary"):
            console.print(_summary(one["summary"]))
    words = (("holds", "green"), ("fails", "red"), ("open", "yellow"), ("not judged", "yellow"))
    marks = {status: Text(*word) for status, word in zip(STATUSES, words, strict=True)}
    table = Table("", "claim or goal", "measured", box=None, pad_edge=False)
    for one in told["experiments"]:
        if not one["verdicts"]:
            continue
        table.add_row("", Text(one["id"], "bold"), "")
        for verdict in one.get("verdicts", ()):
            reading = f" ({verdict['reading']})" if verdict["reading"] else ""
            add_row(table, marks[verdict["verdict"]], f"{verdict['claim']}{reading}", verdict["measured"])
    if table.rows:
        console.print(table)
    if told["counts"][MEASURED]:
        console.print("\nThe quick profile only measures: it has too few and too short rounds to judge a claim.")
    console.print(Text.assemble("\nreport: ", (str(page), "bold")))


def _summary(content: dict[str, Any]) -> Table:
    """Return a table of a report for the terminal."""
    table = Table(*content["columns"], box=None, pad_edge=False)
    for row in content["rows"]:
        add_row(table, *("–" if value is None else str(value) for value in row))
    return table
