"""`eitr lab`: list experiments, run them, make the report."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from eitr.cli.extras import needs_extra

lab = typer.Typer(
    name="lab",
    help="Simulate federations under attack: every figure of the paper, and a verdict on every claim.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@lab.command("list")
def list_experiments(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
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
        table.add_row(
            Text(str(row["id"]), "bold"), str(row["title"]), str(row["paper"]), str(runs["quick"]), str(runs["paper"])
        )
    Console().print(table)


@lab.command()
@needs_extra("lab")
def run(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Experiments; `eitr lab list` shows them.")],
    data: Annotated[
        str, typer.Option(help="A data set (`eitr data list`), or an .npz file that `eitr data prepare` made.")
    ] = "builtin",
    data_dir: Annotated[
        Path | None, typer.Option(help="The folder with the data sets' files (default: EITR_DATA).")
    ] = None,
    profile: Annotated[str, typer.Option(help="`quick` or `paper` (the paper's settings).")] = "paper",
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    seeds: Annotated[int | None, typer.Option(help="How many seeds (default: the profile's).", min=1)] = None,
    out: Annotated[Path, typer.Option(help="The folder of the results.")] = Path("results"),
    resume: Annotated[bool, typer.Option("--resume", help="Continue with the results in the folder.")] = False,
    checkpoint_seconds: Annotated[
        float, typer.Option(help="Seconds of work that may be lost if it is killed.", min=0.0)
    ] = 30.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON at the end.")] = False,
) -> None:
    """Run experiments, then make their report.

    A run that several experiments share is computed once. If the command was killed, `--resume` continues it. On a
    machine with only Python, numpy and torch, use `python -m eitr.lab run` and make the report on another machine.

    Examples: `eitr lab run convergence weights --profile quick`,
    `eitr lab run attackers --data news-sections --data-dir ~/data --seeds 3 --out attackers`
    """
    from eitr.lab import run_experiments

    done = run_experiments(
        ids,
        out=out,
        data=data,
        profile=profile,
        device=device,
        seeds=seeds,
        data_dir=data_dir,
        resume=resume,
        checkpoint_seconds=checkpoint_seconds,
        quiet=False,
    )
    _make_report(done.folder, as_json)


@lab.command()
@needs_extra("lab")
def report(
    folder: Annotated[Path, typer.Argument(help="A folder of results, made by `eitr lab run`.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
) -> None:
    """Make one HTML file of a folder of results: figures, tables, commands, verdicts.

    Example: `eitr lab report results`
    """
    _make_report(folder, as_json)


def _make_report(folder: Path, as_json: bool) -> None:
    from eitr.lab.report import make_report

    page = make_report(folder)
    if as_json:
        print((folder / "report.json").read_text(encoding="utf-8"), end="")
        return
    told = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    console = Console()
    table = Table("", "claim or goal", "measured", box=None, pad_edge=False)
    for one in told["experiments"]:
        table.add_row("", Text(one["id"], "bold"), "")
        for verdict in one.get("verdicts", ()):
            mark = {True: Text("holds", "green"), False: Text("fails", "red"), None: Text("open", "yellow")}
            reading = f" ({verdict['reading']})" if verdict["reading"] else ""
            table.add_row(mark[verdict["holds"]], f"{verdict['claim']}{reading}", verdict["measured"])
    console.print(table)
    console.print(Text.assemble("\nreport: ", (str(page), "bold")))
